package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/ledger"
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
		p.asked, p.named = u, true
		return c, done, err
	}
	dir, err := p.dataDir()
	if err != nil {
		return nil, done, err
	}
	s, err := running(ctx, dir, func(s string) { p.warn("%s", s) })
	if err == nil {
		if err = p.ensureAdmin(ctx, s, dir, key); err == nil {
			c, err = p.local(s.URL, dir, key)
		}
		p.asked = s.URL
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
		p.keyFile = filepath.Join(dir, auth.AdminKeyFile)
	}
	return &client.Client{BaseURL: base, Key: key}, nil
}

// ensureAdmin makes the administrator key anew when its file is gone beside a
// server that runs: starting the server again would do the same.
func (p *program) ensureAdmin(ctx context.Context, s serving, dir, key string) error {
	_, err := os.Stat(filepath.Join(dir, auth.AdminKeyFile))
	if key != "" || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	at, err := p.storeURL(dir, "")
	if err != nil {
		return err
	}
	if path, err := storePath(dir, at); err != nil || s.Store != "" && s.Store != bareStore(path) || s.Store == inMemory {
		return withFix(fmt.Errorf("%w: %s is gone from %s", dhruva.ErrUnauthenticated, auth.AdminKeyFile, dir), "start the server again: it makes a new one")
	}
	in, err := open(ctx, dir, at, p.providersOrFault(dir), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	return in.closeSoon()
}

// inProcess opens the store here. What a command leaves to be done in the
// background is done before it ends, by a command that stays while it stays.
func (p *program) inProcess(ctx context.Context, dir, key string) (*client.Client, func() error, error) {
	none := func() error { return nil }
	if there, err := installed(dir); err != nil || !there && !p.makes {
		return nil, none, firstError(err, withFix(fmt.Errorf("%w: no installation at %s; start one with dhruva serve --data %s", dhruva.ErrNotFound, dir, dir),
			"correct --data or DHRUVA_DATA if another directory was meant"))
	}
	log := slog.New(untilEnded{slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}), ctx})
	at, err := p.storeURL(dir, "")
	if err != nil {
		return nil, none, err
	}
	in, err := open(ctx, dir, at, p.providersOrFault(dir), log)
	if err != nil {
		return nil, none, err
	}
	if key == "" {
		if key, err = adminKey(dir); err != nil {
			return nil, none, errors.Join(err, in.closeSoon())
		}
		p.keyFile = filepath.Join(dir, auth.AdminKeyFile)
	}
	done := func() error { return errors.Join(in.settle(), in.closeSoon()) }
	if p.stays {
		in.work()
		done = in.closeSoon
	}
	in.worktrees = p.worktrees(in, nil, true)
	mux := http.NewServeMux()
	mux.Handle(client.Prefix+"/", in.api())
	rt := inProcess{api.Front{Log: log}.Wrap(mux)}
	return &client.Client{BaseURL: "http://localhost", Key: key, HTTP: &http.Client{Transport: rt, CheckRedirect: client.NoRedirect}}, done, nil
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
	if p.flags.call != "" {
		c = c.Idempotent(p.flags.call)
		p.replayed = c.Replayed
	}
	err = p.reached(f(c))
	if err == nil && c.Replayed() {
		p.say("done before with this --idempotency-key; nothing was done now")
	}
	if errors.Is(err, dhruva.ErrUnauthenticated) && p.keyFile != "" {
		err = withFix(err, "delete %s and run any command: a new one is made", p.keyFile)
	}
	return errors.Join(err, done())
}

// reached says what to do where a server did not answer, unless the command knows
// better.
func (p *program) reached(err error) error {
	var problem *client.Problem
	var f *fixed
	switch {
	case p.asked == "" || !errors.Is(err, dhruva.ErrUnavailable) || errors.As(err, &problem) || errors.As(err, &f):
		return err
	case p.named:
		return withFix(err, "check that the address %s is right (--url, DHRUVA_URL), and that a server runs there", p.asked)
	}
	return withFix(err, "the server at %s has ended, or does not answer: see its log, start `dhruva serve` again, and repeat the command", p.asked)
}

// untilEnded is a log that says nothing any more when the command was interrupted:
// what fails then, fails because of that.
type untilEnded struct {
	slog.Handler
	ctx context.Context
}

// Enabled while the command goes on.
func (u untilEnded) Enabled(ctx context.Context, l slog.Level) bool {
	return u.ctx.Err() == nil && u.Handler.Enabled(ctx, l)
}

// WithAttrs keeps the end.
func (u untilEnded) WithAttrs(a []slog.Attr) slog.Handler {
	return untilEnded{u.Handler.WithAttrs(a), u.ctx}
}

// WithGroup keeps the end.
func (u untilEnded) WithGroup(name string) slog.Handler {
	return untilEnded{u.Handler.WithGroup(name), u.ctx}
}

// remoteMemory gives MCP its verbs over the API. space is meant where a call
// names none; "" is the key's own.
type remoteMemory struct {
	c     *client.Client
	space string
}

// RecallIn recalls through the API.
func (m remoteMemory) RecallIn(ctx context.Context, in memory.RecallInput) (dhruva.Recall, error) {
	r, err := m.c.Recall(ctx, or(in.Space, m.space), client.RecallInput{Query: in.Query, TopK: in.TopK, AsOf: in.AsOf})
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
	c := m.c
	if in.IdempotencyKey != "" {
		c = c.Idempotent(in.IdempotencyKey)
	}
	r, err := c.Remember(ctx, or(in.Space, m.space), client.RememberInput{Text: in.Text, SourceID: dhruva.SourceID(in.SourceID), Authority: in.Authority})
	if err != nil {
		return memory.Remembered{}, callError(err)
	}
	return memory.Remembered{
		Source: dhruva.Source{ID: r.Source, Class: r.Class, State: r.State, HeldFor: r.HeldFor}, Receipt: r.Receipt, Redactions: r.Redactions, Replayed: c.Replayed(),
	}, nil
}

// callError gives the API's refusals of an idempotency key the form in which the
// ledger makes them.
func callError(err error) error {
	var p *client.Problem
	if !errors.As(err, &p) {
		return err
	}
	switch p.Code {
	case "call_running":
		return &ledger.Running{After: p.RetryAfter}
	case "key_reused":
		return &ledger.Reused{}
	}
	return err
}
