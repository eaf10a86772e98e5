package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/memstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// texts are all texts that a space's rows hold, of sessions that were deleted too.
func (r *rig) texts(space dhruva.SpaceID, sessions ...dhruva.SessionID) (out []string) {
	r.Helper()
	r.view(func(tx dhruva.Tx) error {
		for _, id := range sessions {
			turns, err := tx.ListTurns(dhruva.TurnQuery{Session: id})
			r.must(err)
			for _, t := range turns {
				if t.Redacted != (t.Content == "") {
					r.Errorf("turn %d: redacted %v with %q", t.Seq, t.Redacted, t.Content)
				}
				out = append(out, t.Content)
			}
		}
		cs, err := tx.ListCheckpoints(dhruva.CheckpointQuery{Space: space, Page: dhruva.Page{Limit: 1000}})
		for _, c := range cs {
			r.must(dhruva.VerifyCheckpoint(&c))
			for _, i := range c.Items {
				out = append(out, i.Text)
				for _, a := range i.Attrs {
					out = append(out, a.Value)
				}
			}
		}
		return err
	})
	return out
}

// says counts the texts that hold a word.
func (r *rig) says(word string, space dhruva.SpaceID, sessions ...dhruva.SessionID) (n int) {
	r.Helper()
	for _, text := range r.texts(space, sessions...) {
		if strings.Contains(text, word) {
			n++
		}
	}
	return n
}

func (r *rig) erase(space dhruva.SpaceID, gone ...ledger.Gone) ledger.Erased {
	r.Helper()
	return must[ledger.Erased](r)(r.l.Erase(context.Background(), dhruva.SpaceScope(tenant, space), gone))
}

func (r *rig) contentID(space dhruva.SpaceID, role dhruva.Role, text string) dhruva.SourceID {
	return dhruva.ContentID(r.keys, tenant, space, role, text)
}

func purged(space dhruva.SpaceID, id dhruva.SourceID) ledger.Gone {
	return ledger.Gone{Source: &dhruva.Tombstone{Space: space, Generation: 1, Source: id, State: "completed", CreatedAt: time.UnixMicro(1).UTC()}}
}

// derive makes a record, a vector and a replay of a source.
func (r *rig) derive(space dhruva.SpaceID, id dhruva.SourceID, name string) {
	r.Helper()
	r.update(space, func(tx dhruva.Tx) error {
		return errors.Join(
			tx.PutRecord(dhruva.Record{Tenant: tenant, Space: space, Generation: 1, ID: dhruva.RecordID(name), Source: id, End: 3}),
			tx.PutVector(dhruva.Vector{Tenant: tenant, Space: space, Generation: 1, Source: id, Model: "m", Values: []float32{1}}),
			tx.PutReplay(dhruva.Replay{Tenant: tenant, Space: space, ID: dhruva.ReplayID(name), Generation: 1, Evidence: []dhruva.Span{{Source: id, End: 3}}}))
	})
}

// derived counts what was made of a source.
func (r *rig) derived(space dhruva.SpaceID, id dhruva.SourceID) (n int) {
	r.Helper()
	r.view(func(tx dhruva.Tx) error {
		records, err1 := tx.ListRecords(dhruva.RecordQuery{Space: space, Generation: 1, Source: id})
		vectors, err2 := tx.ListVectors(dhruva.VectorQuery{Space: space, Generation: 1, Model: "m", Source: id})
		replays, err3 := tx.ReplaysOf(space, id, dhruva.Page{})
		n = len(records) + len(vectors) + len(replays)
		return errors.Join(err1, err2, err3)
	})
	return n
}

const canary = "canary-4711 is what was said"

