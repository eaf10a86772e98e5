package ledger_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

func (r *rig) wantContext(c ledger.Context, mode dhruva.Mode, badge string, turns []int64, checkpoints ...dhruva.Checkpoint) {
	r.Helper()
	if c.Mode != mode || c.Badge != badge {
		r.Errorf("mode %s, badge %q, want %s, %q", c.Mode, c.Badge, mode, badge)
	}
	if diff := cmp.Diff(turns, seqs(c.Turns)); diff != "" {
		r.Errorf("turns: %s", diff)
	}
	if diff := cmp.Diff(hashes(checkpoints), hashes(c.Checkpoints)); diff != "" {
		r.Errorf("checkpoints: %s", diff)
	}
	if c.Base != c.Window.Base || c.Window.Session != c.Session.ID || c.Window.Through != c.Session.LastSeq && c.Session.Tip == 0 {
		r.Errorf("window %+v of %+v", c.Window, c.Session)
	}
}

func TestS18_D5_Fresh(t *testing.T) {
	each(t, func(r *rig) {
		s := r.session("")
		r.talk(s.ID, "private", 2)
		r.wantContext(r.resolve(s.ID, ledger.ContextRequest{}), dhruva.ModeFresh, "FRESH", span(1, 4))
		_, err := r.l.Resolve(r.ctx(), s.ID, ledger.ContextRequest{Mount: &ledger.Pair{Checkpoint: strings.Repeat("a", 64), Base: ptr[int64](0)}})
		r.is(err, dhruva.ErrInvalid) // D5
		_, err = r.l.Mount(r.ctx(), s.ID, strings.Repeat("a", 64), 1)
		r.is(err, dhruva.ErrInvalid)
		_, err = r.l.Commit(r.ctx(), ledger.CommitInput{Session: s.ID, Title: "x"})
		r.is(err, dhruva.ErrInvalid)
	})
}

// S19, contracts 21: N along the branch's chain, oldest first.
func TestS19Head(t *testing.T) {
	each(t, func(r *rig) {
		s := r.session(r.space("work").ID)
		r.wantContext(r.resolve(s.ID, ledger.ContextRequest{}), dhruva.ModeHead, "HEAD · none", []int64{})
		var cs []dhruva.Checkpoint
		for _, title := range []string{"one", "two", "three", "four"} {
			r.talk(s.ID, title, 1)
			cs = append(cs, r.save(s.ID, title))
		}
		r.talk(s.ID, "after", 1)
		badge := "HEAD · " + cs[3].Hash.Short()
		r.wantContext(r.resolve(s.ID, ledger.ContextRequest{}), dhruva.ModeHead, badge, span(9, 10), cs[3])
		r.wantContext(r.resolve(s.ID, ledger.ContextRequest{Depth: 3}), dhruva.ModeHead, badge, span(9, 10), cs[1:]...)
		_, err := r.l.Resolve(r.ctx(), s.ID, ledger.ContextRequest{Depth: 2})
		r.is(err, dhruva.ErrInvalid)
	})
}

// S20, S26, D8, state-plane 7.9: the boundary is a number, and only a
// checkpoint saved from this session bounds its turns.
func TestS20_B9_D8_HeadWindow(t *testing.T) {
	each(t, func(r *rig) {
		r.still = true // every time is equal
		sp := r.space("work")
		s, other := r.session(sp.ID), r.session(sp.ID)
		r.talk(s.ID, "mine", 2)
		c1 := r.save(s.ID, "one")
		r.talk(s.ID, "mine after", 1)
		r.wantContext(r.resolve(s.ID, ledger.ContextRequest{}), dhruva.ModeHead, "HEAD · "+c1.Hash.Short(), span(5, 6), c1)
		r.talk(other.ID, "theirs", 1)
		c2 := r.save(other.ID, "two")
		got := r.resolve(s.ID, ledger.ContextRequest{Depth: 3})
		r.wantContext(got, dhruva.ModeHead, "HEAD · "+c2.Hash.Short(), span(5, 6), c1, c2)
		if !strings.Contains(got.LeftOut, c2.Hash.Short()) || !strings.Contains(got.LeftOut, "another session") {
			r.Errorf("left out: %q", got.LeftOut)
		}
		// With one checkpoint only the other's is resolved, and nothing bounds.
		r.wantContext(r.resolve(s.ID, ledger.ContextRequest{}), dhruva.ModeHead, "HEAD · "+c2.Hash.Short(), span(1, 6), c2)
	})
}

