package ledger_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// One rule for names of branches, in a fork and in a save alike.
func TestBranchNames(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		c := r.commit(ledger.CommitInput{Space: sp.ID, Title: "start"})
		for name, want := range map[string]error{
			"feature": nil, "Größe 2": nil, "a.b/c-d": nil, "mainline": nil,
			"a\nb": dhruva.ErrInvalid, "a\u0085b": dhruva.ErrInvalid, "a\u2028b": dhruva.ErrInvalid, "a\x00b": dhruva.ErrInvalid,
			"a\u202eb": dhruva.ErrInvalid, "a\u2066b": dhruva.ErrInvalid, "a\u200bb": dhruva.ErrInvalid, "a\ufeffb": dhruva.ErrInvalid,
			"a\u00adb": dhruva.ErrInvalid, "a\U000e0041b": dhruva.ErrInvalid, "a\ufe0fb": dhruva.ErrInvalid, "a\u3164b": dhruva.ErrInvalid,
			"a\u00a0b": dhruva.ErrInvalid, "\xff": dhruva.ErrInvalid, "-x": dhruva.ErrInvalid, " --force": dhruva.ErrInvalid,
			"a..b": dhruva.ErrInvalid, "..": dhruva.ErrInvalid, "MAIN": dhruva.ErrInvalid, "Main": dhruva.ErrInvalid,
			"ma\u0130n": dhruva.ErrInvalid, "ma\u0131n": dhruva.ErrInvalid, "\uff4d\uff41\uff49\uff4e": dhruva.ErrInvalid,
			"ma\u200bin": dhruva.ErrInvalid, strings.Repeat("n", 201): dhruva.ErrTooLarge,
		} {
			_, err := r.l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: c.Hash.String(), Branch: name})
			wantSame(r, "fork to "+name, err, want)
			_, err = r.l.Commit(r.ctx(), ledger.CommitInput{Space: sp.ID, Title: "x", Branch: name})
			wantSame(r, "commit to "+name, err, want)
		}
		_, err := r.l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: c.Hash.String(), Branch: "main"})
		r.is(err, dhruva.ErrInvalid)
		r.commit(ledger.CommitInput{Space: sp.ID, Title: "next", Branch: "main"})
	})
}

func wantSame(r *rig, what string, err, want error) {
	r.Helper()
	if want == nil {
		r.must(err)
		return
	}
	if err == nil {
		r.Errorf("%q was taken", what)
		return
	}
	r.is(err, want)
}

const strangeModel = "gpt\n\u202e-4\t\u200bo \u2028 x"

// Provider and model are labels: what a client asks of our API is refused, what
// a call brought that has happened already is mended.
func TestProviderAndModelAreLabels(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		c := r.commit(ledger.CommitInput{Space: sp.ID, Title: "start"})
		long := strings.Repeat("m", 300)
		for name, want := range map[string]error{strangeModel: dhruva.ErrInvalid, "a\u202eb": dhruva.ErrInvalid, long: dhruva.ErrTooLarge} {
			for _, in := range []ledger.SessionInput{{Space: sp.ID, Model: name}, {Space: sp.ID, Provider: name}} {
				_, err := r.l.CreateSession(r.ctx(), in)
				r.is(err, want)
				_, err = r.l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: c.Hash.String(), Provider: in.Provider, Model: in.Model})
				r.is(err, want)
			}
		}
		s := r.session(sp.ID)
		in := exchange("first question here", "first answer here")
		in.Provider, in.Model = long, strangeModel
		in.Receipt = &dhruva.Receipt{ID: "r1", Kind: "send", Provider: long, Model: strangeModel}
		must[[]dhruva.Turn](r)(r.l.AppendExchange(r.ctx(), r.begin(s.ID), in))
		got := r.capture(withModel(call(sp.ID, "another question here", "another answer here"), long, strangeModel))
		failed := r.capture(withModel(call(sp.ID, "a question that failed", ""), long, strangeModel))
		want := []string{strings.Repeat("m", 200), "gpt -4 o x"}
		for _, id := range []dhruva.SessionID{s.ID, got.Session} {
			s := must[dhruva.Session](r)(r.l.Session(r.ctx(), id))
			if diff := cmp.Diff(want, []string{s.Provider, s.Model}); diff != "" {
				r.Error(diff)
			}
		}
		for _, id := range []dhruva.SessionID{s.ID, got.Session, failed.Session} {
			for _, t := range must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), id, 0, 0)) {
				if diff := cmp.Diff(want, []string{t.Provider, t.Model}); diff != "" {
					r.Error(diff)
				}
			}
		}
		rec := must[dhruva.Receipt](r)(r.l.Receipt(r.ctx(), "r1"))
		if diff := cmp.Diff(want, []string{rec.Provider, rec.Model}); diff != "" {
			r.Error(diff)
		}
	})
}