// TestEraseSource: a source goes from everywhere that said it, with what was made
// of it; what stands beside it stays. A second time there is nothing to do.
func TestEraseSource(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work").ID
		a, b := r.session(sp).ID, r.session(sp).ID
		r.say(a, canary, "an answer that stays")
		r.say(b, "something that stays", "another answer that stays")
		r.say(b, "  "+canary+"\n", "the same in other white space")
		first := r.commit(ledger.CommitInput{Session: a, Title: "with " + canary, Decisions: []ledger.ItemInput{{Text: canary}, {Text: "a decision that stays"}}})
		r.commit(ledger.CommitInput{Session: b, Space: sp, Title: "b"})
		user := r.contentID(sp, dhruva.RoleUser, canary)
		stays := r.contentID(sp, dhruva.RoleUser, "something that stays")
		r.derive(sp, user, "gone")
		r.derive(sp, stays, "stays")
		if n := r.says("canary-4711", sp, a, b); n != 4 {
			t.Fatalf("the canary stands in %d places", n)
		}
		done := r.erase(sp, purged(sp, user))
		if n := r.says("canary-4711", sp, a, b); n != 0 {
			t.Errorf("%d places still say it: %q", n, r.texts(sp, a, b))
		}
		if r.derived(sp, user) != 0 || r.derived(sp, stays) != 3 {
			t.Errorf("derived: %d and %d", r.derived(sp, user), r.derived(sp, stays))
		}
		// The title of each checkpoint is of the whole window.
		want := ledger.Erased{Tombstones: 1, Sources: 1, Turns: 2, Items: 3, Replays: 1}
		if diff := cmp.Diff(want, done); diff != "" {
			t.Error(diff)
		}
		for _, word := range []string{"something that stays", "an answer that stays", "another answer", "a decision that stays"} {
			if r.says(word, sp, a, b) == 0 {
				t.Errorf("%q is gone, too", word)
			}
		}
		rep := must[ledger.VerifyReport](r)(r.l.Verify(r.ctx(), sp))
		if len(rep.Failures) > 0 || rep.Checked != 2 {
			t.Errorf("%+v", rep)
		}
		r.wantSource(sp, user, false)
		r.wantSource(sp, stays, true)
		r.wantSource(sp, r.contentID(sp, dhruva.RoleUser, "a decision that stays"), true)
		if again := r.erase(sp, purged(sp, user), ledger.Gone{Item: &ledger.Stub{Checkpoint: first.Hash, Item: first.Items[0].ID}}); again != (ledger.Erased{}) {
			t.Errorf("again: %+v", again)
		}
		// It does not come back: saying it again makes no source.
		r.say(a, canary, "an answer after it")
		r.wantSource(sp, user, false)
	})
}

func (r *rig) wantSource(space dhruva.SpaceID, id dhruva.SourceID, want bool) {
	r.Helper()
	r.view(func(tx dhruva.Tx) error {
		_, err := tx.Source(space, 1, id)
		if (err == nil) != want {
			r.Errorf("source %s: %v, want it there: %v", id, err, want)
		}
		return nil
	})
}

// TestEraseLeavesWhatOthersNeed: a turn that another source is said by keeps its
// text, until that one is erased too.
func TestEraseLeavesWhatOthersNeed(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work").ID
		own := must[dhruva.Source](r)(r.l.Remember(r.ctx(), ledger.RememberInput{Space: sp, Text: canary, SourceID: "own-id"}))
		var at dhruva.Reference
		r.view(func(tx dhruva.Tx) error {
			refs, err := tx.References(sp, 1, own.ID)
			at = refs[0]
			return err
		})
		other := r.contentID(sp, dhruva.RoleAssistant, canary)
		r.update(sp, func(tx dhruva.Tx) error { // as two callers with an id each have it
			src, ref := own, at
			src.ID, ref.Source = other, other
			dhruva.SignSource(r.keys, &src)
			_, err := tx.AppendChange(sp, dhruva.Change{Kind: dhruva.ChangeSource, Ref: string(other), At: r.now})
			return errors.Join(err, tx.PutSource(src), tx.AddReference(ref))
		})
		if done := r.erase(sp, purged(sp, own.ID)); done.Turns != 0 || done.Sources != 1 || r.says("canary", sp, at.Session) != 1 {
			t.Errorf("%+v", done)
		}
		r.wantSource(sp, other, true)
		if done := r.erase(sp, purged(sp, other)); done.Turns != 1 || done.Sources != 1 || r.says("canary", sp, at.Session) != 0 {
			t.Errorf("%+v", done)
		}
		// Both at once, from the beginning.
		r.erase(sp, purged(sp, "own-id"), purged(sp, other))
	})
}

