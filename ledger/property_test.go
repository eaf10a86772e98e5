package ledger_test

import (
	"errors"
	"flag"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/ledger"
)

// machine drives a ledger with random acts and keeps what must never change.
type machine struct {
	*rig
	t        *rapid.T
	spaces   []dhruva.SpaceID
	sessions []dhruva.SessionID
	flying   []flight
	// mounts counts a session's mounts; atMount is the mount that a stored text
	// saw when its request began, 0 for none.
	mounts  map[dhruva.SessionID]int
	atMount map[string]int
	turns   map[dhruva.SessionID][]dhruva.Turn
	saved   map[dhruva.Hash]dhruva.Checkpoint
	heads   map[string]dhruva.Hash
	n       int
}

type flight struct {
	began ledger.Began
	mount int
}

func (m *machine) session() dhruva.SessionID {
	return rapid.SampledFrom(m.sessions).Draw(m.t, "session")
}

func (m *machine) checkpoint() (dhruva.Checkpoint, bool) {
	rows, _, err := m.l.ListCheckpoints(m.ctx(), dhruva.CheckpointQuery{Space: rapid.SampledFrom(m.spaces).Draw(m.t, "space"), Page: dhruva.Page{Limit: 1000}})
	m.must(err)
	if len(rows) == 0 {
		return dhruva.Checkpoint{}, false
	}
	return rapid.SampledFrom(rows).Draw(m.t, "checkpoint"), true
}

// mountOf is the number of a session's present mount, 0 for none.
func (m *machine) mountOf(id dhruva.SessionID) int {
	if must[dhruva.Session](m.rig)(m.l.Session(m.ctx(), id)).Mount == nil {
		return 0
	}
	return m.mounts[id]
}

func (m *machine) open() {
	space := rapid.SampledFrom(append(m.spaces, "")).Draw(m.t, "in")
	m.sessions = append(m.sessions, m.rig.session(space).ID)
}

func (m *machine) begins() {
	id := m.session()
	m.flying = append(m.flying, flight{m.begin(id), m.mountOf(id)})
}

func (m *machine) lands() {
	if len(m.flying) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.flying)-1).Draw(m.t, "flight")
	f := m.flying[i]
	m.flying = append(m.flying[:i:i], m.flying[i+1:]...)
	m.n++
	in := exchange(fmt.Sprintf("question number %d here", m.n), fmt.Sprintf("answer number %d here", m.n))
	turns, err := m.l.AppendExchange(m.ctx(), f.began, in)
	if errors.Is(err, dhruva.ErrFenced) {
		return
	}
	m.must(err)
	for _, t := range turns {
		m.atMount[t.Content] = f.mount
	}
}

func (m *machine) mount() {
	id := m.session()
	c, ok := m.checkpoint()
	if !ok {
		return
	}
	_, err := m.l.Mount(m.ctx(), id, c.Hash.Short(), rapid.SampledFrom([]int{0, 1, 3}).Draw(m.t, "depth"))
	if err == nil {
		m.mounts[id]++
	} else if !errors.Is(err, dhruva.ErrNotFound) && !errors.Is(err, dhruva.ErrInvalid) { // elsewhere, FRESH
		m.Fatal(err)
	}
}

func (m *machine) commits() {
	in := ledger.CommitInput{Title: "t", Summary: fmt.Sprintf("summary number %d here", m.n)}
	switch rapid.IntRange(0, 3).Draw(m.t, "how") {
	case 0:
		in.Space = rapid.SampledFrom(m.spaces).Draw(m.t, "into")
	default:
		in.Session = m.session()
	}
	if rapid.Bool().Draw(m.t, "branch") {
		in.Branch = rapid.SampledFrom([]string{"main", "a", "b"}).Draw(m.t, "name")
	}
	if c, ok := m.checkpoint(); ok && rapid.IntRange(0, 4).Draw(m.t, "stated") == 0 {
		in.Parents = []string{c.Hash.String()}
	}
	in.NewBranch = rapid.IntRange(0, 5).Draw(m.t, "new") == 0
	c, err := m.l.Commit(m.ctx(), in)
	switch {
	case err == nil:
		key := string(c.Space) + "/" + c.Branch
		if old, ok := m.heads[key]; ok && c.Parent() != old {
			m.Fatalf("branch %s moved from %s to a child of %s", key, old.Short(), c.Parent().Short())
		}
	case !errors.Is(err, dhruva.ErrConflict) && !errors.Is(err, dhruva.ErrInvalid) && !errors.Is(err, dhruva.ErrNotFound):
		m.Fatal(err)
	}
}

