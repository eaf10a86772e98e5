package memory_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/llm"
	"github.com/dhruva-memory/dhruva/memory"
)

// ask sends with memory off.
func (r *rig) ask(in memory.SendInput) memory.SendResult {
	r.Helper()
	in.Memory = "off"
	out, err := r.m.Send(r.ctx(), in, nil)
	r.must(err)
	return out
}

// Contracts 23: an edit is a sibling. The model is given what the message follows,
// and what was said after the old one is not part of the conversation any more.
func TestEditIsASibling(t *testing.T) {
	r := newRig(t)
	s := r.session(r.space("x").ID)
	r.model.Default = func(q llm.Request) llm.Reply {
		return llm.Reply{Text: "re " + q.Messages[0].Content[strings.LastIndex(q.Messages[0].Content, "\n")+1:]}
	}
	for _, text := range []string{"ONE", "TWO", "THREE"} {
		r.send(s, text)
	}
	second := r.model.Requests()[1].Messages[0].Content
	out := r.ask(memory.SendInput{Session: s.ID, Message: "TWO again", Edit: 3})
	if got := r.prompt(); got != strings.Replace(second, "Query:\nTWO", "Query:\nTWO again", 1) {
		t.Errorf("prompt:\n%s", got)
	}
	if len(out.Turns) != 2 || out.Turns[0].Seq != 7 || out.Turns[0].Parent != 2 || out.Turns[1].Parent != 7 || cmp.Diff([]int64{1, 2}, out.Context.Turns) != "" {
		t.Errorf("%+v, given %v", out.Turns, out.Context.Turns)
	}
	out = r.ask(memory.SendInput{Session: s.ID, Message: "FOUR"})
	if got := r.prompt(); strings.Contains(got, "THREE") || strings.Contains(got, "User: TWO\n") || !strings.Contains(got, "TWO again") || cmp.Diff([]int64{1, 2, 7, 8}, out.Context.Turns) != "" {
		t.Errorf("given %v:\n%s", out.Context.Turns, got)
	}
	model := r.background(answers(`{"decisions":[{"text":"a","turns":[1,2,3,7]}]}`)...)
	draft, err := r.m.Draft(r.ctx(), memory.DraftInput{Session: s.ID})
	r.must(err)
	if strings.Contains(material(model), "THREE") || cmp.Diff([]dhruva.Cite{{From: 1, Through: 2}, {From: 7, Through: 7}}, draft.Decisions[0].Cites) != "" {
		t.Errorf("%+v\n%s", draft.Decisions, material(model))
	}
	in := draft.Commit()
	in.Title = "T"
	r.commit(s, in)

	fresh := r.session(r.space("y").ID)
	r.send(fresh, "FIRST")
	if out := r.ask(memory.SendInput{Session: fresh.ID, Message: "FIRST again", Edit: 1}); r.prompt() != "FIRST again" || out.Turns[0].Parent != 0 {
		t.Errorf("%+v:\n%s", out.Turns, r.prompt())
	}
}

// Contracts 23: an answer that is made again is a sibling, and is given the bytes
// that the first one was.
func TestRegenerationIsGivenTheSamePrompt(t *testing.T) {
	r := newRig(t)
	sp := r.space("x")
	s := r.session(sp.ID)
	r.send(s, "ONE")
	r.commit(s, ledger.CommitInput{Title: "C", Summary: "state C"})
	for _, text := range []string{"TWO", "THREE\nlines", "FOUR"} {
		r.send(s, text)
	}
	for seq, n := range map[int64]int{4: 1, 6: 2, 8: 3} {
		out := r.ask(memory.SendInput{Session: s.ID, Regenerate: seq})
		if diff := cmp.Diff(r.model.Requests()[n], r.model.Requests()[len(r.model.Requests())-1]); diff != "" {
			t.Errorf("turn %d:\n%s", seq, diff)
		}
		if len(out.Turns) != 1 || out.Turns[0].Role != dhruva.RoleAssistant || out.Turns[0].Parent != seq-1 {
			t.Errorf("%+v", out.Turns)
		}
		session, err := r.m.Ledger.Session(r.ctx(), s.ID)
		r.must(err)
		if session.LastSeq != out.Turns[0].Seq || session.Tip != 0 && session.Tip != session.LastSeq {
			t.Errorf("tip %d of %d", session.Tip, session.LastSeq)
		}
	}
}

// Recall does not bring back to a model what it is asked to make anew.
func TestRegenerationRecallsNoOldAnswer(t *testing.T) {
	r := newRig(t)
	s := r.session(r.space("x").ID)
	r.model.Enqueue(llm.Reply{Text: "The bicycle lock code is 4711, I believe."})
	r.send(s, "Which code does the bicycle lock have?")
	out, err := r.m.Send(r.ctx(), memory.SendInput{Session: s.ID, Regenerate: 2}, nil)
	r.must(err)
	if got := r.prompt(); strings.Contains(got, "4711") || len(out.Evidence) != 0 {
		t.Errorf("prompt:\n%s", got)
	}
	_, err = r.m.Send(r.ctx(), memory.SendInput{Session: s.ID, Edit: 1, Message: "What code does the bicycle lock have, please?"}, nil)
	r.must(err)
	if got := r.prompt(); strings.Contains(got, "Which code") {
		t.Errorf("prompt:\n%s", got)
	}
}