// TestEraseTurn: a turn goes with the sources that only it says, and its window's
// derived texts; what cites other turns stays.
func TestEraseTurn(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work").ID
		s, other := r.session(sp).ID, r.session(sp).ID
		r.say(s, "the first question here", "the first answer here")
		r.say(s, canary, "the second answer here")
		r.say(other, "said in both of them", "an answer elsewhere")
		r.say(s, "said in both of them", "the third answer here")
		c := r.commit(ledger.CommitInput{
			Session: s, Title: "Title", Objective: "Objective of it all", Summary: "Summary of it all",
			Decisions:   []ledger.ItemInput{{Text: "drawn from the canary", Cites: []dhruva.Cite{{From: 3, Through: 4}}}, {Text: "drawn from the first", Cites: []dhruva.Cite{{From: 1, Through: 2}}}},
			Assumptions: []ledger.ItemInput{{Text: "typed by a person, citing nothing"}},
			Artifacts:   []ledger.ItemInput{{Text: "an artifact of the window", Attrs: []dhruva.Attr{{Name: dhruva.AttrLabel, Value: "label"}}}},
		})
		child := r.commit(ledger.CommitInput{
			Session: s, Title: "Child", Decisions: []ledger.ItemInput{{Text: "drawn from the canary"}, {Text: "drawn from the first"}},
		})
		elsewhere := r.commit(ledger.CommitInput{Session: other, Branch: "b", Title: "Elsewhere", Summary: "of another session"})
		done := r.erase(sp, ledger.Gone{Turn: &ledger.Place{Session: s, Seq: 3}}, ledger.Gone{Turn: &ledger.Place{Session: s, Seq: 5, ID: "another turn"}})
		// Title, objective, summary, artifact and the citing decision; and the copy
		// of the decision in the child, whose own window is empty.
		want := ledger.Erased{Sources: 5, Turns: 1, Items: 6}
		if diff := cmp.Diff(want, done); diff != "" {
			t.Error(diff)
		}
		for word, n := range map[string]int{"canary": 0, "Title": 0, "Child": 1, "of it all": 0, "artifact": 0, "label": 0,
			"drawn from the first": 2, "typed by a person": 1, "Elsewhere": 1, "of another session": 1, "said in both": 2, "second answer": 1} {
			if got := r.says(word, sp, s, other); got != n {
				t.Errorf("%q stands in %d places, want %d", word, got, n)
			}
		}
		for _, h := range []dhruva.Hash{c.Hash, child.Hash, elsewhere.Hash} {
			must[dhruva.Checkpoint](r)(r.l.Checkpoint(r.ctx(), h.String()))
		}
		r.wantSource(sp, r.contentID(sp, dhruva.RoleUser, canary), false)
		r.view(func(tx dhruva.Tx) error { // no tombstone: said again it is known again
			_, err := tx.Tombstone(sp, 1, r.contentID(sp, dhruva.RoleUser, canary))
			r.is(err, dhruva.ErrNotFound)
			return nil
		})
		if done := r.erase(sp, ledger.Gone{Turn: &ledger.Place{Session: s, Seq: 5}}); done.Turns != 1 || done.Sources != 0 {
			t.Errorf("a turn whose text another one says: %+v", done)
		}
		r.say(s, canary, "and so it is")
		r.wantSource(sp, r.contentID(sp, dhruva.RoleUser, canary), true)
	})
}

// TestEraseHoldsWhatOnlyHiddenSessionsSay: as when the session that said it is
// deleted.
func TestEraseHoldsWhatOnlyHiddenSessionsSay(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work").ID
		a, b := r.session(sp).ID, r.session(sp).ID
		r.say(a, "said in both sessions", "one answer of two")
		r.say(b, "said in both sessions", "the other answer of two")
		r.must(r.l.DeleteSession(r.ctx(), b))
		r.erase(sp, ledger.Gone{Turn: &ledger.Place{Session: a, Seq: 1}})
		src := must[ledger.SourceView](r)(r.l.Source(r.ctx(), sp, r.contentID(sp, dhruva.RoleUser, "said in both sessions")))
		if src.State != dhruva.SourceHeld {
			t.Errorf("state %s", src.State)
		}
	})
}

