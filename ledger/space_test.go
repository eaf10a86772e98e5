package ledger_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

func TestS7SpaceFields(t *testing.T) {
	each(t, func(r *rig) {
		s := must[dhruva.Space](r)(r.l.CreateSpace(r.ctx(), ledger.SpaceInput{Name: " work ", Description: "d", ProjectRoot: "/p"}))
		if s.Name != "work" || s.ID == "" || s.Owner != "owner" || s.Description != "d" || s.ProjectRoot != "/p" || s.CreatedAt.IsZero() || s.Home {
			r.Errorf("%+v", s)
		}
		for _, ref := range []string{string(s.ID), "work"} {
			if got := must[dhruva.Space](r)(r.l.Space(r.ctx(), ref)); !cmp.Equal(got, s) {
				r.Errorf("%s: %s", ref, cmp.Diff(s, got))
			}
		}
		got := must[dhruva.Space](r)(r.l.UpdateSpace(r.ctx(), s.ID, ledger.SpacePatch{Description: ptr("other")}))
		if got.Description != "other" || got.Name != "work" || !got.UpdatedAt.After(s.UpdatedAt) {
			r.Errorf("%+v", got)
		}
	})
}

func TestSpaceNames(t *testing.T) {
	each(t, func(r *rig) {
		r.space("work")
		second := r.space("work") // the compatible API lets names repeat
		_, err := r.l.Space(r.ctx(), "work")
		r.is(err, dhruva.ErrConflict)
		if !strings.Contains(err.Error(), string(second.ID)) {
			r.Errorf("the error names no ids: %v", err)
		}
		_, err = r.l.CreateSpace(r.ctx(), ledger.SpaceInput{Name: "work", Unique: true})
		r.is(err, dhruva.ErrConflict)
		for _, bad := range []string{"", "  ", "a\x00b", "\xff", "two\nlines"} {
			_, err = r.l.CreateSpace(r.ctx(), ledger.SpaceInput{Name: bad})
			r.is(err, dhruva.ErrInvalid)
		}
		_, err = r.l.CreateSpace(r.ctx(), ledger.SpaceInput{Name: strings.Repeat("å", 201)})
		r.is(err, dhruva.ErrTooLarge)
		r.space(strings.Repeat("å", 200))
		other := r.space("other")
		_, err = r.l.UpdateSpace(r.ctx(), other.ID, ledger.SpacePatch{Name: ptr("work")})
		r.is(err, dhruva.ErrConflict)
	})
}

func TestDeleteSpaceHidesAllOfIt(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		s := r.session(sp.ID)
		r.say(s.ID, "a fact worth keeping", "noted indeed")
		c := r.save(s.ID, "one")
		began := r.begin(s.ID)
		r.must(r.l.DeleteSpace(r.ctx(), sp.ID))
		r.is(r.l.DeleteSpace(r.ctx(), sp.ID), dhruva.ErrNotFound)
		_, err := r.l.Session(r.ctx(), s.ID)
		r.is(err, dhruva.ErrNotFound)
		_, err = r.l.Checkpoint(r.ctx(), c.Hash.String())
		r.is(err, dhruva.ErrNotFound)
		_, err = r.l.AppendExchange(r.ctx(), began, exchange("late words here", "late answer"))
		r.is(err, dhruva.ErrNotFound)
		list, _, err := r.l.ListSessions(r.ctx(), dhruva.SessionQuery{})
		if err != nil || len(list) != 0 {
			r.Errorf("%v %v", list, err)
		}
		r.must(r.l.CloseReceipt(r.ctx(), dhruva.Receipt{Space: sp.ID, Kind: "send"})) // its request still ends
	})
}

func TestEnsureSpaceIsMadeOnce(t *testing.T) {
	each(t, func(r *rig) {
		ids := make([]dhruva.SpaceID, 16)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				s, err := r.l.EnsureSpace(r.with(dhruva.ProxyUse), "default")
				if err != nil {
					r.Error(err)
				}
				ids[i] = s.ID
			})
		}
		wg.Wait()
		for _, id := range ids {
			if id != ids[0] || id == "" {
				r.Fatalf("different spaces: %v", ids)
			}
		}
		_, err := r.l.EnsureSpace(r.with(dhruva.MemoryRead), "another")
		r.is(err, dhruva.ErrDenied)
	})
}