// S21: ancestors of the mounted checkpoint, whatever came later.
func TestS21Mounted(t *testing.T) {
	each(t, func(r *rig) {
		s := r.session(r.space("work").ID)
		var cs []dhruva.Checkpoint
		for _, title := range []string{"one", "two", "three", "four", "five"} {
			r.talk(s.ID, title, 1)
			cs = append(cs, r.save(s.ID, title))
		}
		m := must[dhruva.Session](r)(r.l.Mount(r.ctx(), s.ID, cs[3].Hash.Short(), 3))
		if m.Mount == nil || m.Mount.Base != 10 || m.Mount.Depth != 3 || m.Mount.Checkpoint != cs[3].Hash {
			r.Fatalf("%+v", m.Mount)
		}
		badge := "MOUNTED · " + cs[3].Hash.Short()
		r.wantContext(r.resolve(s.ID, ledger.ContextRequest{}), dhruva.ModeMounted, badge, []int64{}, cs[1], cs[2], cs[3])
		r.wantContext(r.resolve(s.ID, ledger.ContextRequest{Depth: 1}), dhruva.ModeMounted, badge, []int64{}, cs[3])
		r.must(second(r.l.Mount(r.ctx(), s.ID, string(cs[0].ID), 0)))
		r.wantContext(r.resolve(s.ID, ledger.ContextRequest{Depth: 3}), dhruva.ModeMounted, "MOUNTED · "+cs[0].Hash.Short(), []int64{}, cs[0])
		r.must(second(r.l.Unmount(r.ctx(), s.ID)))
		r.wantContext(r.resolve(s.ID, ledger.ContextRequest{}), dhruva.ModeHead, "HEAD · "+cs[4].Hash.Short(), []int64{}, cs[4])
		for _, depth := range []int{-1, 2, 4} {
			_, err := r.l.Mount(r.ctx(), s.ID, cs[0].Hash.String(), depth)
			r.is(err, dhruva.ErrInvalid)
		}
	})
}

// S25, S27, state-plane 7.1: the Australia and New Zealand script, with all
// timestamps equal. 12 turns before the mount are out, all after it are in.
func TestS25_AustraliaNewZealand(t *testing.T) {
	for _, still := range []bool{false, true} {
		each(t, func(r *rig) {
			r.still = still
			s := r.session(r.space("trip").ID)
			r.talk(s.ID, "australia", 2)
			c1 := r.save(s.ID, "Trip to Australia")
			r.talk(s.ID, "new zealand", 4)
			c2 := r.save(s.ID, "Trip to New Zealand")
			r.must(second(r.l.Mount(r.ctx(), s.ID, c1.Hash.String(), 1)))
			r.wantContext(r.resolve(s.ID, ledger.ContextRequest{}), dhruva.ModeMounted, "MOUNTED · "+c1.Hash.Short(), []int64{}, c1)
			r.talk(s.ID, "back to sydney", 2)
			got := r.resolve(s.ID, ledger.ContextRequest{})
			r.wantContext(got, dhruva.ModeMounted, "MOUNTED · "+c1.Hash.Short(), span(13, 16), c1)
			for _, tn := range got.Turns {
				if strings.Contains(tn.Content, "zealand") || strings.Contains(tn.Content, "australia") {
					r.Errorf("leaked: %s", tn.Content)
				}
			}
			pair := ledger.ContextRequest{Mount: &ledger.Pair{Checkpoint: c1.Hash.String(), Base: ptr[int64](12)}}
			r.wantContext(r.resolve(s.ID, pair), dhruva.ModeMounted, "MOUNTED · "+c1.Hash.Short(), span(13, 16), c1)
			_ = c2
		})
	}
}

