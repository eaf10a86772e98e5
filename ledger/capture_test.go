package ledger_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

func user(text string) ledger.Unit { return ledger.Unit{Role: dhruva.RoleUser, Text: text} }
func asst(text string) ledger.Unit { return ledger.Unit{Role: dhruva.RoleAssistant, Text: text} }

// call is a proxied request: alternating texts, the last one the answer; "" as
// the answer is a failed call.
func call(space dhruva.SpaceID, texts ...string) ledger.CaptureInput {
	in := ledger.CaptureInput{Space: space, Generation: 1, Provider: "openai", Model: "m"}
	for i, text := range texts[:len(texts)-2] {
		u := user(text)
		if i%2 == 1 {
			u = asst(text)
		} else {
			in.Chain = append(in.Chain, text)
		}
		in.History = append(in.History, u)
	}
	in.User = user(texts[len(texts)-2])
	in.Chain = append(in.Chain, in.User.Text)
	if answer := texts[len(texts)-1]; answer != "" {
		a := asst(answer)
		in.Assistant = &a
	}
	return in
}

func (r *rig) capture(in ledger.CaptureInput) ledger.Captured {
	r.Helper()
	return must[ledger.Captured](r)(r.l.Capture(r.ctx(), in))
}

// said is a session's turns as "role: text <parent".
func (r *rig) said(id dhruva.SessionID) []string {
	r.Helper()
	out := []string{}
	for _, t := range must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), id, 0, 1000)) {
		line := fmt.Sprintf("%s: %s <%d", t.Role, t.Content, t.Parent)
		if t.Backfill {
			line += " backfill"
		}
		if t.Redacted {
			line += " redacted"
		}
		out = append(out, line)
	}
	return out
}

func (r *rig) wantSaid(id dhruva.SessionID, want ...string) {
	r.Helper()
	if diff := cmp.Diff(want, r.said(id)); diff != "" {
		r.Error(diff)
	}
}

func (r *rig) classOf(space dhruva.SpaceID, role dhruva.Role, text string) dhruva.SourceClass {
	r.Helper()
	v, err := r.l.Source(r.ctx(), space, dhruva.ContentID(r.keys, tenant, space, role, text))
	if err != nil {
		return "none"
	}
	return v.Class
}

// Contracts 28: a conversation that resends its history is one session, and
// known turns are not stored again.
func TestCaptureFollowsAConversation(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		talk := []string{"my dog is called Biscuit", "a fine name", "he is three years old", "noted, three", "what does he eat today", "chicken is out"}
		var id dhruva.SessionID
		for n := 2; n <= len(talk); n += 2 {
			got := r.capture(call(sp.ID, talk[:n]...))
			if id == "" {
				id = got.Session
			}
			if got.Session != id || len(got.Turns) != 2 || len(got.Sources) != 2 || got.Backfilled != 0 || got.Skipped != "" {
				r.Errorf("%d: %+v", n, got)
			}
		}
		r.wantSaid(id, "user: my dog is called Biscuit <0", "assistant: a fine name <1", "user: he is three years old <2",
			"assistant: noted, three <3", "user: what does he eat today <4", "assistant: chicken is out <5")
		s := must[dhruva.Session](r)(r.l.Session(r.ctx(), id))
		if s.Kind != dhruva.SessionProxy || s.Provider != "openai" || s.Model != "m" || s.Space != sp.ID {
			r.Errorf("%+v", s)
		}
		got, ok, err := r.l.SessionOf(r.ctx(), sp.ID, "", []string{talk[0], talk[2], "and now something new"})
		if err != nil || !ok || got != id {
			r.Errorf("%s %v %v", got, ok, err)
		}
		_, ok, err = r.l.SessionOf(r.ctx(), sp.ID, "", []string{"never said"})
		if err != nil || ok {
			r.Errorf("%v %v", ok, err)
		}
		if c := r.classOf(sp.ID, dhruva.RoleUser, talk[0]); c != dhruva.ClassUserTyped {
			r.Error(c)
		}
		if c := r.classOf(sp.ID, dhruva.RoleAssistant, talk[1]); c != dhruva.ClassAssistantVisible {
			r.Error(c)
		}
	})
}

