package ledger_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

func TestS8SessionFields(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		s := must[dhruva.Session](r)(r.l.CreateSession(r.ctx(), ledger.SessionInput{Space: sp.ID, Provider: "echo", Model: "m"}))
		if s.Space != sp.ID || s.Fresh || s.Kind != dhruva.SessionChat || s.Branch != "main" || s.Provider != "echo" || s.Model != "m" || s.LastSeq != 0 {
			r.Errorf("%+v", s)
		}
		if want := s.CreatedAt.Format("Session Mon 02 Jan 15:04"); s.Title != want {
			r.Errorf("title %q, want %q", s.Title, want)
		}
		if got := must[dhruva.Session](r)(r.l.Session(r.ctx(), s.ID)); !cmp.Equal(got, s) {
			r.Error(cmp.Diff(s, got))
		}
		_, err := r.l.CreateSession(r.ctx(), ledger.SessionInput{Space: sp.ID, Kind: "other"})
		r.is(err, dhruva.ErrInvalid)
		_, err = r.l.SetTitle(r.ctx(), s.ID, strings.Repeat("x", 256))
		r.is(err, dhruva.ErrTooLarge)
		if got := must[dhruva.Session](r)(r.l.SetTitle(r.ctx(), s.ID, "Named")); got.Title != "Named" {
			r.Errorf("%+v", got)
		}
	})
}

// S9, contracts 3: FRESH sessions live in a hidden home, one for a principal.
func TestS9FreshLivesInAHiddenHome(t *testing.T) {
	each(t, func(r *rig) {
		homes := make([]dhruva.SpaceID, 8)
		var wg sync.WaitGroup
		for i := range homes {
			wg.Go(func() {
				s, err := r.l.CreateSession(r.ctx(), ledger.SessionInput{})
				if err != nil || !s.Fresh {
					r.Errorf("%+v %v", s, err)
				}
				homes[i] = s.Space
			})
		}
		wg.Wait()
		for _, h := range homes {
			if h != homes[0] || h == "" {
				r.Fatalf("homes %v", homes)
			}
		}
		_, err := r.l.Space(r.ctx(), string(homes[0]))
		r.is(err, dhruva.ErrNotFound)
		_, err = r.l.CreateSession(r.ctx(), ledger.SessionInput{Space: homes[0]})
		r.is(err, dhruva.ErrNotFound)
		r.is(r.l.DeleteSpace(r.ctx(), homes[0]), dhruva.ErrNotFound)
		if n := count(r.l.ListSpaces(r.ctx(), dhruva.Page{})); n != 0 {
			r.Errorf("%d spaces listed", n)
		}
		other := r.owner
		other.ID = "somebody else"
		if n := count(r.l.ListSessions(r.as(other), dhruva.SessionQuery{})); n != 0 {
			r.Errorf("another admin sees %d of my FRESH sessions", n)
		}
		mine, _, err := r.l.ListSessions(r.ctx(), dhruva.SessionQuery{})
		if err != nil || len(mine) != 8 {
			r.Errorf("%d %v", len(mine), err)
		}
		_, err = r.l.Session(r.as(other), mine[0].ID)
		r.is(err, dhruva.ErrNotFound)
	})
}

func TestS10TheLastProviderIsTheSessions(t *testing.T) {
	each(t, func(r *rig) {
		s := r.session(r.space("work").ID)
		in := exchange("first question here", "first answer here")
		r.must(second(r.l.AppendExchange(r.ctx(), r.begin(s.ID), in)))
		in.Provider, in.Model = "other", "m2"
		turns := must[[]dhruva.Turn](r)(r.l.AppendExchange(r.ctx(), r.begin(s.ID), in))
		got := must[dhruva.Session](r)(r.l.Session(r.ctx(), s.ID))
		if got.Provider != "other" || got.Model != "m2" || turns[0].Provider != "other" || turns[1].Model != "m2" {
			r.Errorf("%+v %+v", got, turns)
		}
	})
}

func second[A any](_ A, err error) error { return err }