// D11, state-plane 7.8, contracts 14: an answer on its way when the mount is
// made stays outside; one that began after is inside.
func TestS27_B8_D11_InFlightReplyStaysOutside(t *testing.T) {
	each(t, func(r *rig) {
		s := r.session(r.space("work").ID)
		r.talk(s.ID, "before", 1)
		c := r.save(s.ID, "one")
		r.talk(s.ID, "more", 1)
		flying := r.begin(s.ID)
		r.must(second(r.l.Mount(r.ctx(), s.ID, c.Hash.String(), 1)))
		after := r.begin(s.ID)
		r.must(second(r.l.AppendExchange(r.ctx(), flying, exchange("asked with the old context", "answered from the old context"))))
		r.must(second(r.l.AppendExchange(r.ctx(), after, exchange("asked with the mount", "answered from the mount"))))
		// The mount is at number 4; the late pair is 5 and 6, the other 7 and 8.
		// Both began when 4 was the last number, but the late one saw no mount.
		got := r.resolve(s.ID, ledger.ContextRequest{})
		if got.Base != 4 {
			r.Fatalf("base %d", got.Base)
		}
		if slices.ContainsFunc(got.Turns, func(t dhruva.Turn) bool { return strings.Contains(t.Content, "old context") }) {
			r.Errorf("the late answer leaked: %v", seqs(got.Turns))
		}
		r.wantContext(got, dhruva.ModeMounted, "MOUNTED · "+c.Hash.Short(), span(7, 8), c)
	})
}

// The same where turns land out of order, at a mount in an empty session, and
// for a mount that replaces another.
func TestS27LateRepliesOfAnyOrder(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		c := r.commit(ledger.CommitInput{Space: sp.ID, Title: "root", Summary: "the root of it"})
		d := r.commit(ledger.CommitInput{Space: sp.ID, Title: "next", Summary: "the next of it"})
		s := r.session(sp.ID)
		flying := r.begin(s.ID)
		r.must(second(r.l.Mount(r.ctx(), s.ID, c.Hash.String(), 1)))
		r.must(second(r.l.AppendExchange(r.ctx(), flying, exchange("asked before it all", "answered before it all"))))
		r.say(s.ID, "asked at the first mount", "answered at the first mount")
		r.wantContext(r.resolve(s.ID, ledger.ContextRequest{}), dhruva.ModeMounted, "MOUNTED · "+c.Hash.Short(), span(3, 4), c)
		empty := r.session(sp.ID)
		fenced := r.begin(empty.ID)
		r.must(second(r.l.Mount(r.ctx(), empty.ID, c.Hash.String(), 1)))
		r.say(empty.ID, "asked at the mount", "answered at the mount")
		_, err := r.l.AppendExchange(r.ctx(), fenced, exchange("asked before it all", "answered before it all"))
		r.is(err, dhruva.ErrFenced)
		flying = r.begin(s.ID)
		r.must(second(r.l.Mount(r.ctx(), s.ID, d.Hash.String(), 1)))
		r.must(second(r.l.AppendExchange(r.ctx(), flying, exchange("asked at the first mount again", "answered at the first mount again"))))
		r.say(s.ID, "asked at the second mount", "answered at the second mount")
		got := r.resolve(s.ID, ledger.ContextRequest{})
		r.wantContext(got, dhruva.ModeMounted, "MOUNTED · "+d.Hash.Short(), span(7, 8), d)
		if !strings.Contains(got.LeftOut, "2 turns belong to requests that began before the boundary") {
			r.Errorf("left out: %q", got.LeftOut)
		}
	})
}

