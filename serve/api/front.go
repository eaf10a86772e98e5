package api

import (
	"log/slog"
	"net/http"

	"github.com/dhruva-memory/dhruva/serve/internal/edge"
)

// Front is what stands before every edge of one listener: the request's id and
// log line, and on loopback the checks of Host and Origin.
type Front struct {
	Log *slog.Logger
	// Loopback: only this machine should reach the listener.
	Loopback bool
	// AllowedHosts are further names under which a loopback listener answers.
	AllowedHosts []string
}

// Wrap puts the layers around the routes of a listener. What no route matches
// is refused with problem details.
func (f Front) Wrap(mux *http.ServeMux) http.Handler {
	h := edge.Routes(mux)
	if f.Loopback {
		h = edge.Loopback(h, f.AllowedHosts)
	}
	return edge.Access{Log: f.Log}.Wrap(h)
}
