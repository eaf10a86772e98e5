package echo

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// maxBody bounds a decoded request body.
const maxBody = 64 << 20

// readBody returns the request's body with its content codings removed, and
// closes it as a RoundTripper must.
func readBody(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer req.Body.Close()
	r, closers, err := decoded(req.Body, req.Header.Get("Content-Encoding"))
	for _, c := range closers {
		defer c()
	}
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	if err != nil {
		return nil, refusal(http.StatusBadRequest, "", "echo: the request body cannot be read")
	}
	if len(body) > maxBody {
		return nil, refusal(http.StatusRequestEntityTooLarge, "", "echo: the request body is too large")
	}
	return body, nil
}

// decoded removes at most two codings, the last named first.
func decoded(r io.Reader, codings string) (io.Reader, []func(), error) {
	var closers []func()
	names := strings.FieldsFunc(strings.ToLower(codings), func(c rune) bool { return c == ',' || c == ' ' || c == '\t' })
	if len(names) > 2 {
		return nil, nil, refusal(http.StatusUnsupportedMediaType, "", "echo: too many content codings")
	}
	for i := len(names) - 1; i >= 0; i-- {
		switch names[i] {
		case "identity":
		case "gzip":
			z, err := gzip.NewReader(r)
			if err != nil {
				return nil, closers, refusal(http.StatusBadRequest, "", "echo: the request body is not gzip")
			}
			r = z
		case "zstd":
			z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBody))
			if err != nil {
				return nil, closers, refusal(http.StatusBadRequest, "", "echo: the request body is not zstd")
			}
			closers = append(closers, z.Close)
			r = z
		default:
			return nil, closers, refusal(http.StatusUnsupportedMediaType, "", "echo: this content coding is not known")
		}
	}
	return r, closers, nil
}

// parse reads a JSON body into v. What it says about a mistake names the
// field, never a value.
func parse(body []byte, v any) error {
	err := json.Unmarshal(body, v)
	var typ *json.UnmarshalTypeError
	var own *refused
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own
	case errors.As(err, &typ) && typ.Field != "":
		return refusal(http.StatusBadRequest, typ.Field, fmt.Sprintf("Invalid type for '%s': got a %s.", typ.Field, typ.Value))
	}
	return refusal(http.StatusBadRequest, "", "The JSON body of the request could not be parsed.")
}
