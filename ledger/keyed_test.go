package ledger_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// operation is an operation of the ledger that a route runs, ready to be run.
type operation func(*ledger.Ledger) error

// operations are all of them; each makes what it needs and says what it does.
var operations = map[string]func(*rig) operation{
	"create space": func(r *rig) operation {
		return func(l *ledger.Ledger) error {
			_, err := l.CreateSpace(r.ctx(), ledger.SpaceInput{Name: "one of its name", Unique: true})
			return err
		}
	},
	"update space": func(r *rig) operation {
		id := r.space("before").ID
		return func(l *ledger.Ledger) error {
			_, err := l.UpdateSpace(r.ctx(), id, ledger.SpacePatch{Name: ptr("after")})
			return err
		}
	},
	"delete space": func(r *rig) operation {
		id := r.space("gone").ID
		return func(l *ledger.Ledger) error { return l.DeleteSpace(r.ctx(), id) }
	},
	"create session": func(r *rig) operation {
		id := r.space("work").ID
		return func(l *ledger.Ledger) error {
			_, err := l.CreateSession(r.ctx(), ledger.SessionInput{Space: id})
			return err
		}
	},
	"create FRESH session": func(r *rig) operation {
		return func(l *ledger.Ledger) error {
			_, err := l.CreateSession(r.ctx(), ledger.SessionInput{})
			return err
		}
	},
	"delete session": func(r *rig) operation {
		s := r.session(r.space("work").ID)
		r.talk(s.ID, "river", 51)
		return func(l *ledger.Ledger) error { return l.DeleteSession(r.ctx(), s.ID) }
	},
	"attach": func(r *rig) operation {
		s, to := r.session(""), r.space("work")
		r.talk(s.ID, "river", 3)
		return func(l *ledger.Ledger) error {
			_, err := l.Attach(r.ctx(), s.ID, to.ID)
			return err
		}
	},
	"attach a long session": func(r *rig) operation {
		s, to := r.session(""), r.space("work")
		r.talk(s.ID, "river", 125)
		r.l.Node = "node-1" // who the job for the rest is leased to
		return func(l *ledger.Ledger) error {
			_, err := l.Attach(r.ctx(), s.ID, to.ID)
			return err
		}
	},
	"title": func(r *rig) operation {
		s := r.session(r.space("work").ID)
		return func(l *ledger.Ledger) error {
			_, err := l.SetTitle(r.ctx(), s.ID, "a title")
			return err
		}
	},
	"mount": func(r *rig) operation {
		s, c := r.saved()
		return func(l *ledger.Ledger) error {
			_, err := l.Mount(r.ctx(), s.ID, c.Hash.String(), 1)
			return err
		}
	},
	"unmount": func(r *rig) operation {
		s, c := r.saved()
		must[dhruva.Session](r)(r.l.Mount(r.ctx(), s.ID, c.Hash.String(), 1))
		return func(l *ledger.Ledger) error {
			_, err := l.Unmount(r.ctx(), s.ID)
			return err
		}
	},
	"fork": func(r *rig) operation {
		_, c := r.saved()
		return func(l *ledger.Ledger) error {
			_, err := l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: c.Hash.String()})
			return err
		}
	},
	"commit": func(r *rig) operation {
		s, _ := r.saved()
		return func(l *ledger.Ledger) error {
			_, err := l.Commit(r.ctx(), ledger.CommitInput{Session: s.ID, Title: "two", Summary: "what was said since"})
			return err
		}
	},
	"send": func(r *rig) operation { // with evidence: the receipt is opened first
		s := r.session(r.space("work").ID)
		return func(l *ledger.Ledger) error {
			began, err := l.Begin(r.ctx(), s.ID)
			if err != nil {
				return err
			}
			receipt, err := l.OpenReceipt(r.ctx(), dhruva.Receipt{Kind: "send", Space: s.Space})
			if err != nil {
				return err
			}
			in := exchange("a question to be kept", "an answer to be kept")
			in.Receipt = &receipt
			_, err = l.AppendExchange(r.ctx(), began, in)
			return err
		}
	},
	"remember": func(r *rig) operation {
		return func(l *ledger.Ledger) error { // in a space that is made for it
			sp, err := l.EnsureSpace(r.ctx(), "default")
			if err != nil {
				return err
			}
			_, err = l.Remember(r.ctx(), ledger.RememberInput{Space: sp.ID, Text: "a note to keep", Receipt: &dhruva.Receipt{Kind: "remember"}})
			return err
		}
	},
	"release": func(r *rig) operation {
		sp := r.space("work")
		held := must[dhruva.Source](r)(r.l.Remember(r.ctx(), ledger.RememberInput{Space: sp.ID, Text: flaggedAnswer}))
		return func(l *ledger.Ledger) error {
			_, err := l.Release(r.ctx(), sp.ID, held.ID)
			return err
		}
	},
	"import": func(r *rig) operation {
		in := ledger.ImportInput{Space: r.space("work").ID, Key: "k"}
		for i := range 110 {
			in.Turns = append(in.Turns, ledger.ImportedTurn{Role: dhruva.RoleUser, Text: fmt.Sprintf("imported line number %d", i)})
		}
		return func(l *ledger.Ledger) error {
			_, err := l.ImportTurns(r.ctx(), in)
			return err
		}
	},
	"capture": func(r *rig) operation {
		var talk []string
		for i := range 55 {
			talk = append(talk, fmt.Sprintf("question number %d here", i), fmt.Sprintf("answer number %d here", i))
		}
		in := call(r.space("work").ID, talk...)
		return func(l *ledger.Ledger) error {
			_, err := l.Capture(r.ctx(), in)
			return err
		}
	},
	"capture of a failed call": func(r *rig) operation {
		in := call(r.space("work").ID, "a question that failed", "")
		return func(l *ledger.Ledger) error {
			_, err := l.Capture(r.ctx(), in)
			return err
		}
	},
}

