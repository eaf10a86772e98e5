package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/maps"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/llm/mock"
)

// Config is everything about providers that can be set, as it stands in
// providers.yaml. Where a variable is named, the environment wins over the
// file; the file wins over the default.
type Config struct {
	// Providers by name: openai, anthropic, openrouter, generic.
	Providers map[string]ProviderConfig `koanf:"providers"`
	Chat      ChatConfig                `koanf:"chat"`
	// Background is the model for what is asked without a choice of one: drafts,
	// extracts, reviews and titles. It is independent of Chat.
	Background BackgroundConfig `koanf:"background_intelligence"`
}

// ProviderConfig is one model company, or a server like one.
type ProviderConfig struct {
	// Enabled nil means: when there is a key or an address.
	Enabled *bool `koanf:"enabled"`
	// APIKey comes from OPENAI_API_KEY, ANTHROPIC_API_KEY, OPENROUTER_API_KEY
	// or DHRUVA_GENERIC_API_KEY.
	APIKey string `koanf:"api_key"`
	// BaseURL of generic comes from DHRUVA_GENERIC_API_URL. OPENAI_BASE_URL is
	// not read: clients set it to point at us.
	BaseURL string `koanf:"base_url"`
	// DefaultModel of generic comes from DHRUVA_GENERIC_MODEL.
	DefaultModel string `koanf:"default_model"`
	// AllowPrivate opens loopback and private addresses and plain http
	// (DHRUVA_GENERIC_ALLOW_PRIVATE).
	AllowPrivate bool `koanf:"allow_private"`
}

// Format never shows the key.
func (c ProviderConfig) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "{%s model=%q key=%t}", c.BaseURL, c.DefaultModel, c.APIKey != "")
}

// ChatConfig is for send.
type ChatConfig struct {
	// DefaultProvider comes from DHRUVA_DEFAULT_PROVIDER; "" is the first
	// enabled one.
	DefaultProvider string `koanf:"default_provider"`
	// AutosaveTurns and AutoCommit are read and have no effect: files that are
	// shared with Smriti carry them.
	AutosaveTurns int  `koanf:"autosave_turns"`
	AutoCommit    bool `koanf:"auto_commit"`
}

// BackgroundConfig names the model for work in the background. Without a provider
// it is openai with gpt-4o-mini; without a model it is the provider's default.
type BackgroundConfig struct {
	Provider string `koanf:"provider"`
	Model    string `koanf:"model"`
}

// providersFile is the name of the file in the data directory.
const providersFile = "providers.yaml"

// variables lists which variables set which key; the first that is not empty
// counts.
func variables() map[string][]string {
	return map[string][]string{
		"providers.openai.api_key":        {"OPENAI_API_KEY"},
		"providers.anthropic.api_key":     {"ANTHROPIC_API_KEY"},
		"providers.openrouter.api_key":    {"OPENROUTER_API_KEY"},
		"providers.generic.api_key":       {"DHRUVA_GENERIC_API_KEY", "SMRITI_GENERIC_API_KEY"},
		"providers.generic.base_url":      {"DHRUVA_GENERIC_API_URL", "SMRITI_GENERIC_API_URL"},
		"providers.generic.default_model": {"DHRUVA_GENERIC_MODEL", "SMRITI_GENERIC_MODEL"},
		"providers.generic.allow_private": {"DHRUVA_GENERIC_ALLOW_PRIVATE"},
		"chat.default_provider":           {"DHRUVA_DEFAULT_PROVIDER", "SMRITI_DEFAULT_PROVIDER"},
	}
}

func defaults() mapSource {
	return mapSource{
		"providers.openai.base_url":     "https://api.openai.com/v1",
		"providers.anthropic.base_url":  "https://api.anthropic.com",
		"providers.openrouter.base_url": "https://openrouter.ai/api/v1",
	}
}

// mapSource feeds koanf from dotted keys.
type mapSource map[string]any

// ReadBytes is not supported, as koanf allows.
func (mapSource) ReadBytes() ([]byte, error) { return nil, errors.New("a map has no bytes") }

// Read nests the keys.
func (m mapSource) Read() (map[string]any, error) { return maps.Unflatten(m, "."), nil }

// loadConfig reads providers.yaml (path, or the data directory's when path is
// "" and it exists) under the environment.
func loadConfig(path, dir string, env func(string) string) (Config, error) {
	k := koanf.New(".")
	if err := k.Load(defaults(), nil); err != nil {
		return Config{}, err
	}
	if err := loadFile(k, path, dir); err != nil {
		return Config{}, err
	}
	if err := k.Load(environment(env), nil); err != nil {
		return Config{}, err
	}
	var c Config
	err := k.UnmarshalWithConf("", &c, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		Result: &c, TagName: "koanf", ErrorUnused: true, WeaklyTypedInput: true,
	}})
	if err != nil {
		return Config{}, withFix(fmt.Errorf("%w: providers: %w", dhruva.ErrInvalid, err), "correct providers.yaml; docs/operate.md shows every key")
	}
	return c, c.check()
}