// S1, S11, S12: turns are numbered from 1 and nothing rewrites them.
func TestS12NumbersStartAtOne(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		s := r.session(sp.ID)
		r.talk(s.ID, "topic", 3)
		turns := must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), s.ID, 0, 0))
		if diff := cmp.Diff(span(1, 6), seqs(turns)); diff != "" {
			r.Error(diff)
		}
		for i, tn := range turns {
			want := []dhruva.Role{dhruva.RoleUser, dhruva.RoleAssistant}[i%2]
			if tn.Role != want || tn.Session != s.ID || tn.Space != sp.ID || tn.Parent != int64(i) || tn.ID == "" {
				r.Errorf("%+v", tn)
			}
		}
		after := must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), s.ID, 4, 1))
		if diff := cmp.Diff([]int64{5}, seqs(after)); diff != "" {
			r.Error(diff)
		}
	})
}

// State-plane 7.6, D9: parallel sends leave gap-free numbers and adjacent pairs in
// one line: none of them is a sibling of another.
func TestS12_B6_D9_ParallelSends(t *testing.T) {
	for _, n := range []int{20, 200} {
		each(t, func(r *rig) {
			s := r.session(r.space("work").ID)
			var wg sync.WaitGroup
			for i := range n {
				wg.Go(func() {
					b, err := r.l.Begin(r.ctx(), s.ID)
					if err == nil {
						_, err = r.l.AppendExchange(r.ctx(), b, exchange(fmt.Sprintf("question %d of many", i), fmt.Sprintf("answer %d of many", i)))
					}
					if err != nil {
						r.Error(err)
					}
				})
			}
			wg.Wait()
			turns := must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), s.ID, 0, 1000))
			if diff := cmp.Diff(span(1, int64(2*n)), seqs(turns)); diff != "" {
				r.Fatal(diff)
			}
			for i := 0; i < len(turns); i += 2 {
				want := strings.Replace(turns[i].Content, "question", "answer", 1)
				if turns[i].Role != dhruva.RoleUser || turns[i+1].Content != want || turns[i].Parent != int64(i) || turns[i+1].Parent != turns[i].Seq {
					r.Fatalf("not a pair: %+v %+v", turns[i], turns[i+1])
				}
			}
		})
	}
}

// State-plane 7.7: a failed call stores neither turn and changes nothing.
func TestB7_FailedSendStoresNothing(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		s := r.session(sp.ID)
		open := must[dhruva.Receipt](r)(r.l.OpenReceipt(r.ctx(), dhruva.Receipt{Kind: "send", Space: sp.ID}))
		for _, a := range []*ledger.Unit{nil, {}} {
			in := exchange("a question that fails", "")
			in.Assistant = a
			if a == nil {
				in.Receipt = &open
			}
			turns := must[[]dhruva.Turn](r)(r.l.AppendExchange(r.ctx(), r.begin(s.ID), in))
			if len(turns) != 0 {
				r.Errorf("%+v", turns)
			}
		}
		if got := must[dhruva.Session](r)(r.l.Session(r.ctx(), s.ID)); !cmp.Equal(got, s) {
			r.Error(cmp.Diff(s, got))
		}
		if got := must[dhruva.Receipt](r)(r.l.Receipt(r.ctx(), open.ID)); got.State != "final" || len(got.TurnIDs) != 0 {
			r.Errorf("%+v", got)
		}
		if n := count(r.l.ListSources(r.ctx(), dhruva.SourceQuery{Space: sp.ID})); n != 0 {
			r.Errorf("%d sources", n)
		}
	})
}

func TestSendInput(t *testing.T) {
	each(t, func(r *rig) {
		s := r.session(r.space("work").ID)
		r.l.Limits.TurnBytes = 16
		b := r.begin(s.ID)
		_, err := r.l.AppendExchange(r.ctx(), b, exchange("", "x"))
		r.is(err, dhruva.ErrInvalid)
		_, err = r.l.AppendExchange(r.ctx(), b, exchange("a\x00b", "x"))
		r.is(err, dhruva.ErrInvalid)
		_, err = r.l.AppendExchange(r.ctx(), b, exchange("bad \xff byte", "x"))
		r.is(err, dhruva.ErrInvalid)
		_, err = r.l.AppendExchange(r.ctx(), b, exchange(strings.Repeat("x", 17), "x"))
		r.is(err, dhruva.ErrTooLarge)
		turns := must[[]dhruva.Turn](r)(r.l.AppendExchange(r.ctx(), b, exchange("fine", "answers \x00 \xff are mended: ééééééé")))
		if a := turns[1]; !a.Truncated || len(a.Content) > 16 || !strings.HasPrefix(a.Content, "answers \uFFFD ") {
			r.Errorf("%q %v", a.Content, a.Truncated)
		}
	})
}