// The same request twice stores nothing new; an answer generated again is a
// sibling; an edited message is a sibling too.
func TestCaptureRetriesAndBranches(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		first := r.capture(call(sp.ID, "tell me a story", "once upon a time"))
		again := r.capture(call(sp.ID, "tell me a story", "once upon  a time"))
		if !cmp.Equal(again.Turns, first.Turns) || again.Skipped != ledger.SkippedKnown || len(again.Sources) != 0 {
			r.Errorf("%+v", again)
		}
		other := r.capture(call(sp.ID, "tell me a story", "there was a king"))
		if other.Session != first.Session || other.Turns[0] != first.Turns[0] {
			r.Errorf("%+v", other)
		}
		r.capture(call(sp.ID, "tell me a story", "there was a king", "and then what", "he slept a lot"))
		r.capture(call(sp.ID, "tell me a story", "once upon a time", "and then what", "a dragon came by"))
		r.capture(call(sp.ID, "tell me a story", "there was a king", "what was his name", "Arthur it was"))
		r.wantSaid(first.Session, "user: tell me a story <0", "assistant: once upon a time <1", "assistant: there was a king <1",
			"user: and then what <3", "assistant: he slept a lot <4", "assistant: a dragon came by <4",
			"user: what was his name <3", "assistant: Arthur it was <7")
	})
}

// A client that joins late: what came before is stored as backfill.
func TestCaptureBackfills(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		got := r.capture(call(sp.ID, "I moved to Oslo in May", "how nice for you", "which city do I live in", "you live in Oslo"))
		if got.Backfilled != 2 {
			r.Errorf("%+v", got)
		}
		r.wantSaid(got.Session, "user: I moved to Oslo in May <0 backfill", "assistant: how nice for you <1 backfill",
			"user: which city do I live in <2", "assistant: you live in Oslo <3")
		for text, want := range map[string]dhruva.SourceClass{"how nice for you": dhruva.ClassDerived, "you live in Oslo": dhruva.ClassAssistantVisible} {
			if c := r.classOf(sp.ID, dhruva.RoleAssistant, text); c != want {
				r.Errorf("%s: %s", text, c)
			}
		}
		if c := r.classOf(sp.ID, dhruva.RoleUser, "I moved to Oslo in May"); c != dhruva.ClassUserTyped {
			r.Error(c)
		}
		// One exchange was missed in between.
		got = r.capture(call(sp.ID, "I moved to Oslo in May", "how nice for you", "which city do I live in", "you live in Oslo",
			"missed question here", "missed answer here", "the question after it", "the answer after it"))
		if got.Backfilled != 2 || len(r.said(got.Session)) != 8 {
			r.Errorf("%+v %q", got, r.said(got.Session))
		}
	})
}

// A history longer than a chunk is stored in steps, once.
func TestCaptureLongHistory(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		var talk []string
		for i := range 140 {
			talk = append(talk, fmt.Sprintf("question number %d here", i), fmt.Sprintf("answer number %d here", i))
		}
		receipt := must[dhruva.Receipt](r)(r.l.OpenReceipt(r.ctx(), dhruva.Receipt{Kind: "proxy", Space: sp.ID}))
		in := call(sp.ID, talk...)
		in.Receipt = &receipt
		got := r.capture(in)
		if got.Backfilled != 278 || len(got.Turns) != 2 {
			r.Errorf("%+v", got)
		}
		said := r.said(got.Session)
		if len(said) != 280 || said[279] != "assistant: answer number 139 here <279" || !strings.HasSuffix(said[277], "backfill") {
			r.Errorf("%d turns: %q", len(said), said[len(said)-3:])
		}
		if rc := must[dhruva.Receipt](r)(r.l.Receipt(r.ctx(), receipt.ID)); rc.State != "final" || rc.Session != got.Session || rc.Ingest != "stored" || !cmp.Equal(rc.TurnIDs, got.Turns) {
			r.Errorf("%+v", rc)
		}
		r.l.Limits.History = 10 // only the latest of a new conversation's history
		sp2 := r.space("other")
		got = r.capture(call(sp2.ID, talk...))
		if got.Backfilled != 10 || len(r.said(got.Session)) != 12 {
			r.Errorf("%+v", got)
		}
		got = r.capture(call(sp2.ID, append(talk, "one more question", "one more answer")...))
		if got.Backfilled != 0 || len(r.said(got.Session)) != 14 {
			r.Errorf("%+v", got)
		}
	})
}