func loadFile(k *koanf.Koanf, path, dir string) error {
	named := path != ""
	if !named {
		path = filepath.Join(dir, providersFile)
	}
	if _, err := os.Stat(path); !named && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := k.Load(file.Provider(path), yaml.Parser()); err != nil {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return withFix(fmt.Errorf("%w: providers file: %w", dhruva.ErrInvalid, err), "give an existing file to --providers")
		case errors.Is(err, fs.ErrPermission):
			return withFix(fmt.Errorf("%w: providers file: %w", dhruva.ErrInvalid, err), "%s", accessFix(path))
		}
		return withFix(fmt.Errorf("%w: %s is not YAML%s", dhruva.ErrInvalid, path, atLine(err)), "correct it; docs/operate.md shows its shape")
	}
	return nil
}

// atLine is where the parser stumbled, if it says so. The rest of its words may
// repeat a line that holds a key.
func atLine(err error) string {
	if n := regexp.MustCompile(`line \d+`).FindString(err.Error()); n != "" {
		return " (near " + n + ")"
	}
	return ""
}

func environment(env func(string) string) mapSource {
	m := mapSource{}
	for key, names := range variables() {
		if v := first(env, names...); v != "" {
			m[key] = v
		}
	}
	return m
}

// first is the first variable that is not empty.
func first(env func(string) string, names ...string) string {
	for _, n := range names {
		if v := env(n); v != "" {
			return v
		}
	}
	return ""
}

// providerNames are those that can be configured, in the order in which the
// default is chosen.
func providerNames() []string { return []string{"openai", "anthropic", "openrouter", "generic"} }

func (c Config) check() error {
	for name, p := range c.Providers {
		if !slices.Contains(providerNames(), name) {
			return withFix(fmt.Errorf("%w: unknown provider %q", dhruva.ErrInvalid, name), "the providers are %s", strings.Join(providerNames(), ", "))
		}
		if name == "generic" && p.enabled() && p.BaseURL == "" {
			return withFix(fmt.Errorf("%w: provider generic has no base_url", dhruva.ErrInvalid), "set DHRUVA_GENERIC_API_URL or base_url")
		}
	}
	if d := c.Chat.DefaultProvider; d != "" && d != echoName && !slices.Contains(providerNames(), d) {
		return withFix(fmt.Errorf("%w: unknown default provider %q", dhruva.ErrInvalid, d), "the providers are %s, %s", strings.Join(providerNames(), ", "), echoName)
	}
	if b := c.Background.Provider; b != "" && b != mock.Name && !slices.Contains(providerNames(), b) {
		return withFix(fmt.Errorf("%w: unknown provider %q for background_intelligence", dhruva.ErrInvalid, b), "the providers are %s, %s", strings.Join(providerNames(), ", "), mock.Name)
	}
	return nil
}

// background is the slot for background work, as it is or by default.
func (c Config) background() BackgroundConfig {
	b := c.Background
	if b.Provider == "" {
		b.Provider, b.Model = "openai", or(b.Model, "gpt-4o-mini")
	}
	return b
}

func (c ProviderConfig) enabled() bool {
	if c.Enabled != nil {
		return *c.Enabled
	}
	return c.APIKey != ""
}

// enabled reports whether a provider may be used. The generic one needs no key
// where it has an address.
func (c Config) enabled(name string) bool {
	p, ok := c.Providers[name]
	if name == "generic" && p.Enabled == nil {
		return p.BaseURL != ""
	}
	return ok && p.enabled()
}

// reachable reports whether calls may be relayed to a provider: also without
// a key of ours, for clients that bring their own.
func (c Config) reachable(name string) bool {
	if p := c.Providers[name]; name != "generic" && p.Enabled == nil {
		return true
	}
	return c.enabled(name)
}

// defaultProvider is the one that send uses when none is named; "" when there
// is none. It is never echo unless that is named.
func (c Config) defaultProvider() string {
	if c.Chat.DefaultProvider != "" {
		return c.Chat.DefaultProvider
	}
	for _, name := range providerNames() {
		if c.enabled(name) {
			return name
		}
	}
	return ""
}

// dataDir is where the installation lives.
func (p *program) dataDir() (string, error) {
	if d := or(p.flags.data, p.env("DHRUVA_DATA")); d != "" {
		return filepath.Abs(d)
	}
	if d := p.env("XDG_DATA_HOME"); d != "" {
		return filepath.Join(d, "dhruva"), nil
	}
	if home := first(p.env, "HOME", "USERPROFILE"); home != "" {
		return filepath.Join(home, ".local", "share", "dhruva"), nil
	}
	return "", withFix(usage("no data directory: neither HOME nor DHRUVA_DATA is set"), "give one with --data")
}
