package ledger_test

import (
	"errors"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// A key limited to named spaces does not reach its owner's home: FRESH sessions
// are neither made nor seen with it, whatever its list says.
func TestALimitedKeyHasNoHome(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		fresh := r.session("")
		r.say(fresh.ID, "the vault code is 4711", "understood, 4711")
		began := r.begin(fresh.ID)
		r.must(r.l.CloseReceipt(r.ctx(), dhruva.Receipt{ID: "r1", Space: fresh.Space, Kind: "send"}))
		src := dhruva.ContentID(r.keys, tenant, fresh.Space, dhruva.RoleUser, "the vault code is 4711")
		for _, spaces := range [][]dhruva.SpaceID{{sp.ID}, {sp.ID, fresh.Space}} {
			p := r.owner
			p.Key, p.Spaces = "limited", spaces
			ctx := r.as(p)
			_, err := r.l.CreateSession(ctx, ledger.SessionInput{})
			r.is(err, dhruva.ErrDenied)
			for call, fn := range map[string]func() error{
				"session": func() error { _, err := r.l.Session(ctx, fresh.ID); return err },
				"turns":   func() error { _, err := r.l.ListTurns(ctx, fresh.ID, 0, 0); return err },
				"title":   func() error { _, err := r.l.SetTitle(ctx, fresh.ID, "x"); return err },
				"delete":  func() error { return r.l.DeleteSession(ctx, fresh.ID) },
				"attach":  func() error { _, err := r.l.Attach(ctx, fresh.ID, sp.ID); return err },
				"begin":   func() error { _, err := r.l.Begin(ctx, fresh.ID); return err },
				"resolve": func() error { _, err := r.l.Resolve(ctx, fresh.ID, ledger.ContextRequest{}); return err },
				"append": func() error {
					_, err := r.l.AppendExchange(ctx, began, exchange("some words", "more words"))
					return err
				},
				"source":      func() error { _, err := r.l.Source(ctx, fresh.Space, src); return err },
				"release":     func() error { _, err := r.l.Release(ctx, fresh.Space, src); return err },
				"sources":     func() error { _, _, err := r.l.ListSources(ctx, dhruva.SourceQuery{Space: fresh.Space}); return err },
				"sessions of": func() error { _, _, err := r.l.ListSessions(ctx, dhruva.SessionQuery{Space: fresh.Space}); return err },
				"capture": func() error {
					_, err := r.l.Capture(ctx, call(fresh.Space, "some words here", "an answer here"))
					return err
				},
				"remember": func() error {
					_, err := r.l.Remember(ctx, ledger.RememberInput{Space: fresh.Space, Text: "some words here"})
					return err
				},
				"generation": func() error { _, err := r.l.Generation(ctx, fresh.Space); return err },
				"begun":      func() error { _, _, err := r.l.BeginCapture(ctx, fresh.Space, "", nil); return err },
				"receipt":    func() error { _, err := r.l.Receipt(ctx, "r1"); return err },
				"open":       func() error { _, err := r.l.OpenReceipt(ctx, dhruva.Receipt{Space: fresh.Space}); return err },
			} {
				if err := fn(); !errors.Is(err, dhruva.ErrNotFound) {
					r.Errorf("%s: %v, want not found", call, err)
				}
			}
			if n := count(r.l.ListSessions(ctx, dhruva.SessionQuery{})); n != 0 {
				r.Errorf("%d sessions listed", n)
			}
			if n := count(r.l.ListReceipts(ctx, dhruva.ReceiptQuery{})); n != 0 {
				r.Errorf("%d receipts listed", n)
			}
		}
		if got := must[dhruva.Session](r)(r.l.Session(r.ctx(), fresh.ID)); got.LastSeq != 2 || !got.Fresh {
			r.Errorf("%+v", got)
		}
	})
}

// A receipt of no space is about the tenant: a limited key sees its own alone,
// and nobody closes another's.
func TestReceiptsOfNoSpace(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		whole, one, two := r.owner, r.owner, r.owner
		whole.Key, one.Key, two.Key = "whole", "one", "two"
		one.Spaces, two.Spaces = []dhruva.SpaceID{sp.ID}, []dhruva.SpaceID{sp.ID}
		stranger := one
		stranger.ID = "somebody else"
		open := map[string]dhruva.Receipt{}
		for _, p := range []dhruva.Principal{whole, one, two} {
			open[string(p.Key)] = must[dhruva.Receipt](r)(r.l.OpenReceipt(r.as(p), dhruva.Receipt{ID: dhruva.ReceiptID(p.Key), Kind: "api"}))
		}
		for name, c := range map[string]struct {
			p    dhruva.Principal
			sees []string
		}{"unlimited": {whole, []string{"one", "two", "whole"}}, "one": {one, []string{"one"}}, "two": {two, []string{"two"}}, "stranger": {stranger, nil}} {
			if n := count(r.l.ListReceipts(r.as(c.p), dhruva.ReceiptQuery{})); n != len(c.sees) {
				r.Errorf("%s lists %d receipts", name, n)
			}
			seen := 0
			for id := range open {
				if _, err := r.l.Receipt(r.as(c.p), dhruva.ReceiptID(id)); err == nil {
					seen++
				} else {
					r.is(err, dhruva.ErrNotFound)
				}
			}
			if seen != len(c.sees) {
				r.Errorf("%s finds %d receipts", name, seen)
			}
		}
		for _, p := range []dhruva.Principal{whole, two, stranger} {
			r.is(r.l.CloseReceipt(r.as(p), open["one"]), dhruva.ErrNotFound)
		}
		r.must(r.l.CloseReceipt(r.as(one), open["one"]))
	})
}

// A name that is taken is taken for all, and the answer says no more than that,
// whether the space that has it is within reach or not.
func TestATakenNameSaysNoMore(t *testing.T) {
	each(t, func(r *rig) {
		mine, also, theirs := r.space("mine"), r.space("taken"), r.space("theirs")
		p := r.owner
		p.Spaces = []dhruva.SpaceID{mine.ID, also.ID}
		_, within := r.l.UpdateSpace(r.as(p), mine.ID, ledger.SpacePatch{Name: ptr("taken")})
		r.is(within, dhruva.ErrConflict)
		r.must(second(r.l.UpdateSpace(r.ctx(), theirs.ID, ledger.SpacePatch{Name: ptr("other")})))
		r.must(second(r.l.UpdateSpace(r.ctx(), also.ID, ledger.SpacePatch{Name: ptr("another")})))
		r.must(second(r.l.UpdateSpace(r.ctx(), theirs.ID, ledger.SpacePatch{Name: ptr("taken")})))
		_, beyond := r.l.UpdateSpace(r.as(p), mine.ID, ledger.SpacePatch{Name: ptr("taken")})
		r.is(beyond, dhruva.ErrConflict)
		_, created := r.l.CreateSpace(r.ctx(), ledger.SpaceInput{Name: "taken", Unique: true})
		r.is(created, dhruva.ErrConflict)
		if within.Error() != beyond.Error() {
			r.Errorf("%q and %q", within, beyond)
		}
		for _, in := range []ledger.SpaceInput{{Name: "taken", Unique: true}, {Name: "free", Unique: true}} {
			_, err := r.l.CreateSpace(r.as(p), in) // a limited key makes none, whatever the name
			r.is(err, dhruva.ErrDenied)
			_, err = r.l.EnsureSpace(r.as(p), in.Name)
			r.is(err, dhruva.ErrDenied)
		}
	})
}
