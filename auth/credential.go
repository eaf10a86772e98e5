package auth

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// The headers in which a credential may stand.
const (
	HeaderAuthorization = "Authorization"
	HeaderAPIKey        = "X-Api-Key"
	HeaderDhruvaKey     = "X-Dhruva-Key"
)

// maxCredential bounds a credential; providers' tokens are longer than ours.
const maxCredential = 4096

// Credentials are what a request says of its sender.
type Credentials struct {
	// Key is the claimed Dhruva key; the zero Secret when the request carries none.
	Key Secret
	// PassThrough: Key came in X-Dhruva-Key, and the request's other headers
	// carry the client's own credential for the provider.
	PassThrough bool
}

// Credential reads the credential of a request: "Authorization: Bearer …" or
// "x-api-key", or X-Dhruva-Key, beside which the other two belong to the
// provider. Query and cookies are never looked at. A request without any gives
// the zero Credentials, which Authenticate refuses. ErrInvalid: two different
// credentials, a header sent twice, a Dhruva key where a provider's belongs, or
// a value that cannot be a credential. An Authorization scheme other than
// Bearer is ErrUnauthenticated, unless it is passed through.
func Credential(r *http.Request) (Credentials, error) {
	own, err := single(r.Header, HeaderDhruvaKey)
	if err != nil {
		return Credentials{}, err
	}
	apiKey, err := single(r.Header, HeaderAPIKey)
	if err != nil {
		return Credentials{}, err
	}
	authorization, err := single(r.Header, HeaderAuthorization)
	if err != nil {
		return Credentials{}, err
	}
	if own != "" {
		return besideOwn(own, apiKey, authorization)
	}
	token, err := bearer(authorization)
	if err != nil {
		return Credentials{}, err
	}
	if token != "" && apiKey != "" && token != apiKey {
		return Credentials{}, refused("%s and %s carry two different credentials", HeaderAuthorization, HeaderAPIKey)
	}
	return checked(cmp.Or(token, apiKey), false)
}

// besideOwn judges the other headers next to X-Dhruva-Key. One that repeats
// the key (an SDK that insists on having one) is not passed through, because
// our keys never leave the process.
func besideOwn(own, apiKey, authorization string) (Credentials, error) {
	pass := false
	for _, other := range []string{apiKey, tokenOf(authorization)} {
		switch {
		case other == "" || other == own:
		case strings.HasPrefix(other, keyPrefix):
			return Credentials{}, refused("two different Dhruva keys")
		default:
			pass = true
		}
	}
	if pass && (apiKey == own || tokenOf(authorization) == own) {
		return Credentials{}, refused("the Dhruva key stands in %s and beside the provider's credential", HeaderDhruvaKey)
	}
	return checked(own, pass)
}

// single is the value of a header that may stand once; "" when it is absent
// or empty.
func single(h http.Header, name string) (string, error) {
	values := h.Values(name)
	if len(values) > 1 {
		return "", refused("%s is sent %d times", name, len(values))
	}
	if len(values) == 0 {
		return "", nil
	}
	return strings.Trim(values[0], " \t"), nil
}

// bearer is the token of an Authorization header. The scheme's case does not
// matter (RFC 9110, 11.1).
func bearer(authorization string) (string, error) {
	if authorization == "" {
		return "", nil
	}
	scheme, token, _ := strings.Cut(authorization, " ")
	if token = strings.Trim(token, " "); !strings.EqualFold(scheme, "bearer") || token == "" {
		return "", fmt.Errorf("auth: credential: %w: %s is not of the form \"Bearer KEY\"", dhruva.ErrUnauthenticated, HeaderAuthorization)
	}
	return token, nil
}

// tokenOf is what follows the scheme, or the whole value when there is none.
func tokenOf(authorization string) string {
	if _, token, ok := strings.Cut(authorization, " "); ok {
		return strings.Trim(token, " ")
	}
	return authorization
}

func checked(key string, pass bool) (Credentials, error) {
	if len(key) > maxCredential {
		return Credentials{}, refused("a credential has at most %d characters", maxCredential)
	}
	for i := range len(key) {
		if c := key[i]; c <= ' ' || c >= 0x7f || c == ',' {
			return Credentials{}, refused("a credential is one word of visible ASCII")
		}
	}
	return Credentials{Key: NewSecret(key), PassThrough: pass}, nil
}

// refused never repeats a header's value.
func refused(format string, args ...any) error {
	return fmt.Errorf("auth: credential: %w: %s", dhruva.ErrInvalid, fmt.Sprintf(format, args...))
}
