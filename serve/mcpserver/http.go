package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Handler serves streamable HTTP; mount it at /mcp. Requests of a browser from
// another origin are refused. Host checks on loopback are the SDK's own, and
// the listener's.
func (s *Server) Handler() http.Handler {
	streamable := mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return s.mcp },
		&mcp.StreamableHTTPOptions{
			// The newest protocol exists only without sessions, and the older
			// ones work without them too.
			Stateless:                    true,
			JSONResponse:                 true,
			MaxRequestBodyBytes:          MaxBody,
			PropagateRequestCancellation: true,
		})
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusForbidden, "invalid_origin", "This server does not answer web pages of another origin.")
	}))
	return origins.Handler(s.authenticated(streamable))
}

// authenticated resolves the request's own credential before its body is read.
func (s *Server) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		credentials, err := auth.Credential(r)
		var p dhruva.Principal
		if err == nil {
			p, err = s.config.Keys.Authenticate(r.Context(), credentials.Key.Reveal())
		}
		if err != nil {
			s.refuseCredential(w, r, err)
			return
		}
		if r.Header.Get("Content-Encoding") != "" {
			refuse(w, http.StatusUnsupportedMediaType, "unsupported_encoding", "Send the body without Content-Encoding.")
			return
		}
		if r.ContentLength > MaxBody {
			refuse(w, http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("The body is larger than %d bytes.", MaxBody))
			return
		}
		ctx := dhruva.WithPrincipal(r.Context(), p)
		next.ServeHTTP(w, r.WithContext(withRequestID(ctx)))
	})
}

func withRequestID(ctx context.Context) context.Context {
	if dhruva.RequestIDFrom(ctx) != "" {
		return ctx
	}
	return dhruva.WithRequestID(ctx, dhruva.NewID())
}

func (s *Server) refuseCredential(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, dhruva.ErrInvalid):
		refuse(w, http.StatusBadRequest, "invalid_request", "Send one credential: the request carries two different ones.")
	case errors.Is(err, dhruva.ErrUnauthenticated):
		w.Header().Set("WWW-Authenticate", s.challenge(r))
		refuse(w, http.StatusUnauthorized, "invalid_token", "Send a Dhruva key as Authorization: Bearer dhr_live_…")
	case errors.Is(err, dhruva.ErrUnavailable):
		refuse(w, http.StatusServiceUnavailable, "unavailable", "Keys cannot be checked right now; try again.")
	default:
		s.config.Log.ErrorContext(r.Context(), "mcp: authentication failed", "error", err)
		refuse(w, http.StatusInternalServerError, "internal", "Something went wrong here; the server's log says what.")
	}
}

// challenge follows RFC 6750: an error code only where a credential was sent.
func (s *Server) challenge(r *http.Request) string {
	c := `Bearer realm="dhruva"`
	if s.config.ResourceMetadata != "" {
		c += fmt.Sprintf(", resource_metadata=%q", s.config.ResourceMetadata)
	}
	if r.Header.Get(auth.HeaderAuthorization) != "" || r.Header.Get(auth.HeaderAPIKey) != "" || r.Header.Get(auth.HeaderDhruvaKey) != "" {
		c += `, error="invalid_token", error_description="The key is unknown, expired or revoked"`
	}
	return c
}

func refuse(w http.ResponseWriter, status int, code, sentence string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	// A failed write means that the client is gone.
	_ = json.NewEncoder(w).Encode(map[string]string{"error": code, "error_description": sentence})
}
