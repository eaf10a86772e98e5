package memory_test

import (
	"flag"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/memory"
)

// checks sets how many runs rapid makes in this test.
func checks(t *testing.T, n int) {
	f := flag.Lookup("rapid.checks")
	if old := f.Value.String(); old == f.DefValue { // nobody asked for another number
		if err := f.Value.Set(strconv.Itoa(n)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Value.Set(old) })
	}
}

// seen is what a session may be given; unseen is everything else that there is.
type seen struct {
	mode     dhruva.Mode
	depth    int
	chain    []string // what the visible checkpoints say, oldest first
	after    []string // what was said since the boundary
	question string
}

type unseen struct {
	before, older, elsewhere, later, fields []string
	aside                                   []string // what an edit left aside, since the boundary
}

func draws(t *rapid.T, label string, most int) (out []string) {
	for i := range rapid.IntRange(0, most).Draw(t, label) {
		out = append(out, fmt.Sprintf("NOISE-%s-%d %s", label, i, rapid.SampledFrom(words).Draw(t, label+" word")))
	}
	return out
}

func someSeen(t *rapid.T) seen {
	s := seen{
		mode:  rapid.SampledFrom([]dhruva.Mode{dhruva.ModeFresh, dhruva.ModeHead, dhruva.ModeMounted, dhruva.ModeForked}).Draw(t, "mode"),
		depth: rapid.SampledFrom([]int{1, 3}).Draw(t, "depth"), question: "QUESTION " + rapid.SampledFrom(words).Draw(t, "question"),
	}
	if s.mode != dhruva.ModeFresh {
		for i := range s.depth {
			s.chain = append(s.chain, fmt.Sprintf("CONCLUDED-%d %s", i, rapid.SampledFrom(words).Draw(t, "concluded")))
		}
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "after") {
		s.after = append(s.after, fmt.Sprintf("AFTER-%d %s", i, rapid.SampledFrom(words).Draw(t, "said after")))
	}
	return s
}

func someUnseen(t *rapid.T) unseen {
	return unseen{
		before: draws(t, "before", 2), older: draws(t, "older", 2), elsewhere: draws(t, "elsewhere", 2), later: draws(t, "later", 2), fields: draws(t, "fields", 1),
		aside: draws(t, "aside", 2),
	}
}

// state is a store with both in it, and the session.
type state struct {
	*rig
	seen
	unseen
	space, other dhruva.SpaceID
}

// say stores an exchange without asking anybody and without making sources.
func (w *state) say(s dhruva.Session, texts ...string) {
	ctx := as(dhruva.StateRead, dhruva.StateWrite)
	for _, text := range texts {
		began, err := w.m.Ledger.Begin(ctx, s.ID)
		w.must(err)
		_, err = w.m.Ledger.AppendExchange(ctx, began, ledger.Exchange{User: ledger.Unit{Text: text}, Assistant: &ledger.Unit{Text: "Re: " + text}})
		w.must(err)
	}
}

// goOn says what is visible since the boundary, among siblings that are left aside.
func (w *state) goOn(s dhruva.Session) {
	ctx := as(dhruva.StateRead, dhruva.StateWrite)
	tip := func() int64 {
		now, err := w.m.Ledger.Session(ctx, s.ID)
		w.must(err)
		if now.Tip > 0 {
			return now.Tip
		}
		return now.LastSeq
	}
	for _, text := range w.after {
		at := tip()
		w.say(s, w.aside...)
		began, err := w.m.Ledger.Begin(ctx, s.ID)
		w.must(err)
		_, err = w.m.Ledger.AppendExchange(ctx, began, ledger.Exchange{Parent: &at, User: ledger.Unit{Text: text}, Assistant: &ledger.Unit{Text: "Re: " + text}})
		w.must(err)
	}
}

// conclude saves a checkpoint. What no prompt shows of it is noise.
func (w *state) conclude(s dhruva.Session, text, branch string) dhruva.Checkpoint {
	in := ledger.CommitInput{Session: s.ID, Space: s.Space, Branch: branch, Title: "T", Summary: text, Decisions: items(text + " decided"), Tasks: items(text + " to do")}
	for _, n := range w.fields {
		in.Title, in.Objective, in.OpenQuestions, in.Entities = n, n, items(n), items(n)
		in.Tasks = append(in.Tasks, ledger.ItemInput{Text: n, Attrs: []dhruva.Attr{{Name: dhruva.AttrStatus, Value: "done"}, {Name: dhruva.AttrSlug, Value: n}}})
	}
	c, err := w.m.Ledger.Commit(as(dhruva.StateRead, dhruva.StateWrite), in)
	w.must(err)
	return c
}

