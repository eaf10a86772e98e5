package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/serve/internal/edge"
)

// bodyTime bounds how long a client may take to send a body.
const bodyTime = 30 * time.Second

// guard stands before every route: a request id, a credential, and a bounded
// body. Only the description of the API itself is open.
func guard(c Config, next http.Handler) http.Handler {
	read := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner, err := readBody(w, r, c.limit(r))
		if err != nil {
			refuse(w, r, err)
			return
		}
		defer func() { r.Pattern = inner.Pattern }() // for the log line
		next.ServeHTTP(w, inner)
	})
	closed := edge.Authenticated(c.Keys, edge.PlainBodies(read))
	return edge.SecurityHeaders(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if dhruva.RequestIDFrom(r.Context()) == "" { // mounted without edge.Access
			r = r.WithContext(dhruva.WithRequestID(r.Context(), dhruva.NewID()))
			w.Header().Set(edge.HeaderRequestID, dhruva.RequestIDFrom(r.Context()))
		}
		if strings.HasPrefix(r.URL.Path, client.Prefix+"/openapi") {
			next.ServeHTTP(w, r)
			return
		}
		closed.ServeHTTP(w, r)
	}))
}

// limit is how large a request's body may be: an import carries a whole
// conversation.
func (c Config) limit(r *http.Request) int64 {
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/import") {
		return c.MaxImport
	}
	return c.MaxBody
}

// reportKey is for the request's own way to the log, which a handler behind
// huma sees only the context of.
type reportKey struct{}

// readBody reads the whole body under its limit and a deadline of its own, and
// then lifts the deadline: an answer may take as long as a model does.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) (*http.Request, error) {
	if r.Header.Get("Idempotency-Key") != "" {
		return r, &edge.Refusal{Status: http.StatusUnprocessableEntity, Code: "unsupported", Title: "Not in this version",
			Detail: "Idempotency-Key is not honoured by this version", Hint: "leave the header out, and look what is there before a request is repeated"}
	}
	if r.ContentLength > limit {
		return r, &http.MaxBytesError{Limit: limit}
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime)) // a writer without one is in this process
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	_ = rc.SetReadDeadline(time.Time{})
	if err != nil {
		return r, edge.Malformed(err)
	}
	inner := r.WithContext(context.WithValue(r.Context(), reportKey{}, func(err error) { edge.Report(w, r, err) }))
	inner.Body = io.NopCloser(bytes.NewReader(body))
	return inner, nil
}

// strictJSON refuses what encoding/json would mend silently.
func strictJSON() huma.Format {
	return huma.Format{
		Marshal: huma.DefaultJSONFormat.Marshal,
		Unmarshal: func(data []byte, v any) error {
			if !utf8.Valid(data) {
				return errors.New("the body is not valid UTF-8")
			}
			if err := json.Unmarshal(data, v); err != nil {
				return err
			}
			if tree, ok := v.(*any); ok {
				return exactNames(*tree)
			}
			return nil
		},
	}
}

// exactNames refuses capitals in field names: ours have none, and encoding/json
// would take Name for name.
func exactNames(tree any) error {
	switch t := tree.(type) {
	case []any:
		for _, v := range t {
			if err := exactNames(v); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, v := range t {
			if strings.ToLower(name) != name {
				return errors.New("field names are in lower case")
			}
			if err := exactNames(v); err != nil {
				return err
			}
		}
	}
	return nil
}
