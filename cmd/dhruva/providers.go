package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/egress"
	"github.com/dhruva-memory/dhruva/llm"
	"github.com/dhruva-memory/dhruva/llm/echo"
	"github.com/dhruva-memory/dhruva/llm/mock"
	"github.com/dhruva-memory/dhruva/llm/remote"
	"github.com/dhruva-memory/dhruva/memory"
	"github.com/dhruva-memory/dhruva/serve/api"
	"github.com/dhruva-memory/dhruva/serve/proxy"
)

// echoName names the built-in provider, which is used only when named.
const echoName = "echo"

// echoModel is the model it answers as when none is asked for.
const echoModel = "echo"

// providers are the configured model companies. They are replaced as a whole
// when the configuration is read again; calls in flight keep what they have.
type providers struct{ now atomic.Pointer[providerSet] }

type providerSet struct {
	// fault is what is wrong with the configuration: no provider but the built-in
	// ones is there, and asking for another gives it.
	fault     error
	config    Config
	byName    map[string]memory.Provider
	upstreams map[string]proxy.Upstream
}

func newProviders(c Config) (*providers, error) {
	p := &providers{}
	return p, p.set(c)
}

// providersOrFault are for commands most of which need no provider: a fault of
// the configuration stops only those that ask for one.
func (p *program) providersOrFault(dir string) *providers {
	c, err := loadConfig("", dir, p.env)
	if err == nil {
		var all *providers
		if all, err = newProviders(c); err == nil {
			return all
		}
	}
	all := &providers{}
	s := builtIn(Config{})
	s.fault = err
	all.now.Store(s)
	return all
}

// builtIn are the providers that need no configuration, and are used only when
// they are named.
func builtIn(c Config) *providerSet {
	return &providerSet{
		config: c,
		byName: map[string]memory.Provider{
			echoName:  {Name: echoName, DefaultModel: echoModel, Generator: echo.Provider{}},
			mock.Name: {Name: mock.Name, DefaultModel: mock.Model, Generator: mock.Provider{}},
		},
		upstreams: map[string]proxy.Upstream{echoName: {Name: echoName, Kind: proxy.KindEcho, Transport: echo.Provider{}}},
	}
}

// set replaces the configuration, or changes nothing.
func (p *providers) set(c Config) error {
	s := builtIn(c)
	for _, name := range providerNames() {
		if !c.reachable(name) {
			continue
		}
		pc := c.Providers[name]
		u, err := upstreamOf(name, pc)
		if err != nil {
			return err
		}
		s.upstreams[name] = u
		if !c.enabled(name) {
			continue
		}
		s.byName[name] = memory.Provider{Name: name, DefaultModel: pc.DefaultModel, Generator: generator(name, pc, u.Transport)}
	}
	p.now.Store(s)
	return nil
}

// upstreamOf is a provider as the proxy reaches it. Each has connections of its
// own, so that none carries two credentials.
func upstreamOf(name string, c ProviderConfig) (proxy.Upstream, error) {
	policy := egress.Policy{AllowPrivate: c.AllowPrivate}
	base, err := policy.CheckURL(c.BaseURL)
	if err != nil {
		return proxy.Upstream{}, withFix(fmt.Errorf("%w: provider %s: base_url: %s", dhruva.ErrInvalid, name, api.Words(err)),
			"correct base_url; a server on this machine or network also needs allow_private: true")
	}
	kind := proxy.KindOpenAI
	if name == "anthropic" {
		kind = proxy.KindAnthropic
	}
	return proxy.Upstream{
		Name: name, Kind: kind, BaseURL: base, Key: auth.NewSecret(c.APIKey), NeedsKey: name != "generic", Transport: egress.New(policy),
	}, nil
}

func generator(name string, c ProviderConfig, rt http.RoundTripper) llm.Generator {
	rc := remote.Config{Name: name, BaseURL: c.BaseURL, APIKey: c.APIKey, DefaultModel: c.DefaultModel, HTTPClient: egress.NoRedirects(rt)}
	if name == "anthropic" {
		return remote.NewAnthropic(rc)
	}
	return remote.NewOpenAI(rc)
}

// upstream is the proxy's way to a provider.
func (p *providers) upstream(name string) (proxy.Upstream, error) {
	u, ok := p.now.Load().upstreams[name]
	if !ok {
		return proxy.Upstream{}, fmt.Errorf("%w: provider %q is not configured", dhruva.ErrNotFound, name)
	}
	return u, nil
}

// find is memory's way to a provider.
func (p *providers) find(name string) (memory.Provider, error) {
	s := p.now.Load()
	if name == "" {
		name = s.config.defaultProvider()
	}
	found, ok := s.byName[name]
	switch {
	case ok:
		return found, nil
	case s.fault != nil:
		return found, advised{s.fault, codeProvider, fixOf(s.fault)}
	case name == "":
		return found, advised{fmt.Errorf("%w: no provider is configured", dhruva.ErrInvalid), codeNoProvider,
			"name the provider " + echoName + ", which answers with what it was told, or set " + keyVariables() + " where the server runs"}
	case slices.Contains(providerNames(), name):
		return found, advised{fmt.Errorf("%w: provider %q is not enabled", dhruva.ErrInvalid, name), codeProvider,
			"set " + variableOf(name) + " where `dhruva serve` runs, or enable it in providers.yaml, which SIGHUP has read again"}
	}
	return found, advised{fmt.Errorf("%w: there is no provider %q", dhruva.ErrInvalid, name), codeProvider,
		"the providers are " + strings.Join(append(providerNames(), echoName, mock.Name), ", ")}
}

// warnOfBackground says at start when there is no model for background work.
func (p *providers) warnOfBackground(log *slog.Logger) {
	if _, err := p.background(); err != nil {
		log.Warn("no model for background work: drafts, extracts, reviews and titles are refused until there is one",
			"reason", api.Words(err), "fix", backgroundFix)
	}
}

// backgroundFix is what to do without a model for background work.
const backgroundFix = "set OPENAI_API_KEY, or name a provider and a model under background_intelligence in " + providersFile

// background is memory's way to the model for background work.
func (p *providers) background() (memory.Provider, error) {
	slot := p.now.Load().config.background()
	found, err := p.find(slot.Provider)
	found.DefaultModel = or(slot.Model, found.DefaultModel)
	return found, err
}

// The codes of problems that are about what is configured.
const (
	codeNoProvider = "no_provider"
	codeProvider   = "provider"
)

// advised is an error that tells the API what to do about it.
type advised struct {
	error
	code, hint string
}

// Advice is the problem's code and hint.
func (a advised) Advice() (code, hint string) { return a.code, a.hint }

// Unwrap is the error itself.
func (a advised) Unwrap() error { return a.error }

// variableOf is the variable that alone enables a provider.
func variableOf(name string) string {
	key := "api_key"
	if name == "generic" {
		key = "base_url"
	}
	return variables()["providers."+name+"."+key][0]
}

func keyVariables() string {
	var names []string
	for _, name := range providerNames() {
		names = append(names, variableOf(name))
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
