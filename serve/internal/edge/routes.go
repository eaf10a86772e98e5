package edge

import (
	"net/http"
)

// Routes serves a mux, and answers what it does not know with problem details
// instead of the mux's plain text: 404, or 405 with Allow.
func Routes(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		probe := &probe{header: http.Header{}}
		handler.ServeHTTP(probe, r)
		switch probe.status {
		case http.StatusNotFound:
			WriteError(w, r, &Refusal{Status: 404, Code: "no_route", Title: "No such route", Detail: "nothing is served under this path"})
		case http.StatusMethodNotAllowed:
			w.Header().Set("Allow", probe.header.Get("Allow"))
			WriteError(w, r, &Refusal{Status: 405, Code: "method_not_allowed", Title: "Method not allowed", Detail: "this path takes " + probe.header.Get("Allow")})
		default: // a redirect to the clean path
			mux.ServeHTTP(w, r)
		}
	})
}

// probe learns what the mux would answer.
type probe struct {
	header http.Header
	status int
}

// Header is what the mux sets.
func (p *probe) Header() http.Header { return p.header }

// WriteHeader notes the status.
func (p *probe) WriteHeader(status int) { p.status = status }

// Write drops the text.
func (p *probe) Write(b []byte) (int, error) { return len(b), nil }