// A history of assistant texts alone, longer than a chunk, ends too.
func TestCaptureManyAssistantTexts(t *testing.T) {
	each(t, func(r *rig) {
		in := call(r.space("work").ID, "the only question here", "the final answer here")
		for i := range 230 {
			in.History = append(in.History, asst(fmt.Sprintf("step number %d was done", i)))
		}
		got := r.capture(in)
		if got.Backfilled != 230 || len(r.said(got.Session)) != 232 {
			r.Errorf("%+v, %d turns", got, len(r.said(got.Session)))
		}
	})
}

// In a tool loop the human turns stay the same and the assistant goes on.
func TestCaptureToolLoop(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		in := call(sp.ID, "fix the failing test", "I will look at it")
		in.Assistant.Interim = true
		first := r.capture(in)
		in = call(sp.ID, "fix the failing test", "the import was missing")
		in.History = []ledger.Unit{user("fix the failing test"), asst("I will look at it")}
		got := r.capture(in)
		in = call(sp.ID, "fix the failing test", "all tests pass now")
		in.History = []ledger.Unit{user("fix the failing test"), asst("I will look at it"), asst("the import was missing")}
		r.capture(in)
		if got.Session != first.Session || got.Turns[0] != first.Turns[0] {
			r.Errorf("%+v", got)
		}
		r.wantSaid(first.Session, "user: fix the failing test <0", "assistant: I will look at it <1", "assistant: the import was missing <2", "assistant: all tests pass now <3")
	})
}

// A hint names the session, always together with the key that sent it; a
// sliding window of history does not store what the session holds.
func TestCaptureHints(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		with := func(hint string, texts ...string) ledger.CaptureInput {
			in := call(sp.ID, texts...)
			in.Hint = hint
			return in
		}
		a := r.capture(with("A", "the same first words", "one answer here"))
		b := r.capture(with("B", "the same first words", "one answer here"))
		if a.Session == b.Session {
			r.Error("two hints, one session")
		}
		a2 := r.capture(with("A", "something quite different", "another answer here"))
		if a2.Session != a.Session {
			r.Error("one hint, two sessions")
		}
		slid := with("A", "something quite different", "another answer here", "a third question here", "a third answer here")
		r.capture(slid)
		r.wantSaid(a.Session, "user: the same first words <0", "assistant: one answer here <1", "user: something quite different <2",
			"assistant: another answer here <3", "user: a third question here <4", "assistant: a third answer here <5")
		unknown := with("A", "this was never captured", "ok", "a fourth question here", "a fourth answer here")
		if got := r.capture(unknown); got.Backfilled != 1 {
			r.Errorf("%+v %q", got, r.said(a.Session))
		}
		other := r.owner
		other.Key = "another key"
		c, err := r.l.Capture(r.as(other), with("A", "the same first words", "one answer here"))
		if err != nil || c.Session == a.Session {
			r.Errorf("another key's hint: %+v %v", c, err)
		}
		got, ok, err := r.l.SessionOf(r.ctx(), sp.ID, "B", nil)
		if err != nil || !ok || got != b.Session {
			r.Errorf("%s %v %v", got, ok, err)
		}
		r.must(r.l.DeleteSession(r.ctx(), b.Session))
		d := r.capture(with("B", "the same first words", "one answer here"))
		if d.Session == b.Session {
			r.Error("a hidden session was written to")
		}
	})
}

// Two people who begin with the same words do not share a session, and neither
// do two spaces.
func TestCaptureKeepsPeopleApart(t *testing.T) {
	each(t, func(r *rig) {
		sp, other := r.space("work"), r.space("other")
		a := r.capture(call(sp.ID, "hello, can you help me", "of course I can"))
		p := r.owner
		p.ID = "somebody else"
		b := must[ledger.Captured](r)(r.l.Capture(r.as(p), call(sp.ID, "hello, can you help me", "of course I can")))
		c := r.capture(call(other.ID, "hello, can you help me", "of course I can"))
		if a.Session == b.Session || a.Session == c.Session {
			r.Errorf("%s %s %s", a.Session, b.Session, c.Session)
		}
		if a.Sources[0] != b.Sources[0] || a.Sources[0] == c.Sources[0] {
			r.Errorf("content ids: %v %v %v", a.Sources, b.Sources, c.Sources)
		}
	})
}

