package main

import (
	"net"
	"net/http"
	"runtime/debug"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/llm/mock"
	"github.com/dhruva-memory/dhruva/serve/smriti"
)

// compatible is the API of /api/v1 to /api/v5.
func (in *installation) compatible(f serveFlags) http.Handler {
	c := smriti.Config{
		Memory: in.memory, Keys: in.keys, Worktrees: in.worktrees, Providers: in.providers.status, AllowedHosts: f.hosts, MaxBody: in.limits.API.Body,
	}
	if f.keyless() {
		c.Local = in.withoutAccounts
	}
	return smriti.New(c)
}

// keyless reports whether the compatible API takes requests without a key.
func (f serveFlags) keyless() bool {
	host, _, err := net.SplitHostPort(f.listen)
	return err == nil && loopback(host) && !f.needKey
}

// withoutAccounts reports whether nobody has an account here: then whoever is at
// this machine is its owner. A store that does not answer says no.
func (in *installation) withoutAccounts(r *http.Request) bool {
	none := false
	err := in.store.View(r.Context(), dhruva.TenantScope(auth.LocalTenant), func(tx dhruva.Tx) error {
		users, err := tx.ListUsers(dhruva.Page{Limit: 1})
		none = err == nil && len(users) == 0
		return err
	})
	return err == nil && none
}

// status tells how providers are configured, without their keys.
func (p *providers) status() smriti.Providers {
	s := p.now.Load()
	out := smriti.Providers{ByName: map[string]smriti.Provider{}}
	for _, name := range providerNames() {
		c := s.config.Providers[name]
		_, ready := s.byName[name]
		out.ByName[name] = smriti.Provider{
			Enabled: s.config.enabled(name), HasKey: c.APIKey != "", Configured: ready, Label: s.label(name), DefaultModel: c.DefaultModel,
		}
	}
	slot := s.config.background()
	_, ready := s.byName[slot.Provider]
	out.Background = smriti.Background{
		Provider: slot.Provider, Model: or(slot.Model, s.byName[slot.Provider].DefaultModel), Enabled: ready,
		HasKey: s.config.Providers[slot.Provider].APIKey != "", Configured: ready && or(slot.Model, s.byName[slot.Provider].DefaultModel) != "",
		Label: s.label(slot.Provider),
	}
	return out
}

// label says in words how a provider stands.
func (s *providerSet) label(name string) string {
	c := s.config.Providers[name]
	_, ready := s.byName[name]
	switch {
	case s.fault != nil:
		return "configuration at fault"
	case ready && name == mock.Name:
		return "mock, for tests"
	case ready && c.APIKey == "" && name != "generic":
		return "enabled, without a key"
	case ready:
		return "ready"
	case c.Enabled != nil && !*c.Enabled:
		return "disabled"
	case name == "generic":
		return "no address"
	}
	return "no key"
}

// compatibleHealth is a server's health with what clients of Smriti look for.
type compatibleHealth struct {
	client.Health
	GitSHA       string   `json:"git_sha"`
	Capabilities []string `json:"capabilities"`
}

// gitSHA is the commit that the program was built from.
func gitSHA() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}
