package remote

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/dhruva-memory/dhruva/egress"
)

// Config says where a provider is and how to speak to it. Printing or logging
// a Config never shows the key.
type Config struct {
	// BaseURL is the root of the API as the provider documents it: with /v1
	// for OpenAI and its like, without for Anthropic. Empty means the
	// provider's own address.
	BaseURL string
	// APIKey may be empty for a server that wants none.
	APIKey string
	// HTTPClient carries the requests; nil means egress.Client under the
	// strictest policy. Its redirect rule is overridden: none is followed.
	HTTPClient *http.Client
	// DefaultModel is used by requests that name no model.
	DefaultModel string
	// Name is the configured provider name, which errors show. It also decides
	// one field: "openai" is sent max_completion_tokens, others max_tokens,
	// which most compatible servers know instead.
	Name string
}

// Format implements fmt.Formatter for every verb without the key.
func (c Config) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "{%s %s model=%q key=%s}", c.Name, c.BaseURL, c.DefaultModel, c.keyState())
}

// LogValue implements slog.LogValuer without the key.
func (c Config) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }

// MarshalText keeps a Config that ends up in JSON from showing the key.
func (c Config) MarshalText() ([]byte, error) { return []byte(fmt.Sprint(c)), nil }

func (c Config) keyState() string {
	if c.APIKey == "" {
		return "none"
	}
	return "set"
}

// withDefaults fills what may be left out.
func (c Config) withDefaults(name, base string) Config {
	if c.Name == "" {
		c.Name = name
	}
	if c.BaseURL == "" {
		c.BaseURL = base
	}
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	if c.HTTPClient == nil {
		c.HTTPClient = egress.Client(egress.Policy{})
	}
	client := *c.HTTPClient
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.HTTPClient = &client
	return c
}