// Contracts 18: a failed call stores no turn in a conversation and keeps the
// user's text once.
func TestCaptureFailedCall(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		receipt := must[dhruva.Receipt](r)(r.l.OpenReceipt(r.ctx(), dhruva.Receipt{Kind: "proxy", Space: sp.ID}))
		in := call(sp.ID, "earlier question here", "earlier answer here", "my passport expires in June", "")
		in.Receipt = &receipt
		got := r.capture(in)
		s := must[dhruva.Session](r)(r.l.Session(r.ctx(), got.Session))
		if s.Kind != dhruva.SessionNotes || len(got.Sources) != 1 || s.LastSeq != 1 {
			r.Errorf("%+v %+v", got, s)
		}
		if rc := must[dhruva.Receipt](r)(r.l.Receipt(r.ctx(), receipt.ID)); rc.State != "final" {
			r.Errorf("%+v", rc)
		}
		in.Receipt = nil
		if again := r.capture(in); again.Skipped != ledger.SkippedKnown || len(r.said(got.Session)) != 1 {
			r.Errorf("%+v", again)
		}
		_, ok, err := r.l.SessionOf(r.ctx(), sp.ID, "", in.Chain)
		if err != nil || ok {
			r.Errorf("a failed call made a conversation: %v %v", ok, err)
		}
		// The retry works: turns in a conversation, the same source.
		ok2 := r.capture(call(sp.ID, "my passport expires in June", "noted, June it is"))
		v := must[ledger.SourceView](r)(r.l.Source(r.ctx(), sp.ID, got.Sources[0]))
		if len(v.References) != 2 || ok2.Sources[0] != got.Sources[0] || v.Class != dhruva.ClassUserTyped {
			r.Errorf("%+v", v)
		}
		if got := r.capture(call(sp.ID, "yes", "")); got.Skipped != ledger.SkippedTrivial || got.Session != "" {
			r.Errorf("%+v", got)
		}
	})
}

// M63: a tombstone blocks its id in its generation, in silence; M64: a later
// generation may say it again.
func TestM63TombstonedTextIsNotBroughtBack(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		gone := dhruva.ContentID(r.keys, tenant, sp.ID, dhruva.RoleUser, "the secret is 4711")
		r.tombstone(sp.ID, 1, gone)
		got := r.capture(call(sp.ID, "the secret is 4711", "I will keep it safe"))
		if got.Skipped != ledger.SkippedTombstoned || len(got.Sources) != 1 {
			r.Errorf("%+v", got)
		}
		r.wantSaid(got.Session, "user:  <0 redacted", "assistant: I will keep it safe <1")
		// As history, and in the same session.
		got2 := r.capture(call(sp.ID, "the secret is 4711", "I will keep it safe", "what was it again", "I do not know"))
		if got2.Session != got.Session || len(r.said(got.Session)) != 4 {
			r.Errorf("%+v %q", got2, r.said(got.Session))
		}
		if failed := r.capture(call(sp.ID, "the secret is 4711", "")); failed.Skipped != ledger.SkippedTombstoned || len(failed.Sources) != 0 {
			r.Errorf("%+v", failed)
		}
		_, err := r.l.Remember(r.ctx(), ledger.RememberInput{Space: sp.ID, Text: "the secret is 4711", Authority: "user"})
		r.is(err, dhruva.ErrConflict)
		if !strings.Contains(err.Error(), "SOURCE_ID_PURGED") {
			r.Error(err)
		}
		res := must[ledger.ImportResult](r)(r.l.ImportTurns(r.ctx(), ledger.ImportInput{Space: sp.ID, Key: "k", Turns: []ledger.ImportedTurn{{Role: dhruva.RoleUser, Text: "the secret is 4711"}, {Role: dhruva.RoleUser, Text: "another fact here"}}}))
		if res.New != 1 || res.Skipped != 1 {
			r.Errorf("%+v", res)
		}
		s := r.session(sp.ID)
		r.say(s.ID, "the secret is 4711", "a new answer to it")
		_, err = r.l.Source(r.ctx(), sp.ID, gone)
		r.is(err, dhruva.ErrNotFound)
	})
	each(t, func(r *rig) {
		sp := r.space("work")
		gone := dhruva.ContentID(r.keys, tenant, sp.ID, dhruva.RoleUser, "the secret is 4711")
		r.tombstone(sp.ID, 1, gone)
		r.clear(sp.ID)
		in := call(sp.ID, "the secret is 4711", "I will keep it safe")
		_, err := r.l.Capture(r.ctx(), in) // M60: it began before the clear
		r.is(err, dhruva.ErrFenced)
		in.Assistant = nil
		_, err = r.l.Capture(r.ctx(), in)
		r.is(err, dhruva.ErrFenced)
		if n := count(r.l.ListSessions(r.ctx(), dhruva.SessionQuery{})); n != 0 {
			r.Errorf("%d sessions", n)
		}
		in = call(sp.ID, "the secret is 4711", "I will keep it safe")
		in.Generation = 2
		got := r.capture(in)
		if len(got.Sources) != 2 || got.Sources[0] != gone { // M64
			r.Errorf("%+v", got)
		}
	})
}

