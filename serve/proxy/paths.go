package proxy

import (
	"net/http"
	"path"
	"strings"
)

// Unclean stands before a mux. The mux would answer a path like /v1//models or
// /v1/models/../x with a redirect, which no client of a provider expects; here
// it is no path, in the dialect's shape, as [Handler] itself answers it.
func Unclean(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !redirected(r.URL.Path) && !redirected(r.URL.EscapedPath()) {
			next.ServeHTTP(w, r)
			return
		}
		x := newExchange(w, r)
		x.route = route{dialect: hinted(r), template: "other"}
		x.unknown()
	})
}

// redirected reports a path that a mux would clean, in front of or behind /v1.
func redirected(p string) bool {
	below := func(p string) bool { return p == "/v1" || strings.HasPrefix(p, "/v1/") }
	clean := path.Clean("/" + p)
	if !below(p) && !below(clean) {
		return false
	}
	if clean != "/" && strings.HasSuffix(p, "/") {
		clean += "/"
	}
	return clean != p || p == "/v1"
}
