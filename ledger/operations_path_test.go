package ledger_test

import (
	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// pathOps are the rows of the fault table of conversations that branch.
var pathOps = []writeOp{
	{name: "AppendExchange of an edit", keyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		s := r.session(r.space("work").ID)
		r.talk(s.ID, "before", 2)
		began, receipt := r.begin(s.ID), r.opened("send", s.Space)
		in := exchange("a question put otherwise", "an answer to be kept")
		in.Receipt, in.Parent = &receipt, ptr[int64](2)
		return act(func(l *ledger.Ledger) ([]dhruva.Turn, error) { return l.AppendExchange(r.ctx(), began, in) })
	}},
	{name: "AppendExchange of a regeneration", keyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		s := r.session(r.space("work").ID)
		r.talk(s.ID, "before", 2)
		began, receipt := r.begin(s.ID), r.opened("send", s.Space)
		in := exchange("", "another answer to be kept")
		in.Receipt, in.Regenerate = &receipt, 4
		return act(func(l *ledger.Ledger) ([]dhruva.Turn, error) { return l.AppendExchange(r.ctx(), began, in) })
	}},
	{name: "SelectTip", prepare: func(r *rig) func(*ledger.Ledger) error {
		s := r.branched(r.space("work").ID)
		return act(func(l *ledger.Ledger) (dhruva.Session, error) { return l.SelectTip(r.ctx(), s.ID, 3) })
	}},
	{name: "Fork from a turn", keyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		s := r.session(r.space("work").ID)
		r.talk(s.ID, "before", 1)
		r.save(s.ID, "one")
		r.talk(s.ID, "after", 2)
		r.edit(s.ID, 2, "a question put otherwise", "an answer to be kept")
		return act(func(l *ledger.Ledger) (dhruva.Session, error) {
			return l.Fork(r.ctx(), ledger.ForkInput{Session: s.ID, Seq: 4, Scope: ledger.ForkRelated})
		})
	}},
	{name: "Fork from a turn of a FRESH session", keyed: true, prepare: func(r *rig) func(*ledger.Ledger) error {
		s := r.session("")
		r.talk(s.ID, "before", 2)
		return act(func(l *ledger.Ledger) (dhruva.Session, error) {
			return l.Fork(r.ctx(), ledger.ForkInput{Session: s.ID, Seq: 4, Scope: ledger.ForkAll})
		})
	}},
}
