package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

// noEnv is an environment without variables but a home.
func noEnv(t *testing.T) func(string) string {
	home := t.TempDir()
	return func(name string) string {
		if name == "HOME" {
			return home
		}
		return ""
	}
}

// everyCommand walks the tree.
func everyCommand(c *cobra.Command, f func(*cobra.Command)) {
	if c.Name() == "help" || c.Hidden {
		return
	}
	f(c)
	for _, sub := range c.Commands() {
		everyCommand(sub, f)
	}
}

func TestHelpLeadsWithExamples(t *testing.T) {
	p := &program{env: noEnv(t)}
	everyCommand(p.root(), func(c *cobra.Command) {
		t.Run(c.CommandPath(), func(t *testing.T) {
			var out bytes.Buffer
			args := append(strings.Fields(c.CommandPath())[1:], "--help")
			if code := run(t.Context(), args, strings.NewReader(""), &out, io.Discard, noEnv(t)); code != exitOK {
				t.Fatalf("exit code %d", code)
			}
			help := out.String()
			examples, usage := strings.Index(help, "\nExamples:\n"), strings.Index(help, "\nUsage:\n")
			if examples < 0 || usage < examples {
				t.Errorf("examples do not come before the usage:\n%s", help)
			}
			if strings.HasPrefix(help, "\n") || c.Short == "" {
				t.Errorf("no description:\n%s", help)
			}
			if c != c.Root() && !strings.Contains(c.Example, "dhruva "+strings.TrimPrefix(c.CommandPath(), "dhruva ")) {
				t.Errorf("the example shows another command: %s", c.Example)
			}
		})
	})
}

func TestEveryCommandTakesTheGlobalFlags(t *testing.T) {
	p := &program{env: noEnv(t)}
	everyCommand(p.root(), func(c *cobra.Command) {
		for _, f := range []string{"json", "data", "url", "key"} {
			if c.InheritedFlags().Lookup(f) == nil && c.PersistentFlags().Lookup(f) == nil {
				t.Errorf("%s lacks --%s", c.CommandPath(), f)
			}
		}
	})
}

func TestExitCodes(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code int
	}{
		{nil, 0}, {errors.New("?"), 1}, {dhruva.ErrInvalid, 2}, {dhruva.ErrNotFound, 3}, {dhruva.ErrUnauthenticated, 4}, {dhruva.ErrDenied, 4},
		{dhruva.ErrConflict, 5}, {dhruva.ErrFenced, 5}, {dhruva.ErrTooLarge, 6}, {dhruva.ErrUnavailable, 7}, {errPartial, 8}, {context.Canceled, 130},
		{&client.Problem{Status: 429}, 6}, {&client.Problem{Status: 500, Code: "internal"}, 1}, {&client.Problem{Status: 502}, 7},
	} {
		if got := exitCode(tt.err); got != tt.code {
			t.Errorf("%v ends with %d, want %d", tt.err, got, tt.code)
		}
		if tt.err == nil || tt.code == exitInterrupted {
			continue
		}
		var out bytes.Buffer
		complain(&out, fmt.Errorf("wrapped: %w", tt.err), "dhruva log", false)
		if !strings.Contains(out.String(), "\nfix: ") || !strings.HasSuffix(out.String(), "\n") {
			t.Errorf("no fix for %v: %q", tt.err, out.String())
		}
		if strings.Contains(out.String(), "`dhruva --help`") {
			t.Errorf("the fix speaks of another command: %q", out.String())
		}
	}
}