// around is what goes on in the same space and in another one, on other branches.
func (w *state) around(label string) {
	for i, text := range w.elsewhere {
		neighbour := w.session(w.space)
		w.say(neighbour, text)
		w.conclude(neighbour, text, fmt.Sprint(label, i))
		foreign := w.session(w.other)
		w.say(foreign, text)
		w.conclude(foreign, text, "")
	}
}

// lineage saves what is visible of a session's line, upon what is not.
func (w *state) lineage(s dhruva.Session) (head dhruva.Checkpoint) {
	for _, text := range w.older {
		w.say(s, text)
		w.conclude(s, text, "")
	}
	for _, text := range w.chain {
		w.say(s, w.before...)
		head = w.conclude(s, text, "")
	}
	return head
}

func (w *state) arrange() dhruva.Session {
	w.space, w.other = w.rig.space("here").ID, w.rig.space("elsewhere").ID
	w.around("early")
	if w.mode == dhruva.ModeFresh {
		s, err := w.m.Ledger.CreateSession(w.ctx(), ledger.SessionInput{})
		w.must(err)
		return s
	}
	s := w.session(w.space)
	head := w.lineage(s)
	switch w.mode {
	case dhruva.ModeMounted:
		w.say(s, w.before...)
		for _, text := range w.later {
			w.conclude(s, text, "")
			w.say(s, text)
		}
		_, err := w.m.Ledger.Mount(w.ctx(), s.ID, head.Hash.String(), w.depth)
		w.must(err)
	case dhruva.ModeForked:
		fork, err := w.m.Ledger.Fork(w.ctx(), ledger.ForkInput{Checkpoint: head.Hash.String()})
		w.must(err)
		for _, text := range w.later {
			w.say(s, text)
			w.conclude(s, text, "")
		}
		return fork
	}
	return s
}

// prompts are what the models of chat and of background work are given in a store
// that holds this.
func prompts(t *testing.T, is seen, isNot unseen) (chat, draft string) {
	r := newRig(t)
	moment := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	r.m.Ledger.Now, r.m.Now = func() time.Time { return moment }, func() time.Time { return moment } // S26: equal times decide nothing
	w := &state{rig: r, seen: is, unseen: isNot}
	s := w.arrange()
	w.goOn(s)
	w.around("late")
	back := r.background(answers(nothing)...)
	_, err := r.m.Draft(r.ctx(), memory.DraftInput{Session: s.ID, Depth: is.depth})
	r.must(err)
	_, err = r.m.Send(as(dhruva.StateRead, dhruva.StateWrite), memory.SendInput{Session: s.ID, Message: is.question, Memory: "off", Depth: is.depth}, nil)
	r.must(err)
	return r.prompt(), back.Prompt()
}

// S34, S24, S6: whatever a store holds outside of a session's visible set, the
// bytes that models are given are the same, in every mode. The turns are numbered
// in a draft, so that there the numbers are left out of the comparison.
func TestS34_NothingUnseenReachesAModel(t *testing.T) {
	checks(t, testkit.Count(200, 10_000, 30_000))
	rapid.Check(t, func(rt *rapid.T) {
		is, isNot := someSeen(rt), someUnseen(rt)
		quiet, quietDraft := prompts(t, is, unseen{})
		loud, loudDraft := prompts(t, is, isNot)
		if diff := cmp.Diff(quiet, loud); diff != "" {
			rt.Fatalf("the prompt depends on what is not visible:\n%s", diff)
		}
		if diff := cmp.Diff(numbered.ReplaceAllString(quietDraft, "\n[n]"), numbered.ReplaceAllString(loudDraft, "\n[n]")); diff != "" {
			rt.Fatalf("the draft depends on what is not visible:\n%s", diff)
		}
		if strings.Contains(loud+loudDraft, "NOISE") {
			rt.Fatalf("leak:\n%s\n%s", loud, loudDraft)
		}
		for _, text := range append(is.chain, append(is.after, is.question)...) {
			if !strings.Contains(loud, text) || strings.Contains(loudDraft, text) != contains(is.after, text) {
				rt.Fatalf("%q has no part in it:\n%s\n%s", text, loud, loudDraft)
			}
		}
	})
}

// numbered are the numbers of turns in a transcript.
var numbered = regexp.MustCompile(`\n\[\d+\]`)
