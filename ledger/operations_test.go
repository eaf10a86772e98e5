package ledger_test

import (
	"fmt"
	"slices"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// act makes a row of an operation that gives something back beside its error.
func act[T any](fn func(*ledger.Ledger) (T, error)) func(*ledger.Ledger) error {
	return func(l *ledger.Ledger) error {
		_, err := fn(l)
		return err
	}
}

// writeOps are the rows of the fault table: every method of Ledger that
// writes has one at least (TestEveryOperationIsInTheFaultTable).
var writeOps = slices.Concat(clientOps, backgroundOps, agentOps, pathOps, lineageOps)

// clientOps are those that somebody asks for.
var clientOps = []writeOp{
	{name: "CreateSpace", keyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		return act(func(l *ledger.Ledger) (dhruva.Space, error) {
			return l.CreateSpace(r.ctx(), ledger.SpaceInput{Name: "new", Description: "made once"})
		})
	}},
	{name: "CreateSpace of a unique name", repeated: dhruva.ErrConflict, prepare: func(r *rig) func(*ledger.Ledger) error {
		return act(func(l *ledger.Ledger) (dhruva.Space, error) {
			return l.CreateSpace(r.ctx(), ledger.SpaceInput{Name: "new", Unique: true})
		})
	}},
	{name: "EnsureSpace", prepare: func(r *rig) func(*ledger.Ledger) error {
		return act(func(l *ledger.Ledger) (dhruva.Space, error) { return l.EnsureSpace(r.ctx(), "work") })
	}},
	{name: "UpdateSpace", prepare: func(r *rig) func(*ledger.Ledger) error {
		id := r.space("work").ID
		return act(func(l *ledger.Ledger) (dhruva.Space, error) {
			return l.UpdateSpace(r.ctx(), id, ledger.SpacePatch{Name: ptr("other"), Description: ptr("changed")})
		})
	}},
	{name: "DeleteSpace", repeated: dhruva.ErrNotFound, prepare: func(r *rig) func(*ledger.Ledger) error {
		id := r.space("work").ID
		r.talk(r.session(id).ID, "space", 2)
		return func(l *ledger.Ledger) error { return l.DeleteSpace(r.ctx(), id) }
	}},
	{name: "CreateSession", keyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		id := r.space("work").ID
		return act(func(l *ledger.Ledger) (dhruva.Session, error) {
			return l.CreateSession(r.ctx(), ledger.SessionInput{Space: id, Title: "new"})
		})
	}},
	{name: "CreateSession without a space", keyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		return act(func(l *ledger.Ledger) (dhruva.Session, error) {
			return l.CreateSession(r.ctx(), ledger.SessionInput{Title: "new"})
		})
	}},
	{name: "SetTitle", prepare: func(r *rig) func(*ledger.Ledger) error {
		id := r.session(r.space("work").ID).ID
		return act(func(l *ledger.Ledger) (dhruva.Session, error) { return l.SetTitle(r.ctx(), id, "titled") })
	}},
	{name: "DeleteSession", repeated: dhruva.ErrNotFound, prepare: func(r *rig) func(*ledger.Ledger) error {
		id := r.session(r.space("work").ID).ID
		r.talk(id, "session", 2)
		return func(l *ledger.Ledger) error { return l.DeleteSession(r.ctx(), id) }
	}},
	{name: "AppendExchange", keyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		s := r.session(r.space("work").ID)
		r.talk(s.ID, "before", 1)
		began, receipt := r.begin(s.ID), r.opened("send", s.Space)
		in := exchange("a question to be kept", "an answer to be kept")
		in.Receipt, in.Title = &receipt, "titled"
		return act(func(l *ledger.Ledger) ([]dhruva.Turn, error) { return l.AppendExchange(r.ctx(), began, in) })
	}},
	{name: "AppendExchange that failed", repeated: dhruva.ErrConflict, prepare: func(r *rig) func(*ledger.Ledger) error {
		s := r.session(r.space("work").ID)
		began, receipt := r.begin(s.ID), r.opened("send", s.Space)
		in := exchange("a question to be kept", "")
		in.Receipt = &receipt
		return act(func(l *ledger.Ledger) ([]dhruva.Turn, error) { return l.AppendExchange(r.ctx(), began, in) })
	}},
	{name: "Commit", keyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		s := r.session(r.space("work").ID)
		r.talk(s.ID, "saved", 2)
		return act(func(l *ledger.Ledger) (dhruva.Checkpoint, error) {
			return l.Commit(r.ctx(), ledger.CommitInput{Session: s.ID, Title: "one", Summary: "one in a few words", Decisions: []ledger.ItemInput{{Text: "decided to go"}}})
		})
	}},
	{name: "Commit on a stated parent", repeated: dhruva.ErrConflict, prepare: func(r *rig) func(*ledger.Ledger) error {
		s := r.session(r.space("work").ID)
		r.talk(s.ID, "saved", 2)
		first := r.save(s.ID, "first")
		return act(func(l *ledger.Ledger) (dhruva.Checkpoint, error) {
			return l.Commit(r.ctx(), ledger.CommitInput{Session: s.ID, Title: "second", Summary: "second in a few words", Parents: []string{first.Hash.String()}})
		})
	}},
	{name: "Fork", keyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		s := r.session(r.space("work").ID)
		r.talk(s.ID, "forked", 1)
		c := r.save(s.ID, "one")
		return act(func(l *ledger.Ledger) (dhruva.Session, error) {
			return l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: c.Hash.String()})
		})
	}},
	{name: "Fork to a named branch", repeated: dhruva.ErrConflict, prepare: func(r *rig) func(*ledger.Ledger) error {
		s := r.session(r.space("work").ID)
		c := r.save(s.ID, "one")
		return act(func(l *ledger.Ledger) (dhruva.Session, error) {
			return l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: c.Hash.String(), Branch: "aside"})
		})
	}},
	{name: "Mount", prepare: func(r *rig) func(*ledger.Ledger) error {
		s := r.session(r.space("work").ID)
		r.talk(s.ID, "mounted", 1)
		c := r.save(s.ID, "one")
		return act(func(l *ledger.Ledger) (dhruva.Session, error) { return l.Mount(r.ctx(), s.ID, c.Hash.String(), 3) })
	}},
	{name: "Unmount", prepare: func(r *rig) func(*ledger.Ledger) error {
		s := r.session(r.space("work").ID)
		c := r.save(s.ID, "one")
		r.must(second(r.l.Mount(r.ctx(), s.ID, c.Hash.String(), 1)))
		return act(func(l *ledger.Ledger) (dhruva.Session, error) { return l.Unmount(r.ctx(), s.ID) })
	}},
	{name: "Attach", prepare: func(r *rig) func(*ledger.Ledger) error {
		to, fresh := r.space("work"), r.session("")
		r.talk(fresh.ID, "attached", 2)
		return act(func(l *ledger.Ledger) (dhruva.Session, error) { return l.Attach(r.ctx(), fresh.ID, to.ID) })
	}},
	{name: "Attach of a long session", prepare: func(r *rig) func(*ledger.Ledger) error {
		to, fresh := r.space("work"), r.session("")
		r.talk(fresh.ID, "attached", 65)
		return act(func(l *ledger.Ledger) (dhruva.Session, error) { return l.Attach(r.ctx(), fresh.ID, to.ID) })
	}, afterwards: finishAttach},
	{name: "Capture", repeated: dhruva.ErrConflict, prepare: func(r *rig) func(*ledger.Ledger) error {
		in := call(r.space("work").ID, "the first question", "the first answer", "the second question", "the second answer")
		receipt := r.opened("proxy", in.Space)
		in.Receipt = &receipt
		return act(func(l *ledger.Ledger) (ledger.Captured, error) { return l.Capture(r.ctx(), in) })
	}},
	{name: "Capture of a long history", repeated: dhruva.ErrConflict, prepare: func(r *rig) func(*ledger.Ledger) error {
		in := call(r.space("work").ID, long(130)...)
		receipt := r.opened("proxy", in.Space)
		in.Receipt = &receipt
		return act(func(l *ledger.Ledger) (ledger.Captured, error) { return l.Capture(r.ctx(), in) })
	}},
	{name: "Capture of a failed call", repeated: dhruva.ErrConflict, prepare: func(r *rig) func(*ledger.Ledger) error {
		in := call(r.space("work").ID, "the question that failed", "")
		receipt := r.opened("proxy", in.Space)
		in.Receipt = &receipt
		return act(func(l *ledger.Ledger) (ledger.Captured, error) { return l.Capture(r.ctx(), in) })
	}},
	{name: "Remember", repeated: dhruva.ErrConflict, prepare: func(r *rig) func(*ledger.Ledger) error {
		id := r.space("work").ID
		receipt := r.opened("remember", id)
		return act(func(l *ledger.Ledger) (dhruva.Source, error) {
			return l.Remember(r.ctx(), ledger.RememberInput{Space: id, Text: "a note to keep", Receipt: &receipt})
		})
	}},
	{name: "Release", prepare: func(r *rig) func(*ledger.Ledger) error {
		id := r.space("work").ID
		held := must[dhruva.Source](r)(r.l.Remember(r.ctx(), ledger.RememberInput{Space: id, Text: flaggedAnswer}))
		return act(func(l *ledger.Ledger) (dhruva.Source, error) { return l.Release(r.ctx(), id, held.ID) })
	}},
	{name: "ImportTurns", prepare: func(r *rig) func(*ledger.Ledger) error {
		in := ledger.ImportInput{Space: r.space("work").ID, Key: "k", Title: "imported"}
		for i := range 230 {
			in.Turns = append(in.Turns, ledger.ImportedTurn{Role: dhruva.RoleUser, Text: fmt.Sprintf("imported line number %d", i)})
		}
		return act(func(l *ledger.Ledger) (ledger.ImportResult, error) { return l.ImportTurns(r.ctx(), in) })
	}},
	{name: "OpenReceipt", repeated: dhruva.ErrConflict, unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		in := dhruva.Receipt{ID: dhruva.ReceiptID(dhruva.NewID()), Kind: "recall", Space: r.space("work").ID}
		return act(func(l *ledger.Ledger) (dhruva.Receipt, error) { return l.OpenReceipt(r.ctx(), in) })
	}},
	{name: "CloseReceipt", repeated: dhruva.ErrConflict, unkeyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		receipt := r.opened("recall", r.space("work").ID)
		return func(l *ledger.Ledger) error { return l.CloseReceipt(r.ctx(), receipt) }
	}},
	{name: "Once", keyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		id := r.space("work").ID
		return func(l *ledger.Ledger) error { // two operations are a mistake, none is not
			_, err := l.Space(r.ctx(), string(id))
			return err
		}
	}},
}

// opened is an open receipt.
func (r *rig) opened(kind string, space dhruva.SpaceID) dhruva.Receipt {
	r.Helper()
	return must[dhruva.Receipt](r)(r.l.OpenReceipt(r.ctx(), dhruva.Receipt{Kind: kind, Space: space}))
}

// long is a conversation of so many exchanges.
func long(exchanges int) (texts []string) {
	for i := range exchanges {
		texts = append(texts, fmt.Sprintf("question number %d here", i), fmt.Sprintf("answer number %d here", i))
	}
	return texts
}