// The receipt of a send is closed in the Update that stores its turns.
func TestSendClosesItsReceipt(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		s := r.session(sp.ID)
		in := exchange("first question here", "first answer here")
		in.Title = "A title"
		in.Receipt = ptr(must[dhruva.Receipt](r)(r.l.OpenReceipt(r.ctx(), dhruva.Receipt{Kind: "send", Space: sp.ID})))
		b := r.begin(s.ID)
		turns := must[[]dhruva.Turn](r)(r.l.AppendExchange(r.ctx(), b, in))
		got := must[dhruva.Receipt](r)(r.l.Receipt(r.ctx(), in.Receipt.ID))
		if got.State != "final" || got.Session != s.ID || got.Generation != 1 || got.FinishedAt.IsZero() || !cmp.Equal(got.TurnIDs, []dhruva.TurnID{turns[0].ID, turns[1].ID}) {
			r.Errorf("%+v", got)
		}
		if s := must[dhruva.Session](r)(r.l.Session(r.ctx(), s.ID)); s.Title != "A title" {
			r.Errorf("title %q", s.Title)
		}
		_, err := r.l.AppendExchange(r.ctx(), b, in) // final: the whole write is refused
		r.is(err, dhruva.ErrConflict)
		if n := len(must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), s.ID, 0, 0))); n != 2 {
			r.Errorf("%d turns", n)
		}
	})
}

// M60: a clear ends the generation a request began in.
func TestM60LateSendIsFenced(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		s := r.session(sp.ID)
		b := r.begin(s.ID)
		r.clear(sp.ID)
		_, err := r.l.AppendExchange(r.ctx(), b, exchange("late question here", "late answer here"))
		r.is(err, dhruva.ErrFenced)
		if n := len(must[[]dhruva.Turn](r)(r.l.ListTurns(r.ctx(), s.ID, 0, 0))); n != 0 {
			r.Errorf("%d turns", n)
		}
		r.say(s.ID, "question of the new generation", "answer of the new generation")
		if g := must[int64](r)(r.l.Generation(r.ctx(), sp.ID)); g != 2 {
			r.Errorf("generation %d", g)
		}
		views, _, err := r.l.ListSources(r.ctx(), dhruva.SourceQuery{Space: sp.ID})
		if err != nil || len(views) != 2 || views[0].Generation != 2 {
			r.Errorf("%+v %v", views, err)
		}
	})
}

func TestDeleteSessionHidesItsTurnsAndHoldsItsSources(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		s, other := r.session(sp.ID), r.session(sp.ID)
		r.talk(s.ID, "hidden", 60) // more than one chunk
		r.say(s.ID, "a fact said in both places", "an answer in one place")
		r.say(other.ID, "a fact said in both places", "a different answer")
		c := r.save(s.ID, "kept")
		r.must(r.l.DeleteSession(r.ctx(), s.ID))
		r.is(r.l.DeleteSession(r.ctx(), s.ID), dhruva.ErrNotFound)
		_, err := r.l.ListTurns(r.ctx(), s.ID, 0, 0)
		r.is(err, dhruva.ErrNotFound)
		if turns := must[[]dhruva.Turn](r)(r.l.CheckpointTurns(r.ctx(), c.Hash.String())); len(turns) != 0 {
			r.Errorf("%d turns of a hidden session", len(turns))
		}
		must[dhruva.Checkpoint](r)(r.l.Checkpoint(r.ctx(), c.Hash.String()))
		views, _, err := r.l.ListSources(r.ctx(), dhruva.SourceQuery{Space: sp.ID, State: dhruva.SourceReady, Page: dhruva.Page{Limit: 1000}})
		r.must(err)
		var ready []string
		for _, v := range views {
			ready = append(ready, v.Text)
		}
		for _, text := range []string{"a fact said in both places", "a different answer", "kept in a few words"} {
			if !strings.Contains(strings.Join(ready, "\n"), text) {
				r.Errorf("%q is not ready", text)
			}
		}
		if len(ready) != 3 {
			r.Errorf("ready: %q", ready)
		}
		r.say(other.ID, "hidden question number 1", "never said before this") // said again elsewhere
		src := must[ledger.SourceView](r)(r.l.Source(r.ctx(), sp.ID, dhruva.ContentID(r.keys, tenant, sp.ID, dhruva.RoleUser, "hidden question number 1")))
		if src.State != dhruva.SourceReady || src.HeldFor != "" {
			r.Errorf("%+v", src.Source)
		}
	})
}
