package edge

import (
	"net/http"
)

// Routes serves a mux, and answers what it does not know with problem details
// instead of the mux's plain text: 404, or 405 with Allow.
func Routes(mux *http.ServeMux) http.Handler {
	return Unmatched(mux, func(w http.ResponseWriter, r *http.Request, status int) {
		if status == http.StatusNotFound {
			WriteError(w, r, &Refusal{Status: status, Code: "no_route", Title: "No such route", Detail: "nothing is served under this path"})
			return
		}
		WriteError(w, r, &Refusal{Status: status, Code: "method_not_allowed", Title: "Method not allowed", Detail: "this path takes " + w.Header().Get("Allow")})
	})
}

// Unmatched serves a mux, and has refuse answer what it does not know: 404, or 405
// with Allow set.
func Unmatched(mux *http.ServeMux, refuse func(w http.ResponseWriter, r *http.Request, status int)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		probe := &probe{header: http.Header{}}
		handler.ServeHTTP(probe, r)
		switch probe.status {
		case http.StatusMethodNotAllowed:
			w.Header().Set("Allow", probe.header.Get("Allow"))
			refuse(w, r, probe.status)
		case http.StatusNotFound:
			refuse(w, r, probe.status)
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