// M62: captures and clears never interleave: a capture is whole in the
// generation its request began in, or it is fenced and leaves nothing.
func TestM62ParallelCapturesAndClears(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		var wg sync.WaitGroup
		var mu sync.Mutex
		stored := map[int64]int{}
		for i := range 32 {
			wg.Go(func() {
				if i%8 == 7 {
					r.clear(sp.ID)
					return
				}
				g, err := r.l.Generation(r.ctx(), sp.ID)
				if err != nil {
					r.Error(err)
				}
				in := call(sp.ID, fmt.Sprintf("conversation %d says this", i), fmt.Sprintf("answer %d to that", i))
				in.Generation = g
				switch got, err := r.l.Capture(r.ctx(), in); {
				case err == nil:
					mu.Lock()
					stored[g] += len(got.Sources)
					mu.Unlock()
				case !errors.Is(err, dhruva.ErrFenced):
					r.Error(err)
				}
			})
		}
		wg.Wait()
		g := must[int64](r)(r.l.Generation(r.ctx(), sp.ID))
		if g != 5 {
			r.Errorf("generation %d", g)
		}
		if n := count(r.l.ListSources(r.ctx(), dhruva.SourceQuery{Space: sp.ID, Page: dhruva.Page{Limit: 1000}})); n != stored[g] {
			r.Errorf("%d sources in generation %d, want %d", n, g, stored[g])
		}
	})
}

// Captures of one conversation at once leave one gap-free session.
func TestParallelCapturesOfOneConversation(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		first := r.capture(call(sp.ID, "the common beginning", "the common answer"))
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				in := call(sp.ID, "the common beginning", "the common answer", fmt.Sprintf("question %d of many", i%8), fmt.Sprintf("answer %d of many", i))
				if got, err := r.l.Capture(r.ctx(), in); err != nil || got.Session != first.Session {
					r.Errorf("%+v %v", got, err)
				}
			})
		}
		wg.Wait()
		if n := len(r.said(first.Session)); n != 2+8+16 {
			r.Errorf("%d turns", n)
		}
	})
}

func TestCaptureInputs(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		_, err := r.l.Capture(r.ctx(), ledger.CaptureInput{Space: sp.ID, Generation: 1})
		r.is(err, dhruva.ErrInvalid)
		in := call(sp.ID, "one question here", "one answer here")
		in.History = []ledger.Unit{user("a b c d"), user("e f g h"), user("i j k l")}
		_, err = r.l.Capture(r.ctx(), in)
		r.is(err, dhruva.ErrInvalid)
		_, err = r.l.Capture(r.with(dhruva.MemoryRead, dhruva.ProxyUse), call(sp.ID, "one question here", "one answer here"))
		r.is(err, dhruva.ErrDenied)
		in = call(sp.ID, "one \x00 question \xff here", "one answer here")
		in.Assistant.NoSource = true
		got := r.capture(in)
		r.wantSaid(got.Session, "user: one \uFFFD question \uFFFD here <0", "assistant: one answer here <1")
		if len(got.Sources) != 1 {
			r.Errorf("%+v", got)
		}
		receipt := must[dhruva.Receipt](r)(r.l.OpenReceipt(r.ctx(), dhruva.Receipt{Kind: "proxy", Space: sp.ID}))
		in = call(sp.ID, "another question here", "another answer here")
		in.Receipt = &receipt
		r.capture(in)
		_, err = r.l.Capture(r.ctx(), in) // its receipt is final
		r.is(err, dhruva.ErrConflict)
	})
}