// TestEraseInSteps: what does not fit one Update is done in several, and one that
// is lost, or kept without its caller being told, changes nothing about the end.
func TestEraseInSteps(t *testing.T) {
	const many, replays = 600, 900
	make := func(t *testing.T, store dhruva.Store) (*rig, dhruva.SpaceID, dhruva.SessionID, dhruva.SourceID) {
		r := newRig(t, store)
		sp := r.space("work").ID
		in := ledger.ImportInput{Space: sp, Key: "k"}
		for n := range many {
			in.Turns = append(in.Turns, ledger.ImportedTurn{Role: dhruva.RoleUser, Text: canary}, ledger.ImportedTurn{Role: dhruva.RoleAssistant, Text: fmt.Sprintf("answer number %d stays", n)})
		}
		got := must[ledger.ImportResult](r)(r.l.ImportTurns(r.ctx(), in))
		id := r.contentID(sp, dhruva.RoleUser, canary)
		for from := 0; from < replays; from += 300 {
			r.update(sp, func(tx dhruva.Tx) error {
				for n := range 300 {
					err := tx.PutReplay(dhruva.Replay{Tenant: tenant, Space: sp, ID: dhruva.ReplayID(fmt.Sprintf("%06d", from+n)), Generation: 1, Evidence: []dhruva.Span{{Source: id}}})
					if err != nil {
						return err
					}
				}
				return nil
			})
		}
		return r, sp, got.Session, id
	}
	check := func(r *rig, sp dhruva.SpaceID, s dhruva.SessionID, id dhruva.SourceID) {
		r.Helper()
		if n := r.says("canary", sp, s); n != 0 {
			r.Errorf("%d places still say it", n)
		}
		if n := r.says("stays", sp, s); n != many {
			r.Errorf("%d answers of %d stand", n, many)
		}
		if r.derived(sp, id) != 0 {
			r.Errorf("%d rows were made of it", r.derived(sp, id))
		}
		r.check()
	}
	counter := storetest.NewFaulty(memstore.New(), storetest.Lost, 0)
	r, sp, s, id := make(t, counter.Store)
	r.l.Store = counter
	done := r.erase(sp, purged(sp, id))
	if done.Turns != many || done.Replays != replays || counter.Updates() < 3 {
		t.Errorf("%+v in %d updates", done, counter.Updates())
	}
	check(r, sp, s, id)
	for _, fault := range []storetest.Fault{storetest.Lost, storetest.Kept} {
		for at := 1; at <= counter.Updates(); at++ {
			faulty := storetest.NewFaulty(memstore.New(), fault, at)
			r, sp, s, id := make(t, faulty.Store)
			r.l.Store = faulty
			_, err := r.l.Erase(context.Background(), dhruva.SpaceScope(tenant, sp), []ledger.Gone{purged(sp, id)})
			r.is(err, dhruva.ErrUnavailable)
			r.must(storetest.Check(context.Background(), r.store, dhruva.TenantScope(tenant))) // and in between
			r.erase(sp, purged(sp, id))
			check(r, sp, s, id)
		}
	}
}