// A key limited to spaces sees nothing else, by any door, and is told no more
// than that it does not exist; so is another tenant.
func TestReach(t *testing.T) {
	each(t, func(r *rig) {
		mine, theirs := r.space("mine"), r.space("theirs")
		s := r.session(theirs.ID)
		turns := r.say(s.ID, "the vault code is 4711", "understood, 4711")
		c := r.save(s.ID, "secret")
		r.must(r.l.CloseReceipt(r.ctx(), dhruva.Receipt{ID: "r1", Space: theirs.ID, Kind: "send"}))
		src := dhruva.ContentID(r.keys, tenant, theirs.ID, dhruva.RoleUser, turns[0].Content)
		limited, foreign := r.owner, r.owner
		limited.Spaces = []dhruva.SpaceID{mine.ID}
		foreign.Tenant = "tenant-2"
		for name, p := range map[string]dhruva.Principal{"limited": limited, "foreign": foreign} {
			ctx := r.as(p)
			calls := map[string]func() error{
				"space":      func() error { _, err := r.l.Space(ctx, string(theirs.ID)); return err },
				"name":       func() error { _, err := r.l.Space(ctx, "theirs"); return err },
				"update":     func() error { _, err := r.l.UpdateSpace(ctx, theirs.ID, ledger.SpacePatch{Name: ptr("x")}); return err },
				"delete":     func() error { return r.l.DeleteSpace(ctx, theirs.ID) },
				"generation": func() error { _, err := r.l.Generation(ctx, theirs.ID); return err },
				"create":     func() error { _, err := r.l.CreateSession(ctx, ledger.SessionInput{Space: theirs.ID}); return err },
				"session":    func() error { _, err := r.l.Session(ctx, s.ID); return err },
				"title":      func() error { _, err := r.l.SetTitle(ctx, s.ID, "x"); return err },
				"remove":     func() error { return r.l.DeleteSession(ctx, s.ID) },
				"turns":      func() error { _, err := r.l.ListTurns(ctx, s.ID, 0, 0); return err },
				"begin":      func() error { _, err := r.l.Begin(ctx, s.ID); return err },
				"resolve":    func() error { _, err := r.l.Resolve(ctx, s.ID, ledger.ContextRequest{}); return err },
				"mount":      func() error { _, err := r.l.Mount(ctx, s.ID, c.Hash.String(), 1); return err },
				"unmount":    func() error { _, err := r.l.Unmount(ctx, s.ID); return err },
				"fork":       func() error { _, err := r.l.Fork(ctx, ledger.ForkInput{Checkpoint: c.Hash.String()}); return err },
				"attach":     func() error { _, err := r.l.Attach(ctx, s.ID, mine.ID); return err },
				"commit":     func() error { _, err := r.l.Commit(ctx, ledger.CommitInput{Session: s.ID, Title: "x"}); return err },
				"commit in":  func() error { _, err := r.l.Commit(ctx, ledger.CommitInput{Space: theirs.ID, Title: "x"}); return err },
				"checkpoint": func() error { _, err := r.l.Checkpoint(ctx, c.Hash.String()); return err },
				"prefix":     func() error { _, err := r.l.Checkpoint(ctx, c.Hash.Short()); return err },
				"uuid":       func() error { _, err := r.l.Checkpoint(ctx, string(c.ID)); return err },
				"of window":  func() error { _, err := r.l.CheckpointTurns(ctx, c.Hash.String()); return err },
				"ancestors":  func() error { _, err := r.l.Ancestors(ctx, c.Hash.String(), 3); return err },
				"branches":   func() error { _, err := r.l.Branches(ctx, theirs.ID); return err },
				"verify":     func() error { _, err := r.l.Verify(ctx, theirs.ID); return err },
				"list c": func() error {
					_, _, err := r.l.ListCheckpoints(ctx, dhruva.CheckpointQuery{Space: theirs.ID})
					return err
				},
				"list s":  func() error { _, _, err := r.l.ListSessions(ctx, dhruva.SessionQuery{Space: theirs.ID}); return err },
				"source":  func() error { _, err := r.l.Source(ctx, theirs.ID, src); return err },
				"sources": func() error { _, _, err := r.l.ListSources(ctx, dhruva.SourceQuery{Space: theirs.ID}); return err },
				"remember": func() error {
					_, err := r.l.Remember(ctx, ledger.RememberInput{Space: theirs.ID, Text: "hello there x"})
					return err
				},
				"capture": func() error {
					_, err := r.l.Capture(ctx, ledger.CaptureInput{Space: theirs.ID, Generation: 1, User: ledger.Unit{Text: "some words here"}, Assistant: &ledger.Unit{Role: dhruva.RoleAssistant, Text: "x"}})
					return err
				},
				"failed": func() error {
					_, err := r.l.Capture(ctx, ledger.CaptureInput{Space: theirs.ID, Generation: 1, User: ledger.Unit{Text: "some words here"}})
					return err
				},
				"release":    func() error { _, err := r.l.Release(ctx, theirs.ID, src); return err },
				"begun":      func() error { _, _, err := r.l.BeginCapture(ctx, theirs.ID, "", []string{"x"}); return err },
				"session of": func() error { _, _, err := r.l.SessionOf(ctx, theirs.ID, "", []string{"x"}); return err },
				"import": func() error {
					_, err := r.l.ImportTurns(ctx, ledger.ImportInput{Space: theirs.ID, Key: "k", Turns: []ledger.ImportedTurn{{Role: dhruva.RoleUser, Text: "some words here"}}})
					return err
				},
				"open":    func() error { _, err := r.l.OpenReceipt(ctx, dhruva.Receipt{Space: theirs.ID}); return err },
				"close":   func() error { return r.l.CloseReceipt(ctx, dhruva.Receipt{Space: theirs.ID}) },
				"receipt": func() error { _, err := r.l.Receipt(ctx, "r1"); return err },
			}
			for call, fn := range calls {
				if err := fn(); !errors.Is(err, dhruva.ErrNotFound) {
					r.Errorf("%s %s: %v, want not found", name, call, err)
				}
			}
			spaces, _, err := r.l.ListSpaces(ctx, dhruva.Page{})
			for _, sp := range spaces {
				if err != nil || sp.ID == theirs.ID {
					r.Errorf("%s lists %v %v", name, sp.Name, err)
				}
			}
			for _, n := range []int{
				count(r.l.ListSessions(ctx, dhruva.SessionQuery{})), count(r.l.ListReceipts(ctx, dhruva.ReceiptQuery{})),
			} {
				if n != 0 {
					r.Errorf("%s lists %d", name, n)
				}
			}
		}
	})
}