func (m *machine) forks() {
	if c, ok := m.checkpoint(); ok {
		f := must[dhruva.Session](m.rig)(m.l.Fork(m.ctx(), ledger.ForkInput{Checkpoint: c.Hash.String()}))
		m.sessions = append(m.sessions, f.ID)
	}
}

func (m *machine) attaches() {
	_, err := m.l.Attach(m.ctx(), m.session(), rapid.SampledFrom(m.spaces).Draw(m.t, "to"))
	if err != nil && !errors.Is(err, dhruva.ErrConflict) {
		m.Fatal(err)
	}
}

func (m *machine) captures() {
	var texts []string
	for range rapid.IntRange(1, 3).Draw(m.t, "exchanges") * 2 {
		texts = append(texts, rapid.SampledFrom([]string{"the first thing said", "the second thing said", "ok", "the third thing said"}).Draw(m.t, "text"))
	}
	in := call(rapid.SampledFrom(m.spaces).Draw(m.t, "for"), texts...)
	in.Hint = rapid.SampledFrom([]string{"", "", "h"}).Draw(m.t, "hint")
	m.capture(in)
}

func (m *machine) remembers() {
	in := ledger.RememberInput{Space: rapid.SampledFrom(m.spaces).Draw(m.t, "note"), Text: rapid.SampledFrom([]string{"the first thing said", "a note"}).Draw(m.t, "text")}
	in.Authority = rapid.SampledFrom([]string{"", "user"}).Draw(m.t, "authority")
	must[dhruva.Source](m.rig)(m.l.Remember(m.ctx(), in))
}

func (m *machine) deletes() {
	if len(m.sessions) < 3 {
		return
	}
	i := rapid.IntRange(0, len(m.sessions)-1).Draw(m.t, "gone")
	id := m.sessions[i]
	m.must(m.l.DeleteSession(m.ctx(), id))
	m.sessions = append(m.sessions[:i:i], m.sessions[i+1:]...)
	kept := m.flying[:0]
	for _, f := range m.flying {
		if f.began.Session.ID != id {
			kept = append(kept, f)
		}
	}
	m.flying = kept
}

// holds is everything that must be true between two acts.
func (m *machine) holds() {
	m.check()
	for _, id := range m.sessions {
		m.appendOnly(id)
		m.isolated(id)
	}
	for _, space := range m.spaces {
		m.immutable(space)
	}
}

// appendOnly is S1.
func (m *machine) appendOnly(id dhruva.SessionID) {
	now := must[[]dhruva.Turn](m.rig)(m.l.ListTurns(m.ctx(), id, 0, 1000))
	for i, old := range m.turns[id] {
		old.Space = now[i].Space // follows its session
		if diff := cmp.Diff(old, now[i]); diff != "" {
			m.Fatalf("turn changed: %s", diff)
		}
	}
	m.turns[id] = now
}

// isolated is S25 to S29 against an oracle: while mounted, a turn is in the
// context if and only if its request began under this very mount.
func (m *machine) isolated(id dhruva.SessionID) {
	c := m.resolve(id, ledger.ContextRequest{Depth: rapid.SampledFrom([]int{0, 1, 3}).Draw(m.t, "depth")})
	in := map[int64]bool{}
	for _, t := range c.Turns {
		in[t.Seq] = true
		if t.Session != id || t.Seq <= c.Base {
			m.Fatalf("turn %d of %s in a window after %d of %s", t.Seq, t.Session, c.Base, id)
		}
	}
	for _, cp := range c.Checkpoints {
		if cp.Space != c.Session.Space {
			m.Fatalf("checkpoint of %s in a context of %s", cp.Space, c.Session.Space)
		}
	}
	if c.Mode != dhruva.ModeMounted {
		return
	}
	for _, t := range m.turns[id] {
		if under := m.atMount[t.Content] == m.mounts[id]; under != in[t.Seq] {
			m.Fatalf("turn %d began under mount %d of %d, in the context: %v (base %d)", t.Seq, m.atMount[t.Content], m.mounts[id], in[t.Seq], c.Base)
		}
	}
}