func TestAnInterruptedCommandEndsWith130(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var errs bytes.Buffer
	if code := run(ctx, []string{"space", "list"}, strings.NewReader(""), io.Discard, &errs, noEnv(t)); code != exitInterrupted {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
}

func TestTextOfOthersCannotSteerTheTerminal(t *testing.T) {
	if got, want := oneLine("a\x1b[31m red\u202e\nb", 60), "a[31m red b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, s := range []string{"👨\u200d👩\u200d👧", "क्\u200dष", "می\u200cخواهم", "a\u200eb\u200fc", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"} {
		if got := plain(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
	if got, want := plain("a\u202ab\u202bc\u202cd\u202de\u202ef\u2066g\u2067h\u2068i\u2069j\u009bk\x07l\rm\x7fn\to\np"), "abcdefghijklmn\to\np"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := oneLine(strings.Repeat("é", 100), 10); got != strings.Repeat("é", 9)+"…" {
		t.Errorf("got %q", got)
	}
}

func TestOneThingIsNotSeveral(t *testing.T) {
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 2: "2 files"} {
		if got := drift(client.Worktree{Probe: &client.Probe{DirtyFiles: n}}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAPipeGetsWholeCells(t *testing.T) {
	var out bytes.Buffer
	long := strings.Repeat("/directory", 20)
	table(&out, "PATH", [][]string{{long}})
	if got := out.String(); got != "PATH\n"+long+"\n" {
		t.Errorf("got %q", got)
	}
}

func TestConfigPrecedence(t *testing.T) {
	env := map[string]string{"OPENAI_API_KEY": "from-env", "ANTHROPIC_API_KEY": "", "SMRITI_GENERIC_API_URL": "http://127.0.0.1:9/v1",
		"DHRUVA_GENERIC_ALLOW_PRIVATE": "true", "OPENAI_BASE_URL": "http://127.0.0.1:7373/v1"}
	path := writeFile(t, "providers.yaml", `
providers:
  openai: {enabled: true, api_key: from-file, default_model: m}
  anthropic: {api_key: from-file, base_url: https://api.example}
  openrouter: {enabled: false, api_key: k}
`)
	c, err := loadConfig(path, t.TempDir(), func(n string) string { return env[n] })
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, p := range c.Providers {
		got[name] = fmt.Sprintf("%s %s %t", p.APIKey, p.BaseURL, c.enabled(name))
	}
	want := map[string]string{
		"openai":     "from-env https://api.openai.com/v1 true",
		"anthropic":  "from-file https://api.example true",
		"openrouter": "k https://openrouter.ai/api/v1 false",
		"generic":    " http://127.0.0.1:9/v1 true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if c.defaultProvider() != "openai" {
		t.Errorf("default provider %s", c.defaultProvider())
	}
	if s := fmt.Sprintf("%v %+v %#v", c, c, c.Providers["openai"]); strings.Contains(s, "from-") {
		t.Errorf("a secret is printed: %s", s)
	}
}

// defaultConfig is what an installation without file and variables has.
func defaultConfig(t *testing.T) Config {
	t.Helper()
	c, err := loadConfig("", t.TempDir(), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEchoIsUsedOnlyWhenNamed(t *testing.T) {
	p, err := newProviders(defaultConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.find(""); !errors.Is(err, dhruva.ErrInvalid) {
		t.Errorf("no provider gives %v", err)
	}
	if _, err := p.find("openai"); !errors.Is(err, dhruva.ErrInvalid) {
		t.Errorf("a provider that is not enabled gives %v", err)
	}
	if got, err := p.find(echoName); err != nil || got.Name != echoName {
		t.Errorf("echo gives %v, %v", got, err)
	}
	c := defaultConfig(t)
	c.Chat.DefaultProvider = echoName
	if err := p.set(c); err != nil {
		t.Fatal(err)
	}
	if got, err := p.find(""); err != nil || got.Name != echoName {
		t.Errorf("echo as the default gives %v, %v", got, err)
	}
}

// Mock answers who names it, and is nobody's default: neither of the chat nor of
// background work.
func TestMockIsUsedOnlyWhenNamed(t *testing.T) {
	p, err := newProviders(defaultConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.find("mock"); err != nil || got.Name != "mock" || got.Generator == nil {
		t.Errorf("mock gives %v, %v", got, err)
	}
	var missing interface{ Advice() (code, hint string) }
	if got, err := p.background(); !errors.Is(err, dhruva.ErrInvalid) || !errors.As(err, &missing) {
		t.Errorf("without a slot: %v, %v", got, err)
	}
	for name, c := range map[string]Config{
		"chat":       {Chat: ChatConfig{DefaultProvider: "mock"}},
		"echo":       {Background: BackgroundConfig{Provider: echoName}},
		"background": {Background: BackgroundConfig{Provider: "background"}},
	} {
		if err := c.check(); !errors.Is(err, dhruva.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// S44: the slot for background work is independent of the chat's provider, and is
// openai with gpt-4o-mini where nothing else is said.
func TestS44_BackgroundSlot(t *testing.T) {
	off := false
	with := func(change func(*Config)) Config {
		c := defaultConfig(t)
		for _, name := range []string{"openai", "anthropic"} {
			pc := c.Providers[name]
			pc.APIKey, pc.DefaultModel = "sk-secret-of-"+name, name+"-default"
			c.Providers[name] = pc
		}
		c.Chat.DefaultProvider = echoName
		change(&c)
		return c
	}
	switched := func(c *Config) {
		pc := c.Providers["openai"]
		pc.Enabled = &off
		c.Providers["openai"] = pc
	}
	for name, w := range map[string]struct {
		config          Config
		provider, model string
	}{
		"default":    {with(func(*Config) {}), "openai", "gpt-4o-mini"},
		"model only": {with(func(c *Config) { c.Background.Model = "m" }), "openai", "m"},
		"provider":   {with(func(c *Config) { c.Background.Provider = "anthropic" }), "anthropic", "anthropic-default"},
		"both":       {with(func(c *Config) { c.Background = BackgroundConfig{"anthropic", "m"} }), "anthropic", "m"},
		"mock":       {with(func(c *Config) { c.Background.Provider = "mock" }), "mock", "mock-1"},
		"off":        {with(switched), "", ""},
		"no key":     {with(func(c *Config) { c.Background.Provider = "openrouter" }), "", ""},
	} {
		p, err := newProviders(w.config)
		if err != nil {
			t.Fatal(name, err)
		}
		got, err := p.background()
		if w.provider == "" {
			if !errors.Is(err, dhruva.ErrInvalid) || strings.Contains(err.Error(), "sk-secret") {
				t.Errorf("%s: %v, %v", name, got, err)
			}
			continue
		}
		if err != nil || got.Name != w.provider || got.DefaultModel != w.model || got.Generator == nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// §7.17, D21: a provider that is switched off is refused although it has a key, and
// the name of a section of the configuration is no provider.
func TestB17_DisabledProviderIsRefused(t *testing.T) {
	off, c := false, defaultConfig(t)
	pc := c.Providers["openai"]
	pc.APIKey, pc.Enabled = "sk-secret-secret", &off
	c.Providers["openai"] = pc
	p, err := newProviders(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"openai", "chat", "background", "background_intelligence"} {
		if got, err := p.find(name); !errors.Is(err, dhruva.ErrInvalid) || strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