// saved is a session with a checkpoint of it.
func (r *rig) saved() (dhruva.Session, dhruva.Checkpoint) {
	s := r.session(r.space("work").ID)
	r.talk(s.ID, "river", 2)
	return s, r.save(s.ID, "one")
}

// everything is all that the tenant holds, as rows and as counts.
func (r *rig) everything() (rows string, counts map[string]int) {
	r.Helper()
	all := map[string]any{}
	counts = map[string]int{}
	keep := func(name string, n int, v any) {
		all[name], counts[name[:strings.IndexByte(name+" ", ' ')]] = v, counts[name[:strings.IndexByte(name+" ", ' ')]]+n
	}
	r.view(func(tx dhruva.Tx) error {
		page := dhruva.Page{Limit: 1000}
		spaces, err := tx.ListSpaces(page)
		r.must(err)
		keep("spaces", len(spaces), spaces)
		if home, err := tx.HomeSpace(r.owner.ID); err == nil {
			spaces = append(spaces, home)
			keep("homes", 1, home)
		}
		sessions, err := tx.ListSessions(dhruva.SessionQuery{Page: page})
		r.must(err)
		keep("sessions", len(sessions), sessions)
		for _, s := range sessions {
			turns, err := tx.ListTurns(dhruva.TurnQuery{Session: s.ID})
			r.must(err)
			keep("turns "+string(s.ID), len(turns), turns)
		}
		receipts, err := tx.ListReceipts(dhruva.ReceiptQuery{State: ledger.ReceiptFinal, Page: page})
		r.must(err)
		keep("receipts", len(receipts), receipts)
		for _, s := range spaces {
			branches, err := tx.ListBranches(s.ID)
			r.must(err)
			keep("branches "+string(s.ID), len(branches), branches)
			checkpoints, err := tx.ListCheckpoints(dhruva.CheckpointQuery{Space: s.ID, Page: page})
			r.must(err)
			keep("checkpoints "+string(s.ID), len(checkpoints), checkpoints)
			for _, state := range []dhruva.SourceState{dhruva.SourceReady, dhruva.SourceHeld} {
				sources, err := tx.ListSources(dhruva.SourceQuery{Space: s.ID, Generation: 1, State: state, Page: page})
				r.must(err)
				keep(string(state)+" "+string(s.ID), len(sources), sources)
				for _, src := range sources {
					refs, err := tx.References(s.ID, 1, src.ID)
					r.must(err)
					keep("references "+string(s.ID+"/")+string(src.ID), len(refs), refs)
				}
			}
		}
		return nil
	})
	text, err := json.Marshal(all)
	r.must(err)
	return string(text), counts
}