// immutable is S2.
func (m *machine) immutable(space dhruva.SpaceID) {
	rows, _, err := m.l.ListCheckpoints(m.ctx(), dhruva.CheckpointQuery{Space: space, Page: dhruva.Page{Limit: 1000}})
	m.must(err)
	for _, c := range rows {
		if old, ok := m.saved[c.Hash]; ok && !cmp.Equal(old, c) {
			m.Fatalf("checkpoint changed: %s", cmp.Diff(old, c))
		}
		m.saved[c.Hash] = c
	}
	for _, b := range must[[]dhruva.Branch](m.rig)(m.l.Branches(m.ctx(), space)) {
		m.heads[string(space)+"/"+b.Name] = b.Head
	}
}

// TestLedgerProperties runs random acts; after each one all invariants hold.
func TestLedgerProperties(t *testing.T) {
	for name, open := range openers {
		t.Run(name, func(t *testing.T) {
			switch name { // where every act costs a commit
			case "sqlite":
				checks(t, testkit.Count(3, 50, 1000))
			case "postgres":
				checks(t, testkit.Count(2, 15, 300))
			}
			store, runs := open(t), 0
			rapid.Check(t, func(rt *rapid.T) {
				runs++
				(&machine{rig: newRig(t, store), t: rt}).run(t, dhruva.TenantID(fmt.Sprint("run-", runs)))
			})
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// checks sets how many runs rapid makes in this test.
func checks(t *testing.T, n int) {
	f := flag.Lookup("rapid.checks")
	old := f.Value.String()
	if err := f.Value.Set(fmt.Sprint(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Value.Set(old) })
}

// run is one run, in a tenant of its own.
func (m *machine) run(t *testing.T, id dhruva.TenantID) {
	m.owner.Tenant = id
	m.mounts, m.atMount, m.turns = map[dhruva.SessionID]int{}, map[string]int{}, map[dhruva.SessionID][]dhruva.Turn{}
	m.saved, m.heads = map[dhruva.Hash]dhruva.Checkpoint{}, map[string]dhruva.Hash{}
	m.TB, m.still = failing{t, m.t}, rapid.Bool().Draw(m.t, "still")
	m.spaces = []dhruva.SpaceID{m.space("one").ID, m.space("two").ID}
	m.sessions = []dhruva.SessionID{m.rig.session(m.spaces[0]).ID, m.rig.session("").ID}
	act := func(fn func()) func(*rapid.T) { return func(*rapid.T) { fn() } }
	m.t.Repeat(map[string]func(*rapid.T){
		"": act(m.holds), "open": act(m.open), "begin": act(m.begins), "begin too": act(m.begins), "land": act(m.lands), "land too": act(m.lands),
		"mount": act(m.mount), "unmount": act(func() { m.must(second(m.l.Unmount(m.ctx(), m.session()))) }),
		"commit": act(m.commits), "fork": act(m.forks), "attach": act(m.attaches), "capture": act(m.captures),
		"remember": act(m.remembers), "delete": act(m.deletes),
	})
}

// failing reports through rapid, which then shrinks.
type failing struct {
	testing.TB
	t *rapid.T
}

func (f failing) Helper()                      {}
func (f failing) Fatal(args ...any)            { f.t.Fatal(args...) }
func (f failing) Fatalf(s string, args ...any) { f.t.Fatalf(s, args...) }
func (f failing) Error(args ...any)            { f.t.Error(args...) }
func (f failing) Errorf(s string, args ...any) { f.t.Errorf(s, args...) }
