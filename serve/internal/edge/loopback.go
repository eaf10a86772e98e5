package edge

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Loopback guards a listener that only this machine should reach against the
// machine's own browsers (DNS rebinding, pages that post to localhost). A
// request must name, as its Host, "localhost", a loopback address or an entry
// of allowedHosts; an entry is a host, or host:port. A request with an Origin
// must come from the very host and port it goes to, or from an entry with a
// port. Everything else is 403 before anything is read.
func Loopback(next http.Handler, allowedHosts []string) http.Handler {
	allowed := make([]string, 0, len(allowedHosts))
	for _, h := range allowedHosts {
		allowed = append(allowed, strings.ToLower(h))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := strings.ToLower(r.Host)
		if !localHost(host, allowed) {
			refuseOutsider(w, r, "host_refused", "this listener does not answer under that Host")
			return
		}
		if origins := r.Header.Values("Origin"); len(origins) > 1 || len(origins) == 1 && !localOrigin(origins[0], host, allowed) {
			refuseOutsider(w, r, "origin_refused", "this listener does not answer pages of that Origin")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func refuseOutsider(w http.ResponseWriter, r *http.Request, code, detail string) {
	WriteError(w, r, &Refusal{Status: http.StatusForbidden, Code: code, Title: "Not from here", Detail: detail,
		Hint: "use http://127.0.0.1 or http://localhost, or add the host to the allowed ones"})
}

// localHost judges a lower-case Host value. A loopback address cannot be
// rebound, since no name was resolved.
func localHost(hostport string, allowed []string) bool {
	host, ok := hostOf(hostport)
	if !ok {
		return false
	}
	if host == "localhost" || slices.Contains(allowed, hostport) || slices.Contains(allowed, host) {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Zone() == "" && addr.Unmap().IsLoopback()
}

// hostOf takes the port and the brackets off; false for what is no Host.
func hostOf(hostport string) (string, bool) {
	if hostport == "" || strings.ContainsAny(hostport, " /@\\") {
		return "", false
	}
	if host, port, err := net.SplitHostPort(hostport); err == nil {
		return host, port != "" && strings.Trim(port, "0123456789") == ""
	}
	if host, ok := strings.CutPrefix(hostport, "["); ok {
		return strings.CutSuffix(host, "]")
	}
	return hostport, !strings.Contains(hostport, ":")
}

// localOrigin: same host and port, or listed with its port. "null" and
// whatever has a path, a user or another scheme is not.
func localOrigin(origin, host string, allowed []string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || origin != u.Scheme+"://"+u.Host {
		return false
	}
	from := strings.ToLower(u.Host)
	return from == host || u.Port() != "" && slices.Contains(allowed, from)
}
