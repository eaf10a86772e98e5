package proxy

import (
	"net/http"
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

type routeKind int

const (
	routeUnknown routeKind = iota
	routeCall              // asks a model for an answer
	routeRelay             // relayed with the credential swapped
)

// route is what a path means, before its method is judged.
type route struct {
	kind    routeKind
	dialect dhruva.Dialect // also the shape of our own errors
	// template is the path for logs: ids replaced.
	template string
	methods  []string
}

// routeOf finds the route by path. Errors on unknown paths have the shape of
// the dialect that the headers hint at.
func routeOf(r *http.Request) route {
	unknown := route{dialect: hinted(r), template: "other"}
	segments, ok := splitPath(r.URL.Path)
	if !ok {
		return unknown
	}
	post, get := []string{http.MethodPost}, []string{http.MethodGet}
	switch first, rest := segments[0], segments[1:]; first {
	case "chat":
		if slices.Equal(rest, []string{"completions"}) {
			return route{routeCall, dhruva.DialectChat, "/v1/chat/completions", post}
		}
	case "responses":
		if len(rest) == 0 {
			return route{routeCall, dhruva.DialectResponses, "/v1/responses", post}
		}
		return responsesFamily(rest)
	case "conversations":
		return route{routeRelay, dhruva.DialectResponses, "/v1/conversations/…", []string{http.MethodGet, http.MethodPost, http.MethodDelete}}
	case "messages":
		if len(rest) == 0 {
			return route{routeCall, dhruva.DialectMessages, "/v1/messages", post}
		}
		if slices.Equal(rest, []string{"count_tokens"}) {
			return route{routeRelay, dhruva.DialectMessages, "/v1/messages/count_tokens", post}
		}
	case "models":
		return route{routeRelay, hinted(r), "/v1/models/…", get}
	}
	return unknown
}

// responsesFamily is everything below /v1/responses/: two actions without an
// id, and what is done to a stored response.
func responsesFamily(rest []string) route {
	out := route{kind: routeRelay, dialect: dhruva.DialectResponses, template: "/v1/responses/{id}/…"}
	switch {
	case len(rest) == 1 && (rest[0] == "compact" || rest[0] == "input_tokens"):
		out.template, out.methods = "/v1/responses/"+rest[0], []string{http.MethodPost}
	case len(rest) == 1:
		out.methods = []string{http.MethodGet, http.MethodDelete}
	case len(rest) == 2 && rest[1] == "cancel":
		out.methods = []string{http.MethodPost}
	case len(rest) == 2 && rest[1] == "input_items":
		out.methods = []string{http.MethodGet}
	default:
		out.kind = routeUnknown
	}
	return out
}

// hinted is the dialect that a client without a telling path speaks: only
// Anthropic's clients send a version.
func hinted(r *http.Request) dhruva.Dialect {
	if r.Header.Get("Anthropic-Version") != "" {
		return dhruva.DialectMessages
	}
	return dhruva.DialectChat
}

// splitPath gives the segments behind /v1/. The path is judged decoded, so
// that no encoding smuggles a ".." or a further slash past the table to a
// provider that decodes once more: such a path is no route at all.
func splitPath(path string) ([]string, bool) {
	rest, ok := strings.CutPrefix(path, "/v1/")
	if !ok {
		return nil, false
	}
	segments := strings.Split(rest, "/")
	for _, s := range segments {
		if s == "" || s == "." || s == ".." || strings.IndexFunc(s, strange) >= 0 {
			return nil, false
		}
	}
	return segments, len(segments) <= 5
}

// strange is what no route and no provider's id contains.
func strange(c rune) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return false
	}
	return !strings.ContainsRune("-._~:@+", c)
}