func withModel(in ledger.CaptureInput, provider, model string) ledger.CaptureInput {
	in.Provider, in.Model = provider, model
	return in
}

// dialects.md 5: a captured turn has at most 64 KiB of text, head and tail; what
// is sent to our own API keeps its own limit.
func TestCapturedTextKeepsHeadAndTail(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		long := func(what string) string {
			return what + " begins " + strings.Repeat("é and so on ", 8<<10) + " and " + what + " ends"
		}
		ask, answer, old, failing := long("the question"), long("the answer"), long("an old answer"), long("the failed question")
		got := r.capture(call(sp.ID, "an old question here", old, ask, answer))
		failed := r.capture(call(sp.ID, failing, ""))
		turns := append(must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), got.Session, 0, 0))[1:],
			must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), failed.Session, 0, 0))...)
		for i, full := range []string{old, ask, answer, failing} {
			head, tail, ok := strings.Cut(turns[i].Content, "\n…\n")
			if !ok || !turns[i].Truncated || !utf8.ValidString(turns[i].Content) || !strings.HasPrefix(full, head) || !strings.HasSuffix(full, tail) {
				r.Errorf("turn %d: %d bytes, truncated %v", i, len(turns[i].Content), turns[i].Truncated)
			}
			if n := len(turns[i].Content); n > 64<<10 || n < 64<<10-64 {
				r.Errorf("turn %d: %d bytes", i, n)
			}
		}
		next := r.capture(call(sp.ID, "an old question here", old, ask, answer, "and the next one now", "its answer here"))
		if next.Session != got.Session || next.Backfilled != 0 {
			r.Errorf("the long texts were not known again: %+v", next)
		}
		cut := must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), got.Session, 0, 0))[3].Content
		if again := r.capture(call(sp.ID, "an old question here", old, ask, cut)); again.Skipped != ledger.SkippedKnown {
			r.Errorf("a text cut by its observer was not known again: %+v", again)
		}
		exact := strings.Repeat("four", 64<<10/4)
		at := r.capture(call(sp.ID, exact, "an answer to all of it"))
		if whole := must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), at.Session, 0, 1))[0]; whole.Truncated || whole.Content != exact {
			r.Errorf("%d bytes, truncated %v", len(whole.Content), whole.Truncated)
		}
		s := r.session(sp.ID)
		sent := r.say(s.ID, ask, answer)
		if sent[0].Content != ask || sent[1].Content != answer || sent[0].Truncated || sent[1].Truncated {
			r.Error("a native send was cut")
		}
	})
}

func TestTinyCaptureLimit(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		for _, max := range []int{1, 7, 12, 40} {
			r.l.Limits.CaptureBytes = max
			got := r.capture(call(sp.ID, fmt.Sprintf("%d words to be cut here, é", max), "é answer to be cut here too é"))
			for _, t := range must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), got.Session, 0, 0)) {
				if len(t.Content) > max || !t.Truncated && max < 27 || !utf8.ValidString(t.Content) {
					r.Errorf("%d: %q", max, t.Content)
				}
			}
		}
	})
}

// The memory plane needs memory:write: without it a send stores its turns and a
// save its checkpoint, and neither makes a source.
func TestNoSourcesWithoutMemoryWrite(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		s := r.session(sp.ID)
		for _, scopes := range [][]dhruva.KeyScope{
			{dhruva.StateRead, dhruva.StateWrite}, {dhruva.StateWrite, dhruva.MemoryRead, dhruva.MemoryAttest, dhruva.ProxyUse},
		} {
			ctx := r.with(scopes...)
			turns := must[[]dhruva.Turn](r)(r.l.AppendExchange(ctx, must[ledger.Began](r)(r.l.Begin(ctx, s.ID)), exchange("the harbour opens at six", "noted, at six")))
			must[dhruva.Checkpoint](r)(r.l.Commit(ctx, ledger.CommitInput{Session: s.ID, Title: "one", Summary: "the harbour opens at six"}))
			if len(turns) != 2 {
				r.Errorf("%d turns", len(turns))
			}
		}
		if n := count(r.l.ListSources(r.ctx(), dhruva.SourceQuery{Space: sp.ID})); n != 0 {
			r.Errorf("%d sources", n)
		}
		for _, c := range r.feed(sp.ID) {
			if c.Kind != dhruva.ChangeCheckpoint {
				r.Errorf("announced %+v", c)
			}
		}
		ctx := r.with(dhruva.StateWrite, dhruva.MemoryWrite)
		must[[]dhruva.Turn](r)(r.l.AppendExchange(ctx, must[ledger.Began](r)(r.l.Begin(ctx, s.ID)), exchange("the harbour opens at six", "noted, at six")))
		if n := count(r.l.ListSources(r.ctx(), dhruva.SourceQuery{Space: sp.ID})); n != 2 {
			r.Errorf("%d sources with memory:write", n)
		}
	})
}