func count[T any](rows []T, _ string, err error) int {
	if err != nil {
		return -1
	}
	return len(rows)
}

func TestRights(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		s := r.session(sp.ID)
		r.say(s.ID, "first question here", "first answer here")
		c := r.save(s.ID, "one")
		for call, probe := range map[string]struct {
			right dhruva.KeyScope
			fn    func(ctx context.Context) error
		}{
			"create":  {dhruva.StateWrite, func(c context.Context) error { _, err := r.l.CreateSpace(c, ledger.SpaceInput{Name: "x"}); return err }},
			"begin":   {dhruva.StateWrite, func(c context.Context) error { _, err := r.l.Begin(c, s.ID); return err }},
			"resolve": {dhruva.StateRead, func(c context.Context) error { _, err := r.l.Resolve(c, s.ID, ledger.ContextRequest{}); return err }},
			"turns":   {dhruva.StateRead, func(c context.Context) error { _, err := r.l.ListTurns(c, s.ID, 0, 0); return err }},
			"sources": {dhruva.MemoryRead, func(c context.Context) error {
				_, _, err := r.l.ListSources(c, dhruva.SourceQuery{Space: sp.ID})
				return err
			}},
			"remember": {dhruva.MemoryWrite, func(c context.Context) error {
				_, err := r.l.Remember(c, ledger.RememberInput{Space: sp.ID, Text: "water boils at 100"})
				return err
			}},
			"receipts": {dhruva.ReceiptRead, func(c context.Context) error { _, _, err := r.l.ListReceipts(c, dhruva.ReceiptQuery{}); return err }},
			"mount":    {dhruva.StateWrite, func(x context.Context) error { _, err := r.l.Mount(x, s.ID, c.Hash.String(), 1); return err }},
			"commit": {dhruva.StateWrite, func(c context.Context) error {
				_, err := r.l.Commit(c, ledger.CommitInput{Session: s.ID, Title: "x"})
				return err
			}},
			"release": {dhruva.MemoryAttest, func(c context.Context) error {
				_, err := r.l.Release(c, sp.ID, dhruva.ContentID(r.keys, tenant, sp.ID, dhruva.RoleUser, "first question here"))
				return err
			}},
			"begun":  {dhruva.MemoryWrite, func(c context.Context) error { _, _, err := r.l.BeginCapture(c, sp.ID, "", nil); return err }},
			"title":  {dhruva.StateWrite, func(c context.Context) error { _, err := r.l.SetTitle(c, s.ID, "x"); return err }},
			"verify": {dhruva.StateRead, func(c context.Context) error { _, err := r.l.Verify(c, sp.ID); return err }},
		} {
			var others []dhruva.KeyScope
			for _, k := range dhruva.KeyScopes() {
				if k != probe.right && k != dhruva.Admin {
					others = append(others, k)
				}
			}
			if err := probe.fn(r.with(others...)); !errors.Is(err, dhruva.ErrDenied) {
				r.Errorf("%s without %s: %v", call, probe.right, err)
			}
			if err := probe.fn(r.with(probe.right)); err != nil {
				r.Errorf("%s with %s: %v", call, probe.right, err)
			}
		}
		_, err := r.l.Space(t.Context(), "work")
		r.is(err, dhruva.ErrUnauthenticated)
		_, err = r.l.Space(r.as(dhruva.Principal{ID: "x", Scopes: []dhruva.KeyScope{dhruva.Admin}}), "work")
		r.is(err, dhruva.ErrUnauthenticated)
	})
}

func TestListsFillPagesAroundWhatIsHidden(t *testing.T) {
	each(t, func(r *rig) {
		var seen []dhruva.SpaceID
		p := r.owner
		for i := range 30 {
			sp := r.space("s")
			if i%3 == 0 {
				seen = append(seen, sp.ID)
			}
		}
		p.Spaces = seen
		var got []dhruva.SpaceID
		page := dhruva.Page{Limit: 4}
		for n := 0; ; n++ {
			rows, next, err := r.l.ListSpaces(r.as(p), page)
			r.must(err)
			for _, s := range rows {
				got = append(got, s.ID)
			}
			if next == "" {
				break
			}
			if len(rows) != 4 || n > 10 {
				r.Fatalf("page of %d, %d pages", len(rows), n)
			}
			page.After = next
		}
		if diff := cmp.Diff(seen, got); diff != "" {
			r.Error(diff)
		}
	})
}
