package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/internal/pgtest"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/memstore"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// openers are the stores that every test runs on. Under the race detector SQLite
// is left out: it is a translation of C with no goroutine of its own, many times
// slower there, and `make test` runs all of it without the detector.
var openers = func() map[string]func(testing.TB) dhruva.Store {
	all := map[string]func(testing.TB) dhruva.Store{"memory": func(testing.TB) dhruva.Store { return memstore.New() }}
	for name, place := range lasting {
		all[name] = func(t testing.TB) dhruva.Store { return opened(t, place(t)) }
	}
	if testkit.Raced {
		delete(all, "sqlite")
	}
	return all
}()

// lasting are the stores that can be opened again, by where a new one is.
var lasting = map[string]func(testing.TB) string{
	"sqlite":   func(t testing.TB) string { return filepath.Join(t.TempDir(), "dhruva.db") },
	"postgres": pgtest.URL,
}

func opened(t testing.TB, at string) dhruva.Store {
	t.Helper()
	s, err := sqlstore.Open(context.Background(), at, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rig is a ledger over a store, with one owner and a clock that moves on by a
// second at each reading unless it stands still.
type rig struct {
	testing.TB
	l     *ledger.Ledger
	store dhruva.Store
	keys  dhruva.Keyring
	owner dhruva.Principal

	mu    sync.Mutex
	now   time.Time
	still bool
}

const tenant dhruva.TenantID = "tenant-1"

func newRig(t testing.TB, store dhruva.Store) *rig {
	r := &rig{TB: t, store: store, now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	r.keys = auth.NewKeyring([]byte("0123456789abcdef0123456789abcdef"))
	r.owner = dhruva.Principal{Tenant: tenant, ID: "owner", Name: "Ana", Scopes: []dhruva.KeyScope{dhruva.Admin}}
	r.l = ledger.New(storetest.Rerun{Store: store}, r.keys)
	r.l.Now = r.clock
	return r
}

// each runs a test on every store, and checks all invariants at its end.
func each(t *testing.T, fn func(*rig)) {
	for name, open := range openers {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			r := newRig(t, store)
			fn(r)
			r.check()
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.still {
		r.now = r.now.Add(time.Second)
	}
	return r.now
}

func (r *rig) ctx() context.Context { return r.as(r.owner) }

func (r *rig) as(p dhruva.Principal) context.Context {
	return dhruva.WithPrincipal(context.Background(), p)
}

// with is the owner's context with other rights.
func (r *rig) with(scopes ...dhruva.KeyScope) context.Context {
	p := r.owner
	p.Scopes = scopes
	return r.as(p)
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// is fails unless err wraps want.
func (r *rig) is(err, want error) {
	r.Helper()
	if !errors.Is(err, want) {
		r.Fatalf("error %v, want %v", err, want)
	}
}

func must[T any](r *rig) func(T, error) T {
	return func(v T, err error) T {
		r.Helper()
		r.must(err)
		return v
	}
}

func (r *rig) space(name string) dhruva.Space {
	r.Helper()
	return must[dhruva.Space](r)(r.l.CreateSpace(r.ctx(), ledger.SpaceInput{Name: name}))
}

func (r *rig) session(space dhruva.SpaceID) dhruva.Session {
	r.Helper()
	return must[dhruva.Session](r)(r.l.CreateSession(r.ctx(), ledger.SessionInput{Space: space}))
}

func (r *rig) begin(id dhruva.SessionID) ledger.Began {
	r.Helper()
	return must[ledger.Began](r)(r.l.Begin(r.ctx(), id))
}

func exchange(user, assistant string) ledger.Exchange {
	return ledger.Exchange{User: ledger.Unit{Text: user}, Assistant: &ledger.Unit{Text: assistant}, Provider: "echo", Model: "echo-1"}
}

// say stores an exchange.
func (r *rig) say(id dhruva.SessionID, user, assistant string) []dhruva.Turn {
	r.Helper()
	return must[[]dhruva.Turn](r)(r.l.AppendExchange(r.ctx(), r.begin(id), exchange(user, assistant)))
}

// talk stores n exchanges with numbered sentences.
func (r *rig) talk(id dhruva.SessionID, topic string, n int) {
	r.Helper()
	for i := range n {
		r.say(id, fmt.Sprintf("%s question number %d", topic, i+1), fmt.Sprintf("%s answer number %d", topic, i+1))
	}
}

func (r *rig) commit(in ledger.CommitInput) dhruva.Checkpoint {
	r.Helper()
	return must[dhruva.Checkpoint](r)(r.l.Commit(r.ctx(), in))
}

// save saves a checkpoint from a session.
func (r *rig) save(id dhruva.SessionID, title string) dhruva.Checkpoint {
	r.Helper()
	return r.commit(ledger.CommitInput{Session: id, Title: title, Summary: title + " in a few words"})
}

func (r *rig) resolve(id dhruva.SessionID, req ledger.ContextRequest) ledger.Context {
	r.Helper()
	return must[ledger.Context](r)(r.l.Resolve(r.ctx(), id, req))
}

// seqs are the numbers of a context's turns.
func seqs(turns []dhruva.Turn) []int64 {
	out := []int64{}
	for _, t := range turns {
		out = append(out, t.Seq)
	}
	return out
}

func hashes(cs []dhruva.Checkpoint) []dhruva.Hash {
	out := []dhruva.Hash{}
	for _, c := range cs {
		out = append(out, c.Hash)
	}
	return out
}

func span(from, through int64) []int64 {
	out := []int64{}
	for i := from; i <= through; i++ {
		out = append(out, i)
	}
	return out
}

func ptr[T any](v T) *T { return &v }

// update writes rows behind the ledger's back.
func (r *rig) update(space dhruva.SpaceID, fn func(dhruva.Tx) error) {
	r.Helper()
	r.must(r.store.Update(context.Background(), []dhruva.Scope{dhruva.SpaceScope(r.owner.Tenant, space)}, fn))
}

func (r *rig) view(fn func(dhruva.Tx) error) {
	r.Helper()
	r.must(r.store.View(context.Background(), r.owner.Scope(), fn))
}

// clear does what a clear does first: it advances a space's generation, and
// takes the sources of the one that ended.
func (r *rig) clear(space dhruva.SpaceID) {
	r.Helper()
	r.update(space, func(tx dhruva.Tx) error {
		e, err := tx.Epoch(space)
		if err != nil {
			return err
		}
		rows, err := tx.ListSources(dhruva.SourceQuery{Space: space, Generation: e.Generation, Page: dhruva.Page{Limit: 1000}})
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := tx.DropSource(space, e.Generation, row.ID); err != nil {
				return err
			}
		}
		e.Fence, e.Generation = e.Generation, e.Generation+1
		return tx.PutEpoch(e)
	})
}

func (r *rig) tombstone(space dhruva.SpaceID, generation int64, id dhruva.SourceID) {
	r.Helper()
	r.update(space, func(tx dhruva.Tx) error {
		return tx.PutTombstone(dhruva.Tombstone{Space: space, Generation: generation, Source: id, State: "completed", CreatedAt: r.now})
	})
}

// check holds the invariants of the whole store that the ledger answers for.
func (r *rig) check() {
	r.Helper()
	r.must(storetest.Check(context.Background(), r.store, r.owner.Scope()))
	r.view(func(tx dhruva.Tx) error {
		sessions, err := tx.ListSessions(dhruva.SessionQuery{Page: dhruva.Page{Limit: 1000}})
		for _, s := range sessions {
			r.checkSession(tx, s)
		}
		return err
	})
	spaces, _, err := r.l.ListSpaces(r.ctx(), dhruva.Page{Limit: 1000})
	r.must(err)
	for _, s := range spaces {
		rep, err := r.l.Verify(r.ctx(), s.ID)
		r.must(err)
		if len(rep.Failures) > 0 {
			r.Errorf("verify %s: %v", s.Name, rep.Failures)
		}
		r.checkSources(s.ID)
		r.checkFeed(s.ID)
	}
	r.checkAudit()
}

func (r *rig) checkSession(tx dhruva.Tx, s dhruva.Session) {
	r.Helper()
	turns, err := tx.ListTurns(dhruva.TurnQuery{Session: s.ID})
	r.must(err)
	if int64(len(turns)) != s.LastSeq {
		r.Errorf("session %s: %d turns, last number %d", s.ID, len(turns), s.LastSeq)
	}
	for i, t := range turns {
		if t.Seq != int64(i+1) || t.Parent >= t.Seq || t.BeganAfter >= t.Seq || t.Space != s.Space {
			r.Errorf("session %s: turn %d: %+v", s.ID, i+1, t)
		}
	}
}

// checkSources: every source is signed, not tombstoned, and a ready one can be
// read at a place that says it.
func (r *rig) checkSources(space dhruva.SpaceID) {
	r.Helper()
	r.view(func(tx dhruva.Tx) error {
		e, err := tx.Epoch(space)
		if err != nil {
			return err
		}
		rows, err := tx.ListSources(dhruva.SourceQuery{Space: space, Generation: e.Generation, Page: dhruva.Page{Limit: 1000}})
		for _, src := range rows {
			if !dhruva.VerifySource(r.keys, src) {
				r.Errorf("source %s is not signed", src.ID)
			}
			text, _, err := dhruva.SourceText(tx, src)
			if src.State == dhruva.SourceReady && (err != nil || dhruva.DigestText(text) != src.Digest) {
				r.Errorf("source %s: text %q: %v", src.ID, text, err)
			}
		}
		return err
	})
}

// checkFeed: every source and checkpoint was announced, without gaps. What was
// compacted away is not looked for.
func (r *rig) checkFeed(space dhruva.SpaceID) {
	r.Helper()
	var tail int64
	r.view(func(tx dhruva.Tx) error {
		e, err := tx.Epoch(space)
		tail = e.Tail
		return err
	})
	announced, next := map[string]bool{}, tail+1
	for c, err := range r.store.Changes(context.Background(), r.owner.In(space), tail) {
		r.must(err)
		if c.Seq != next {
			r.Errorf("change %d, want %d", c.Seq, next)
		}
		announced[c.Ref], next = true, c.Seq+1
	}
	views, _, err := r.l.ListSources(r.ctx(), dhruva.SourceQuery{Space: space, Page: dhruva.Page{Limit: 1000}})
	r.must(err)
	for _, v := range views {
		if tail == 0 && !announced[string(v.ID)] {
			r.Errorf("source %s was never announced", v.ID)
		}
	}
}