// TestEnd: the generations that end go with all their texts; what is said after
// is the new generation's, and its rows stay.
func TestEnd(t *testing.T) {
	each(t, func(r *rig) {
		sp, beside := r.space("work").ID, r.space("beside").ID
		s, hidden, far := r.session(sp).ID, r.session(sp).ID, r.session(beside).ID
		r.talk(s, "canary", 30)
		r.talk(hidden, "canary", 3)
		r.talk(far, "beside", 3)
		c := r.commit(ledger.CommitInput{Session: s, Title: "canary", Summary: "canary summary", Decisions: []ledger.ItemInput{{Text: "canary decision"}}})
		r.must(r.l.DeleteSession(r.ctx(), hidden))
		id := r.contentID(sp, dhruva.RoleUser, "canary question number 1")
		r.derive(sp, id, "derived")
		r.update(sp, func(tx dhruva.Tx) error {
			return errors.Join(tx.PutReplay(dhruva.Replay{Tenant: tenant, Space: sp, ID: "of a checkpoint", Generation: 1, Checkpoint: c.Hash}),
				tx.PutJob(dhruva.Job{Tenant: tenant, Space: sp, ID: "old", Kind: "k", State: dhruva.JobQueued, Generation: 1}),
				tx.PutJob(dhruva.Job{Tenant: tenant, Space: sp, ID: "new", Kind: "k", State: dhruva.JobQueued, Generation: 3}))
		})
		began := r.begin(s)
		in := ledger.Ending{Generation: 3, Fence: 2, ACLVersion: 5, Sessions: map[dhruva.SessionID]int64{s: 60, hidden: 6, far: 6}, Replays: []dhruva.ReplayID{"of a checkpoint", "none"}}
		done := must[ledger.Erased](r)(r.l.End(context.Background(), dhruva.SpaceScope(tenant, sp), in))
		if done.Turns != 66 || done.Items != 3 || done.Replays != 2 || done.Jobs != 1 || done.Sources == 0 {
			t.Errorf("%+v", done)
		}
		if n := r.says("canary", sp, s, hidden); n != 0 {
			t.Errorf("%d places still say it", n)
		}
		if n := r.says("beside", beside, far); n != 6 {
			t.Errorf("beside: %d", n)
		}
		r.view(func(tx dhruva.Tx) error {
			e, err := tx.Epoch(sp)
			if e.Generation != 3 || e.Fence != 2 || e.ACLVersion != 5 {
				t.Errorf("%+v", e)
			}
			_, err2 := tx.Job("new")
			return errors.Join(err, err2)
		})
		// Late writers of the ended generation are refused; the new one goes on, and
		// ending it again with the same numbers leaves it alone.
		_, err := r.l.AppendExchange(r.ctx(), began, exchange("too late by now", "an answer too late"))
		r.is(err, dhruva.ErrFenced)
		r.say(s, "said in the new generation", "and answered there")
		if again := must[ledger.Erased](r)(r.l.End(context.Background(), dhruva.SpaceScope(tenant, sp), in)); again != (ledger.Erased{}) {
			t.Errorf("again: %+v", again)
		}
		if n := r.says("new generation", sp, s); n != 1 {
			t.Errorf("the new generation: %d", n)
		}
	})
}

// TestEndInterrupted: wherever it is interrupted it is finished by doing it again.
func TestEndInterrupted(t *testing.T) {
	for at := 1; ; at++ {
		faulty := storetest.NewFaulty(memstore.New(), storetest.Fault(at%2), at)
		r := newRig(t, faulty.Store)
		sp := r.space("work").ID
		s := r.session(sp).ID
		r.talk(s, "canary", 300)
		r.save(s, "canary")
		r.l.Store = faulty
		in := ledger.Ending{Generation: 2, Fence: 1, Sessions: map[dhruva.SessionID]int64{s: 600}}
		_, err := r.l.End(context.Background(), dhruva.SpaceScope(tenant, sp), in)
		if faulty.Updates() < at {
			r.must(err)
			if at < 4 {
				t.Errorf("only %d updates", at)
			}
			break
		}
		r.is(err, dhruva.ErrUnavailable)
		must[ledger.Erased](r)(r.l.End(context.Background(), dhruva.SpaceScope(tenant, sp), in))
		if n := r.says("canary", sp, s); n != 0 {
			t.Errorf("at %d: %d places still say it", at, n)
		}
		r.check()
	}
}