func TestEditsThatCannotBe(t *testing.T) {
	r := newRig(t)
	s := r.session(r.space("x").ID)
	r.send(s, "ONE")
	r.send(s, "TWO")
	before, err := r.m.Ledger.Session(r.ctx(), s.ID)
	r.must(err)
	calls := len(r.model.Requests())
	for name, c := range map[string]struct {
		in   memory.SendInput
		want error
	}{
		"an answer is edited":    {memory.SendInput{Edit: 2, Message: "x"}, dhruva.ErrInvalid},
		"a message is made anew": {memory.SendInput{Regenerate: 1}, dhruva.ErrInvalid},
		"edit of nothing":        {memory.SendInput{Edit: 9, Message: "x"}, dhruva.ErrNotFound},
		"regenerate nothing":     {memory.SendInput{Regenerate: 9}, dhruva.ErrNotFound},
		"both":                   {memory.SendInput{Edit: 1, Regenerate: 2}, dhruva.ErrInvalid},
		"negative":               {memory.SendInput{Edit: -1, Message: "x"}, dhruva.ErrInvalid},
		"with a message":         {memory.SendInput{Regenerate: 2, Message: "x"}, dhruva.ErrInvalid},
		"edit without a message": {memory.SendInput{Edit: 1}, dhruva.ErrInvalid},
	} {
		c.in.Session = s.ID
		if _, err := r.m.Send(r.ctx(), c.in, nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(r.model.Requests()); n != calls {
		t.Errorf("the model was asked %d times", n-calls)
	}
	for _, in := range []memory.SendInput{{Edit: 1, Message: "x"}, {Regenerate: 2}} {
		r.model.Enqueue(llm.Reply{Err: llm.NewError("scripted", 500, "server_error", "boom", nil)})
		in.Session = s.ID
		if _, err := r.m.Send(r.ctx(), in, nil); !errors.Is(err, dhruva.ErrUnavailable) {
			t.Errorf("%v", err)
		}
	}
	after, err := r.m.Ledger.Session(r.ctx(), s.ID)
	r.must(err)
	if diff := cmp.Diff(before, after); diff != "" || len(r.turns(s.ID)) != 4 {
		t.Errorf("%d turns %s", len(r.turns(s.ID)), diff)
	}
}

// While something is mounted, what the mount set aside is not made anew; a message
// that is edited from before it sees nothing of that either.
func TestEditWhileMounted(t *testing.T) {
	r := newRig(t)
	s := r.session(r.space("x").ID)
	r.send(s, "BEFORE-1")
	c := r.commit(s, ledger.CommitInput{Title: "C", Summary: "state C"})
	r.send(s, "BEFORE-2")
	_, err := r.m.Ledger.Mount(r.ctx(), s.ID, c.Hash.String(), 1)
	r.must(err)
	r.send(s, "AFTER-1")
	if _, err := r.m.Send(r.ctx(), memory.SendInput{Session: s.ID, Regenerate: 4}, nil); !errors.Is(err, dhruva.ErrConflict) {
		t.Errorf("%v", err)
	}
	for i, in := range []memory.SendInput{{Edit: 3, Message: "EDIT of one before"}, {Edit: 5, Message: "EDIT of one after"}, {Message: "PLAIN"}} {
		in.Session = s.ID
		r.ask(in)
		if got := r.prompt(); strings.Contains(got, "BEFORE") || strings.Contains(got, "AFTER-1") || !strings.Contains(got, "state C") {
			t.Errorf("%s:\n%s", fmt.Sprint(i), got)
		}
	}
}

// Turns that the budget of the history leaves out are still the session's own:
// recall brings them back where it sees nothing but the window.
func TestRecallOfCutTurns(t *testing.T) {
	r := newRig(t)
	r.m.Limits.HistoryTurns = 4
	s := r.session(r.space("x").ID)
	r.send(s, "The bicycle lock code is BEFORE-9999.")
	c := r.commit(s, ledger.CommitInput{Title: "C", Summary: "state C"})
	r.send(s, "Hold on a moment please")
	_, err := r.m.Ledger.Mount(r.ctx(), s.ID, c.Hash.String(), 1)
	r.must(err)
	r.send(s, "The bicycle lock code is CUT-4711.")
	for i := range 6 {
		r.send(s, fmt.Sprintf("We talk of something else, number %d", i))
	}
	_, err = r.m.Send(r.ctx(), memory.SendInput{Session: s.ID, Message: "What is the bicycle lock code?"}, nil)
	r.must(err)
	if got := r.prompt(); !strings.Contains(got, "CUT-4711") || strings.Contains(got, "BEFORE") {
		t.Errorf("prompt:\n%s", got)
	}
}
