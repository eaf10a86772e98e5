package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/memory"
	"github.com/dhruva-memory/dhruva/serve/api"
)

// connect finds whom a command talks to: the server it names, the one that
// serves the data directory, else the store in this process through the same
// handlers. done ends what was begun.
func (p *program) connect(ctx context.Context) (c *client.Client, done func() error, err error) {
	done = func() error { return nil }
	key := or(p.flags.key, p.env("DHRUVA_KEY"))
	if u := or(p.flags.url, p.env("DHRUVA_URL")); u != "" {
		c, err = p.remote(u, key)
		return c, done, err
	}
	dir, err := p.dataDir()
	if err != nil {
		return nil, done, err
	}
	s, err := running(ctx, dir)
	if err == nil {
		c, err = p.local(s.URL, dir, key)
		return c, done, err
	}
	if !errors.Is(err, dhruva.ErrNotFound) {
		return nil, done, err
	}
	return p.inProcess(ctx, dir, key)
}

// remote is a server that was named. The local administrator key goes to this
// machine only.
func (p *program) remote(base, key string) (*client.Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, withFix(usage("--url is not an http or https URL"), "give one such as http://127.0.0.1:7373")
	}
	base = strings.TrimSuffix(base, "/")
	if key != "" {
		return &client.Client{BaseURL: base, Key: key}, nil
	}
	if !loopback(u.Hostname()) {
		return nil, withFix(fmt.Errorf("%w: no key for %s", dhruva.ErrUnauthenticated, u.Host), "set DHRUVA_KEY to a key of that server")
	}
	dir, err := p.dataDir()
	if err != nil {
		return nil, err
	}
	return p.local(base, dir, "")
}

// local is a server of this machine.
func (p *program) local(base, dir, key string) (*client.Client, error) {
	if key == "" {
		var err error
		if key, err = adminKey(dir); err != nil {
			return nil, err
		}
	}
	return &client.Client{BaseURL: base, Key: key}, nil
}

// inProcess opens the store here.
func (p *program) inProcess(ctx context.Context, dir, key string) (*client.Client, func() error, error) {
	none := func() error { return nil }
	config, err := loadConfig("", dir, p.env)
	if err != nil {
		return nil, none, err
	}
	log := slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	in, err := open(ctx, dir, "", config, log)
	if err != nil {
		return nil, none, err
	}
	if key == "" {
		if key, err = adminKey(dir); err != nil {
			return nil, none, errors.Join(err, in.closeSoon())
		}
	}
	mux := http.NewServeMux()
	mux.Handle(client.Prefix+"/", in.api())
	rt := inProcess{api.Front{Log: log}.Wrap(mux)}
	return &client.Client{BaseURL: "http://localhost", Key: key, HTTP: &http.Client{Transport: rt, CheckRedirect: client.NoRedirect}}, in.closeSoon, nil
}

func adminKey(dir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dir, auth.AdminKeyFile))
	if err != nil {
		return "", withFix(fmt.Errorf("%w: administrator key: %w", dhruva.ErrUnauthenticated, err), "set DHRUVA_KEY, or run the command as the user who serves %s", dir)
	}
	return strings.TrimSpace(string(b)), nil
}

// with runs a command that talks to the API.
func (p *program) with(ctx context.Context, f func(*client.Client) error) error {
	c, done, err := p.connect(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(c), done())
}

// remoteMemory gives MCP its verbs over the API.
type remoteMemory struct{ c *client.Client }

// RecallIn recalls through the API.
func (m remoteMemory) RecallIn(ctx context.Context, in memory.RecallInput) (dhruva.Recall, error) {
	r, err := m.c.Recall(ctx, in.Space, client.RecallInput{Query: in.Query, TopK: in.TopK, AsOf: in.AsOf})
	if err != nil {
		return dhruva.Recall{}, err
	}
	out := dhruva.Recall{Status: r.Status, Reason: r.Reason, Answer: r.Answer, Searched: r.Searched, Receipt: r.Receipt}
	for _, e := range r.Evidence {
		out.Evidence = append(out.Evidence, dhruva.Evidence{
			Token: e.Token, Source: e.Source, Class: e.Class, Role: e.Role, Trust: e.Trust, Time: e.Time, Session: e.Session, Seq: e.Seq,
			Start: e.Span.Start, End: e.Span.End, Snippet: e.Snippet, Score: e.Score, Why: e.Why,
		})
	}
	return out, nil
}

// Read reads through the API.
func (m remoteMemory) Read(ctx context.Context, tokens []string) ([]dhruva.ReadResult, error) {
	r, err := m.c.Read(ctx, tokens)
	if err != nil {
		return nil, err
	}
	var out []dhruva.ReadResult
	for _, x := range r.Results {
		out = append(out, dhruva.ReadResult{
			Found: x.Status == "ok", Text: x.Text, Source: x.Source, Start: x.Span.Start, End: x.Span.End, Role: x.Role, Time: x.Time,
		})
	}
	return out, nil
}

// RememberIn remembers through the API.
func (m remoteMemory) RememberIn(ctx context.Context, in memory.RememberInput) (memory.Remembered, error) {
	r, err := m.c.Remember(ctx, in.Space, client.RememberInput{Text: in.Text, SourceID: dhruva.SourceID(in.SourceID), Authority: in.Authority})
	if err != nil {
		return memory.Remembered{}, err
	}
	return memory.Remembered{Source: dhruva.Source{ID: r.Source, Class: r.Class, State: r.State, HeldFor: r.HeldFor}, Receipt: r.Receipt}, nil
}
