package smriti

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/serve/internal/edge"
)

// headerCall names a call that may be repeated, headerReplayed says that an
// answer is of one that was done before.
const (
	headerCall     = "Idempotency-Key"
	headerReplayed = "Idempotency-Replayed"
)

// route is one route of the API.
type route struct {
	pattern string // method and path
	status  int    // of a success; 0 is 200, and 204 has no body
	do      func(*api, *call) (any, error)
	// again answers a call that was done before under its Idempotency-Key; nil: the
	// header is not looked at.
	again func(*api, *call, ledger.Outcome) (any, error)
	// claim: it does more than write, and takes at most so long.
	claim time.Duration
	// text: the body holds a whole text.
	text bool
	// keyed: a key is wanted in local mode too.
	keyed bool
	// codes replace the statuses of the table for this route.
	codes codes
}

// call is one request on its way.
type call struct {
	*http.Request
	body []byte
	// plain is the api outside of a call that may be repeated.
	plain *api
}

// ctx is the request's context.
func (c *call) ctx() context.Context { return c.Context() }

// guarded puts before a route what every one has: a principal, and a bounded
// body.
func (c Config) guarded(a *api, r route) http.Handler {
	limit := c.MaxBody
	if r.text {
		limit = c.MaxText
	}
	serve := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := readBody(w, req, limit)
		if err != nil {
			refuse(w, req, err)
			return
		}
		r.serve(a, w, &call{Request: req, body: body, plain: a})
	})
	keyed := edge.Guard{Keys: c.Keys, Refuse: refuse}
	if c.Local != nil && !r.keyed {
		local := keyed
		local.Local = func(*http.Request) (dhruva.Principal, bool) { return auth.LocalPrincipal(), true }
		return c.fromHere(local.Wrap(serve), keyed.Wrap(serve))
	}
	return keyed.Wrap(serve)
}

// fromHere takes requests without a key only when Host and Origin are of this
// machine: a page that a browser of this machine shows must not act as its owner.
// What a proxy says it forwarded is of somebody else.
func (c Config) fromHere(local, keyed http.Handler) http.Handler {
	here := edge.Loopback(local, c.AllowedHosts)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cred, err := auth.Credential(r)
		if err == nil && cred.Key.IsZero() && !forwarded(r.Header) && c.Local(r) {
			here.ServeHTTP(w, r)
			return
		}
		keyed.ServeHTTP(w, r)
	})
}

// forwarded reports whether a proxy says that it sent a request on.
func forwarded(h http.Header) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via", "Cf-Connecting-Ip"} {
		if len(h.Values(name)) > 0 {
			return true
		}
	}
	return false
}

// readBody reads the whole body, which must be JSON.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	body, err := edge.ReadBody(w, r, limit)
	if err != nil {
		return nil, err
	}
	if len(body) > 0 && !isJSON(r.Header) {
		return nil, &refusal{status: http.StatusUnsupportedMediaType, detail: "the body must be JSON, sent as application/json without Content-Encoding"}
	}
	return body, nil
}

func isJSON(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	coding := h.Get("Content-Encoding")
	return err == nil && kind == "application/json" && (coding == "" || coding == "identity")
}

func (r route) serve(a *api, w http.ResponseWriter, c *call) {
	out, replayed, err := r.once(a, c)
	if err != nil {
		refuse(w, c.Request, r.codes.of(err))
		return
	}
	if replayed {
		w.Header().Set(headerReplayed, "true")
	}
	if r.status == http.StatusNoContent {
		w.WriteHeader(r.status)
		return
	}
	var b bytes.Buffer
	if err := encode(&b, out); err != nil {
		refuse(w, c.Request, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(max(r.status, http.StatusOK))
	_, _ = w.Write(b.Bytes()) // a client that has gone cannot be told
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// once does a call, or tells what it made when it was done before.
func (r route) once(a *api, c *call) (out any, replayed bool, err error) {
	keys := c.Header.Values(headerCall)
	if r.again == nil || len(keys) == 0 {
		out, err = r.do(a, c)
		return out, false, err
	}
	if len(keys) > 1 {
		return nil, false, fmt.Errorf("%w: %s stands twice", dhruva.ErrInvalid, headerCall)
	}
	what := ledger.Call{
		Route: r.pattern, Key: keys[0], Request: c.asked(), Rights: []dhruva.KeyScope{dhruva.StateWrite}, Claim: r.claim,
	}
	done, err := a.ledger.Once(c.ctx(), what, func(l *ledger.Ledger) (err error) {
		out, err = r.do(a.over(l), c)
		return err
	})
	if err == nil && done.Replayed {
		c := &call{Request: c.WithContext(ledger.AsMaker(c.ctx())), body: c.body, plain: a}
		if out, err = r.again(a, c, done); errors.Is(err, dhruva.ErrNotFound) {
			err = &refusal{status: http.StatusConflict, detail: "the call was done before with this Idempotency-Key; what it made was deleted, or is out of this key's reach"}
		}
	}
	return out, done.Replayed, err
}

// asked is all that a call asks, in one form.
func (c *call) asked() []byte {
	var body any
	if json.Unmarshal(c.body, &body) != nil {
		body = string(c.body)
	}
	b, _ := json.Marshal([]any{c.URL.Path, c.URL.Query().Encode(), body}) // JSON that was read can be written
	return b
}
