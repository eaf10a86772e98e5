package proxy

import (
	"errors"
	"net/http"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
)

// exchange is one request on its way through.
type exchange struct {
	h     *Handler
	w     http.ResponseWriter
	r     *http.Request
	id    string
	route route
	start time.Time

	principal dhruva.Principal
	key       string // our key as sent
	pass      bool   // the client's own provider credential is passed through
	wish      wish
	hint      string
	upstream  Upstream
	missing   *missing // the provider that cannot be used

	reading   time.Duration // spent waiting for the request body
	forwarded time.Time     // handed to the transport
	call      *call         // nil on relayed routes
	streaming *stallReader  // the client's body where it is relayed as it comes
}

func newExchange(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{w: w, r: r, start: time.Now(), id: dhruva.RequestIDFrom(r.Context())}
	if x.id == "" {
		x.id = dhruva.NewID()
	}
	w.Header().Set(headerRequestID, x.id)
	return x
}

// unknown refuses a path that is no route.
func (x *exchange) unknown() {
	x.refuse(http.StatusNotFound, "not_found", "Dhruva does not relay "+x.r.Method+" on this path.")
}

// admit answers everything that needs no provider, and reports whether the
// request goes on.
func (x *exchange) admit() bool {
	switch {
	case x.r.Header.Get("Upgrade") != "":
		x.refuse(http.StatusUpgradeRequired, "websocket_unsupported", "This proxy speaks plain HTTP here; use HTTP streaming.")
	case x.route.kind == routeUnknown:
		x.unknown()
	case x.r.Method == http.MethodHead, x.r.Method == http.MethodOptions:
		x.w.Header().Set("Allow", x.allow())
		x.w.WriteHeader(http.StatusNoContent)
	case !x.allowed():
		x.w.Header().Set("Allow", x.allow())
		x.refuse(http.StatusMethodNotAllowed, "method_not_allowed", "This path takes "+x.allow()+".")
	default:
		return x.authenticate() && x.read() && x.choose()
	}
	return false
}

func (x *exchange) allowed() bool {
	for _, m := range x.route.methods {
		if m == x.r.Method {
			return true
		}
	}
	return false
}

func (x *exchange) allow() string {
	out := "OPTIONS, HEAD"
	for _, m := range x.route.methods {
		out += ", " + m
	}
	return out
}

// authenticate resolves the principal before a byte of the body is read.
func (x *exchange) authenticate() bool {
	c, err := auth.Credential(x.r)
	if err == nil {
		x.key, x.pass = c.Key.Reveal(), c.PassThrough
		x.principal, err = x.h.config.Keys.Authenticate(x.r.Context(), x.key)
	}
	switch {
	case err == nil:
	case errors.Is(err, dhruva.ErrInvalid):
		x.refuse(http.StatusBadRequest, "ambiguous_credential", sentenceOf(err))
		return false
	case errors.Is(err, dhruva.ErrUnauthenticated):
		x.w.Header().Set("WWW-Authenticate", `Bearer realm="dhruva"`)
		x.refuse(http.StatusUnauthorized, "invalid_api_key", "Send a Dhruva key (dhr_live_…) as Authorization: Bearer or x-api-key. This one is missing, unknown, expired or revoked.")
		return false
	default:
		x.logError("authentication", err)
		x.refuse(http.StatusServiceUnavailable, "keys_unavailable", "Keys cannot be checked right now; try again.")
		return false
	}
	if !x.principal.May(dhruva.ProxyUse) {
		x.refuse(http.StatusForbidden, "insufficient_scope", "This key may not call models; it needs the right proxy.")
		return false
	}
	ctx := dhruva.WithRequestID(dhruva.WithPrincipal(x.r.Context(), x.principal), x.id)
	x.r = x.r.WithContext(ctx)
	return true
}

// read takes the X-Dhruva headers.
func (x *exchange) read() bool {
	w, err := parseWish(x.r.Header)
	if err != nil {
		x.refuse(http.StatusUnprocessableEntity, "invalid_header", err.Error()+".")
		return false
	}
	x.wish, x.hint = w, hintOf(w, x.r.Header)
	return true
}

// choose finds the provider: the key's own binding, the header, the route.
func (x *exchange) choose() bool {
	name, bound := x.wish.provider, x.principal.Bound()
	if bound != "" && name != "" && name != bound {
		x.refuse(http.StatusForbidden, "provider_not_allowed", "This key reaches only the provider "+bound+".")
		return false
	}
	odd := name != "" && name != "openai" && name != "anthropic" // else it is known, and missing
	name = or(or(name, bound), x.route.provider())
	u, err := x.h.config.Upstreams(name)
	switch {
	case errors.Is(err, dhruva.ErrNotFound) && odd:
		x.refuse(http.StatusUnprocessableEntity, "unknown_provider", prefix+"Provider names no provider of this server.")
		return false
	case err != nil, u.NeedsKey && u.Key.IsZero() && !x.pass:
		x.missing = &missing{name, err}
	}
	u.Name = or(u.Name, name)
	x.upstream = u
	return true
}

// missing is a provider that is not configured, and why if an error says.
type missing struct {
	name string
	err  error
}

// reachable refuses what has no provider. It comes behind everything that is
// wrong with the request itself.
func (x *exchange) reachable() bool {
	if x.missing != nil {
		x.notConfigured(x.missing.name, x.missing.err)
	}
	return x.missing == nil
}

func (r route) provider() string {
	if r.dialect == dhruva.DialectMessages {
		return "anthropic"
	}
	return "openai"
}

func (x *exchange) notConfigured(name string, err error) {
	if err != nil {
		x.logError("provider "+name, err)
	}
	// Official SDKs retry a 503 by themselves; this one does not go away.
	x.w.Header().Set("X-Should-Retry", "false")
	x.refuse(http.StatusServiceUnavailable, "provider_not_configured",
		"The provider "+name+" is not configured. Enable it and set its api_key in providers.yaml, bring your own key beside X-Dhruva-Key, or name another one with X-Dhruva-Provider (echo needs nothing).")
}
