package main

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/egress"
	"github.com/dhruva-memory/dhruva/llm"
	"github.com/dhruva-memory/dhruva/llm/echo"
	"github.com/dhruva-memory/dhruva/llm/remote"
	"github.com/dhruva-memory/dhruva/memory"
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
	config    Config
	byName    map[string]memory.Provider
	upstreams map[string]proxy.Upstream
}

func newProviders(c Config) (*providers, error) {
	p := &providers{}
	return p, p.set(c)
}

// set replaces the configuration, or changes nothing.
func (p *providers) set(c Config) error {
	s := &providerSet{
		config:    c,
		byName:    map[string]memory.Provider{echoName: {Name: echoName, DefaultModel: echoModel, Generator: echo.Provider{}}},
		upstreams: map[string]proxy.Upstream{echoName: {Name: echoName, Kind: proxy.KindEcho, Transport: echo.Provider{}}},
	}
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
		return proxy.Upstream{}, withFix(fmt.Errorf("%w: provider %s: base_url: %w", dhruva.ErrInvalid, name, err),
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
	if name == "" {
		return memory.Provider{}, fmt.Errorf("%w: no provider is configured; set OPENAI_API_KEY or ANTHROPIC_API_KEY, write providers.yaml, or name the provider echo", dhruva.ErrInvalid)
	}
	found, ok := s.byName[name]
	if !ok {
		return memory.Provider{}, fmt.Errorf("%w: provider %q is not enabled; configure it in providers.yaml or by its variable", dhruva.ErrInvalid, name)
	}
	return found, nil
}
