package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/serve/internal/edge"
)

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

// readBody reads the whole body before huma does, with its own limits.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) (*http.Request, error) {
	body, err := edge.ReadBody(w, r, limit)
	if err != nil {
		return r, err
	}
	ctx := context.WithValue(r.Context(), callKey{}, r.Header.Values(client.HeaderIdempotencyKey))
	inner := r.WithContext(context.WithValue(ctx, reportKey{}, func(err error) { edge.Report(w, r, err) }))
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
			if loneSurrogate(data) {
				return errors.New("a string holds half of a surrogate pair")
			}
			if err := json.Unmarshal(data, v); err != nil {
				return err
			}
			if err := uniqueNames(json.NewDecoder(bytes.NewReader(data))); err != nil {
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

// uniqueNames refuses a name that stands twice in one object: encoding/json
// would take the last, and somebody else the first.
func uniqueNames(d *json.Decoder) error {
	var open []map[string]bool // nil for an array
	name := false              // whether a string here names a member
	for {
		t, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case json.Delim:
			switch t {
			case '{':
				open = append(open, map[string]bool{})
			case '[':
				open = append(open, nil)
			default:
				open = open[:len(open)-1]
			}
			name = len(open) > 0 && open[len(open)-1] != nil
			continue
		case string:
			if name {
				if open[len(open)-1][t] {
					return fmt.Errorf("the field %q stands twice", t)
				}
				open[len(open)-1][t] = true
				name = false
				continue
			}
		}
		name = len(open) > 0 && open[len(open)-1] != nil
	}
}

// loneSurrogate finds an escape of half a surrogate pair, which encoding/json
// would replace.
func loneSurrogate(data []byte) bool {
	for i := 0; i+5 < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		if data[i+1] != 'u' {
			i++ // whatever is escaped, it is no backslash that escapes
			continue
		}
		switch half(data[i:]) {
		case 1:
			if i+11 >= len(data) || half(data[i+6:]) != 2 {
				return true
			}
			i += 11
		case 2:
			return true
		default:
			i += 5
		}
	}
	return false
}

// half is 1 for the escape of a first half, 2 for one of a second, else 0.
func half(b []byte) int {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' || b[2]|0x20 != 'd' {
		return 0
	}
	switch c := b[3] | 0x20; {
	case c == '8' || c == '9' || c == 'a' || c == 'b':
		return 1
	case c >= 'c' && c <= 'f':
		return 2
	}
	return 0
}