// State-plane 7.4 and 7.5, D3, D4: the compatible pair is both or neither, and
// anything wrong with it is an error, never another mode.
func TestS23_B4_B5_D3_D4_D5_ExplicitPair(t *testing.T) {
	each(t, func(r *rig) {
		sp, elsewhere := r.space("work"), r.space("elsewhere")
		s, empty := r.session(sp.ID), r.session(sp.ID)
		r.talk(s.ID, "topic", 2)
		c := r.save(s.ID, "one")
		foreign := r.commit(ledger.CommitInput{Space: elsewhere.ID, Title: "other"})
		base := func(n int64) *int64 { return &n }
		ref := c.Hash.String()
		for name, probe := range map[string]struct {
			session dhruva.SessionID
			pair    ledger.Pair
			want    error
			turns   []int64
		}{
			"neither":          {s.ID, ledger.Pair{}, nil, []int64{}}, // HEAD, bounded by c
			"base 0":           {s.ID, ledger.Pair{Checkpoint: ref, Base: base(0)}, nil, span(1, 4)},
			"base 2":           {s.ID, ledger.Pair{Checkpoint: ref, Base: base(2)}, nil, span(3, 4)},
			"base last":        {s.ID, ledger.Pair{Checkpoint: ref, Base: base(4)}, nil, []int64{}},
			"prefix":           {s.ID, ledger.Pair{Checkpoint: ref[:9], Base: base(2)}, nil, span(3, 4)},
			"uuid":             {s.ID, ledger.Pair{Checkpoint: string(c.ID), Base: base(2)}, nil, span(3, 4)},
			"empty, null":      {empty.ID, ledger.Pair{Checkpoint: ref}, nil, []int64{}},
			"empty, -1":        {empty.ID, ledger.Pair{Checkpoint: ref, Base: base(-1)}, nil, []int64{}},
			"empty, 0":         {empty.ID, ledger.Pair{Checkpoint: ref, Base: base(0)}, nil, []int64{}},
			"no base":          {s.ID, ledger.Pair{Checkpoint: ref}, dhruva.ErrInvalid, nil},
			"no checkpoint":    {s.ID, ledger.Pair{Base: base(2)}, dhruva.ErrInvalid, nil},
			"negative":         {s.ID, ledger.Pair{Checkpoint: ref, Base: base(-1)}, dhruva.ErrInvalid, nil},
			"beyond":           {s.ID, ledger.Pair{Checkpoint: ref, Base: base(5)}, dhruva.ErrInvalid, nil},
			"empty, beyond":    {empty.ID, ledger.Pair{Checkpoint: ref, Base: base(1)}, dhruva.ErrInvalid, nil},
			"malformed":        {s.ID, ledger.Pair{Checkpoint: "not a hash", Base: base(2)}, dhruva.ErrInvalid, nil},
			"short":            {s.ID, ledger.Pair{Checkpoint: ref[:6], Base: base(2)}, dhruva.ErrInvalid, nil},
			"unknown":          {s.ID, ledger.Pair{Checkpoint: strings.Repeat("a", 64), Base: base(2)}, dhruva.ErrNotFound, nil},
			"unknown uuid":     {s.ID, ledger.Pair{Checkpoint: dhruva.NewID(), Base: base(2)}, dhruva.ErrNotFound, nil},
			"of another space": {s.ID, ledger.Pair{Checkpoint: foreign.Hash.String(), Base: base(2)}, dhruva.ErrNotFound, nil},
		} {
			got, err := r.l.Resolve(r.ctx(), probe.session, ledger.ContextRequest{Mount: &probe.pair})
			if probe.want != nil {
				r.is(err, probe.want)
				continue
			}
			if err != nil || !cmp.Equal(probe.turns, seqs(got.Turns)) || (name == "neither") != (got.Mode == dhruva.ModeHead) {
				r.Errorf("%s: %s %v %v", name, got.Mode, seqs(got.Turns), err)
			}
		}
		_, err := r.l.Mount(r.ctx(), s.ID, foreign.Hash.String(), 1)
		r.is(err, dhruva.ErrNotFound)
		_, err = r.l.Mount(r.ctx(), s.ID, "nonsense", 1)
		r.is(err, dhruva.ErrInvalid)
	})
}