// TestHide: sessions and spaces are hidden as by their own deletion.
func TestHide(t *testing.T) {
	each(t, func(r *rig) {
		sp, other := r.space("work"), r.space("other")
		s := r.session(sp.ID).ID
		r.talk(s, "hidden", 70)
		at := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
		scope := dhruva.SpaceScope(tenant, sp.ID)
		for n, want := range []bool{true, false} {
			if got := must[bool](r)(r.l.HideSession(context.Background(), scope, s, at)); got != want {
				t.Errorf("%d: hidden %v", n, got)
			}
			if got := must[bool](r)(r.l.HideSpace(context.Background(), dhruva.SpaceScope(tenant, other.ID), at)); got != want {
				t.Errorf("%d: hidden %v", n, got)
			}
		}
		_, err := r.l.Session(r.ctx(), s)
		r.is(err, dhruva.ErrNotFound)
		_, err = r.l.Space(r.ctx(), "other")
		r.is(err, dhruva.ErrNotFound)
		views, _, err := r.l.ListSources(r.ctx(), dhruva.SourceQuery{Space: sp.ID, State: dhruva.SourceReady})
		if err != nil || len(views) != 0 {
			t.Errorf("%d ready sources, %v", len(views), err)
		}
		r.view(func(tx dhruva.Tx) error {
			row, err := tx.Session(s)
			if !row.DeletedAt.Equal(at) {
				t.Errorf("deleted at %v", row.DeletedAt)
			}
			return err
		})
		for _, id := range []dhruva.SessionID{"none"} {
			if hidden, err := r.l.HideSession(context.Background(), scope, id, at); hidden || err != nil {
				t.Errorf("%v, %v", hidden, err)
			}
		}
	})
}

// TestErasedStaysErased: whatever is said, saved, deleted and erased, in whatever
// order, no text of an erased source stands anywhere, every invariant holds, and
// erasing all of it again finds nothing to do.
func TestErasedStaysErased(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t, memstore.New())
		sp := r.space("work").ID
		words := []string{"apples are red today", "pears are green today", "plums are blue today", "figs are brown today"}
		var sessions []dhruva.SessionID
		var gone []ledger.Gone
		erased := map[string]bool{}
		word := rapid.SampledFrom(words)
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			if len(sessions) == 0 || rapid.IntRange(0, 9).Draw(rt, "session") == 0 {
				sessions = append(sessions, r.session(sp).ID)
			}
			s := rapid.SampledFrom(sessions).Draw(rt, "of")
			switch rapid.IntRange(0, 6).Draw(rt, "act") {
			case 0, 1, 2:
				r.say(s, word.Draw(rt, "user"), "an answer to "+word.Draw(rt, "assistant"))
			case 3:
				in := ledger.CommitInput{Session: s, Title: "t", Decisions: []ledger.ItemInput{{Text: word.Draw(rt, "decision")}}}
				in.Branch = rapid.SampledFrom([]string{"", "b"}).Draw(rt, "branch")
				_, err := r.l.Commit(r.ctx(), in)
				if err != nil && !errors.Is(err, dhruva.ErrConflict) {
					r.must(err)
				}
			case 4:
				text := word.Draw(rt, "erase")
				g := purged(sp, r.contentID(sp, dhruva.RoleUser, text))
				r.erase(sp, g)
				gone, erased[text] = append(gone, g), true
			case 5:
				r.erase(sp, ledger.Gone{Turn: &ledger.Place{Session: s, Seq: int64(rapid.IntRange(1, 8).Draw(rt, "seq"))}})
			case 6:
				r.must(r.l.DeleteSession(r.ctx(), s))
				sessions = slices.DeleteFunc(sessions, func(id dhruva.SessionID) bool { return id == s })
			}
		}
		r.erase(sp, gone...)
		r.check()
		for text := range erased {
			r.view(func(tx dhruva.Tx) error {
				id := r.contentID(sp, dhruva.RoleUser, text)
				refs, err := tx.References(sp, 1, id)
				if _, gone := tx.Source(sp, 1, id); !errors.Is(gone, dhruva.ErrNotFound) || len(refs) > 0 {
					rt.Errorf("%q: %v, %d references", text, gone, len(refs))
				}
				return err
			})
		}
		if again := r.erase(sp, gone...); again != (ledger.Erased{}) {
			rt.Errorf("again: %+v", again)
		}
	})
}
