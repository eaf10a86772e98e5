package edge

import (
	"errors"
	"net/http"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
)

// Guard lets only known principals through.
type Guard struct {
	Keys *auth.Keys
	// Refuse answers a refused request; nil is WriteError. A dialect with an
	// error shape of its own sets it (ProblemOf gives status and code,
	// Problem.SetHeader the headers, Report logs).
	Refuse func(http.ResponseWriter, *http.Request, error)
	// Local names who acts when a request carries no credential at all; nil or
	// false means nobody. A credential that does not stand is refused either
	// way.
	Local func(*http.Request) (dhruva.Principal, bool)
}

// Authenticated is the Guard of the native API: problem details, no one
// without a key.
func Authenticated(keys *auth.Keys, next http.Handler) http.Handler {
	return Guard{Keys: keys}.Wrap(next)
}

// Wrap puts the principal into the context of the requests that next sees.
func (g Guard) Wrap(next http.Handler) http.Handler {
	if g.Refuse == nil {
		g.Refuse = WriteError
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := g.principal(r)
		if err != nil {
			g.Refuse(w, r, err)
			return
		}
		if rec := recordOf(w); rec != nil {
			rec.key = p.Key
		}
		inner := r.WithContext(dhruva.WithPrincipal(r.Context(), p))
		// A router inside notes its pattern on the request it was given; the
		// log reads it from the one outside.
		defer func() { r.Pattern = pattern(r, inner) }()
		next.ServeHTTP(w, inner)
	})
}

func pattern(outer, inner *http.Request) string {
	if inner.Pattern != "" {
		return inner.Pattern
	}
	return outer.Pattern
}

func (g Guard) principal(r *http.Request) (dhruva.Principal, error) {
	cred, err := auth.Credential(r)
	if errors.Is(err, dhruva.ErrInvalid) {
		return dhruva.Principal{}, Malformed(err)
	}
	if err != nil {
		return dhruva.Principal{}, err
	}
	if cred.Key.IsZero() && g.Local != nil {
		if p, ok := g.Local(r); ok {
			return p, nil
		}
	}
	return g.Keys.Authenticate(r.Context(), cred.Key.Reveal())
}