// Contracts 20: pair, then mount, then fork, then head.
func TestContextPrecedence(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		s := r.session(sp.ID)
		r.talk(s.ID, "one", 1)
		c1 := r.save(s.ID, "one")
		r.talk(s.ID, "two", 1)
		c2 := r.save(s.ID, "two")
		r.talk(s.ID, "three", 1)
		c3 := r.save(s.ID, "three")
		f := must[dhruva.Session](r)(r.l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: c2.Hash.String()}))
		r.wantContext(r.resolve(f.ID, ledger.ContextRequest{}), dhruva.ModeForked, "FORKED · "+c2.Hash.Short(), []int64{}, c2)
		r.must(second(r.l.Mount(r.ctx(), f.ID, c1.Hash.String(), 1)))
		r.wantContext(r.resolve(f.ID, ledger.ContextRequest{}), dhruva.ModeMounted, "MOUNTED · "+c1.Hash.Short(), []int64{}, c1)
		pair := ledger.ContextRequest{Mount: &ledger.Pair{Checkpoint: c3.Hash.String(), Base: ptr[int64](0)}}
		r.wantContext(r.resolve(f.ID, pair), dhruva.ModeMounted, "MOUNTED · "+c3.Hash.Short(), []int64{}, c3)
	})
}

// S29: no turn of another session, whatever is mounted.
func TestS29OnlyThisSessionsTurns(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		s, other := r.session(sp.ID), r.session(sp.ID)
		r.talk(other.ID, "theirs", 3)
		c := r.save(other.ID, "theirs")
		r.talk(s.ID, "mine", 1)
		for _, req := range []ledger.ContextRequest{{}, {Mount: &ledger.Pair{Checkpoint: c.Hash.String(), Base: ptr[int64](0)}}} {
			for _, tn := range r.resolve(s.ID, req).Turns {
				if tn.Session != s.ID {
					r.Errorf("%+v", tn)
				}
			}
		}
	})
}

// State-plane 7.10: the walk crosses branches and stops at the root, at a
// missing parent and where it would turn in a circle.
func TestB10_AncestorWalk(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		s := r.session(sp.ID)
		r.talk(s.ID, "one", 1)
		c1, c2 := r.save(s.ID, "one"), r.save(s.ID, "two")
		f := must[dhruva.Session](r)(r.l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: c2.Hash.String()}))
		r.save(s.ID, "later main") // never in the fork's chain
		f1 := r.save(f.ID, "on the fork")
		r.wantContext(r.resolve(f.ID, ledger.ContextRequest{Depth: 3}), dhruva.ModeForked, "FORKED · "+f1.Hash.Short(), []int64{}, c1, c2, f1)
		if got := must[[]dhruva.Checkpoint](r)(r.l.Ancestors(r.ctx(), f1.Hash.String(), 0)); !cmp.Equal(hashes(got), hashes([]dhruva.Checkpoint{c1, c2, f1})) {
			r.Errorf("%v", hashes(got))
		}
	})
	r := newRig(t, openers["memory"](t)) // rows that no ledger would write
	sp := r.space("broken")
	s := r.session(sp.ID)
	a, b, orphan := dhruva.Hash{1}, dhruva.Hash{2}, dhruva.Hash{3}
	r.update(sp.ID, func(tx dhruva.Tx) error {
		for h, parent := range map[dhruva.Hash]dhruva.Hash{a: b, b: a, orphan: {9}} {
			c := dhruva.Checkpoint{Tenant: tenant, Space: sp.ID, ID: dhruva.CheckpointID(h.Short()), Hash: h, Parents: []dhruva.Hash{parent}, CreatedAt: r.now}
			if err := tx.PutCheckpoint(c); err != nil {
				return err
			}
		}
		return nil
	})
	for h, want := range map[dhruva.Hash][]dhruva.Hash{a: {b, a}, orphan: {orphan}} {
		r.must(second(r.l.Mount(r.ctx(), s.ID, h.String(), 3)))
		if got := r.resolve(s.ID, ledger.ContextRequest{}); !cmp.Equal(hashes(got.Checkpoints), want) {
			r.Errorf("%v, want %v", hashes(got.Checkpoints), want)
		}
	}
	rep := must[ledger.VerifyReport](r)(r.l.Verify(r.ctx(), sp.ID))
	if rep.Checked != 3 || len(rep.Failures) < 4 {
		r.Errorf("%+v", rep)
	}
}

// D1, state-plane 7.3: without bounds all turns of the window come out; bounds
// keep the newest, in ascending order, and count what they cut.
func TestD1_B3_TheNewestAreKept(t *testing.T) {
	each(t, func(r *rig) {
		s := r.session(r.space("work").ID)
		r.talk(s.ID, "long", 60)
		got := r.resolve(s.ID, ledger.ContextRequest{})
		r.wantContext(got, dhruva.ModeHead, "HEAD · none", span(1, 120))
		one := dhruva.Estimate(got.Turns[119].Content) + dhruva.MessageOverhead
		for _, probe := range []struct {
			req  ledger.ContextRequest
			from int64
		}{
			{ledger.ContextRequest{MaxTurns: 20}, 101},
			{ledger.ContextRequest{MaxTurns: 1}, 120},
			{ledger.ContextRequest{MaxTurns: 119}, 2},
			{ledger.ContextRequest{MaxTurns: 120}, 1},
			{ledger.ContextRequest{MaxTurns: 1000}, 1},
			{ledger.ContextRequest{MaxTokens: one}, 120},
			{ledger.ContextRequest{MaxTokens: one - 1}, 121},
			{ledger.ContextRequest{MaxTurns: 3, MaxTokens: 1 << 20}, 118},
			{ledger.ContextRequest{MaxTurns: 3, MaxTokens: one}, 120},
			{ledger.ContextRequest{MaxTokens: 1 << 20}, 1},
		} {
			got := r.resolve(s.ID, probe.req)
			r.wantContext(got, dhruva.ModeHead, "HEAD · none", span(probe.from, 120))
			if want := int(probe.from - 1); got.Cut != want || !got.Holds(1) || got.Holds(121) {
				r.Errorf("%+v: cut %d, want %d", probe.req, got.Cut, want)
			}
		}
		for _, req := range []ledger.ContextRequest{{MaxTurns: -1}, {MaxTokens: -1}} {
			_, err := r.l.Resolve(r.ctx(), s.ID, req)
			r.is(err, dhruva.ErrInvalid)
		}
	})
}

// Purged turns leave the window, and the context says so.
func TestWindowLeavesPurgedTurnsOut(t *testing.T) {
	r := newRig(t, openers["memory"](t))
	sp := r.space("work")
	s := r.session(sp.ID)
	r.update(sp.ID, func(tx dhruva.Tx) error {
		s.LastSeq = 2
		gone := dhruva.Turn{Tenant: tenant, Space: sp.ID, Session: s.ID, Seq: 1, ID: "t1", Role: dhruva.RoleUser, Redacted: true}
		system := dhruva.Turn{Tenant: tenant, Space: sp.ID, Session: s.ID, Seq: 2, Parent: 1, ID: "t2", Role: dhruva.RoleSystem, Content: "S13"}
		for _, err := range []error{tx.AppendTurn(gone), tx.AppendTurn(system), tx.PutSession(s)} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	got := r.resolve(s.ID, ledger.ContextRequest{})
	if len(got.Turns) != 0 || got.LeftOut != "1 turns were purged" {
		r.Errorf("%+v %q", got.Turns, got.LeftOut)
	}
}
