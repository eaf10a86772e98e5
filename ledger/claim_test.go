package ledger_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/memstore"
)

func (r *rig) stand(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now, r.still = at, true
}

func (r *rig) claimsOf(space dhruva.SpaceID, all bool) []ledger.ClaimView {
	r.Helper()
	rows, _, err := r.l.Claims(r.ctx(), space, all, dhruva.Page{Limit: 1000})
	r.must(err)
	return rows
}

func scopes(rows []ledger.ClaimView) []string {
	out := []string{}
	for _, c := range rows {
		out = append(out, c.Scope)
	}
	return out
}

func TestB20_AClaimExpiresAtTheInstant(t *testing.T) {
	each(t, func(r *rig) {
		start := r.now
		r.stand(start)
		sp := r.space("work")
		c := r.claimWork(sp.ID, "the parser")
		if want := start.Add(4 * time.Hour); !c.ExpiresAt.Equal(want) || c.Status != dhruva.ClaimActive || c.Expired || c.Intent != "implement" || c.Branch != "main" {
			r.Errorf("%+v", c)
		}
		r.stand(c.ExpiresAt.Add(-time.Microsecond))
		if got := r.claimsOf(sp.ID, false); len(got) != 1 || got[0].Expired {
			r.Errorf("a microsecond before: %+v", got)
		}
		r.stand(c.ExpiresAt)
		if got := r.claimsOf(sp.ID, false); len(got) != 0 {
			r.Errorf("at the instant: %+v", got)
		}
		got := must[ledger.ClaimView](r)(r.l.ClaimByID(r.ctx(), c.ID))
		if all := r.claimsOf(sp.ID, true); len(all) != 1 || !all[0].Expired || !got.Expired || got.Status != dhruva.ClaimActive {
			r.Errorf("%+v %+v", all, got)
		}
		_, err := r.l.EndClaim(r.ctx(), c.ID, dhruva.ClaimDone)
		r.is(err, dhruva.ErrConflict)
		r.stand(c.ExpiresAt.Add(-time.Microsecond))
		done := must[ledger.ClaimView](r)(r.l.EndClaim(r.ctx(), c.ID, dhruva.ClaimDone))
		r.stand(c.ExpiresAt.Add(time.Hour))
		if again := must[ledger.ClaimView](r)(r.l.ClaimByID(r.ctx(), c.ID)); again.Expired || again.Status != dhruva.ClaimDone || done.Status != dhruva.ClaimDone {
			r.Errorf("done, and then expired: %+v", again)
		}
	})
}

func TestB20_AClaimEndsOnce(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		for _, first := range []dhruva.ClaimStatus{dhruva.ClaimDone, dhruva.ClaimAbandoned} {
			id := r.claimWork(sp.ID, "the parser").ID
			must[ledger.ClaimView](r)(r.l.EndClaim(r.ctx(), id, first))
			for _, second := range []dhruva.ClaimStatus{dhruva.ClaimDone, dhruva.ClaimAbandoned} {
				_, err := r.l.EndClaim(r.ctx(), id, second)
				r.is(err, dhruva.ErrConflict)
			}
		}
		id := r.claimWork(sp.ID, "the parser").ID
		for _, as := range []dhruva.ClaimStatus{"", "active", "expired", "DONE"} {
			_, err := r.l.EndClaim(r.ctx(), id, as)
			r.is(err, dhruva.ErrInvalid)
		}
	})
}

// D25: how long, from what, of which session and of which space.
func TestD25_WhatAClaimSaysIsChecked(t *testing.T) {
	each(t, func(r *rig) {
		sp, other := r.space("work"), r.space("other")
		s, foreign := r.session(sp.ID), r.session(other.ID)
		here, there := r.save(s.ID, "one"), r.save(foreign.ID, "two")
		wt := must[dhruva.Worktree](r)(r.l.OpenWorktree(r.ctx(), tree(sp.ID, "")))
		away := must[dhruva.Worktree](r)(r.l.OpenWorktree(r.ctx(), tree(other.ID, "")))
		shut := must[dhruva.Worktree](r)(r.l.OpenWorktree(r.ctx(), tree(sp.ID, "")))
		must[dhruva.Worktree](r)(r.l.CloseWorktree(r.ctx(), shut.ID))
		good := ledger.ClaimInput{Space: sp.ID, Agent: "ana", Scope: "the parser", Intent: " Review ", Base: here.Hash.String()[:9], Session: s.ID, Worktree: wt.ID, Task: "t-1"}
		c := must[ledger.ClaimView](r)(r.l.Claim(r.ctx(), good))
		if c.Base != here.Hash || c.From == nil || c.From.ID != here.ID || c.Intent != "review" || c.Branch != s.Branch {
			r.Errorf("%+v", c)
		}
		for name, bad := range map[string]struct {
			change func(*ledger.ClaimInput)
			want   error
		}{
			"no time":              {func(in *ledger.ClaimInput) { in.TTL = ptr(time.Duration(0)) }, dhruva.ErrInvalid},
			"negative time":        {func(in *ledger.ClaimInput) { in.TTL = ptr(-time.Hour) }, dhruva.ErrInvalid},
			"less than a minute":   {func(in *ledger.ClaimInput) { in.TTL = ptr(time.Minute - 1) }, dhruva.ErrInvalid},
			"more than a week":     {func(in *ledger.ClaimInput) { in.TTL = ptr(7*24*time.Hour + 1) }, dhruva.ErrInvalid},
			"for ever":             {func(in *ledger.ClaimInput) { in.TTL = ptr(time.Duration(1<<63 - 1)) }, dhruva.ErrInvalid},
			"base of another":      {func(in *ledger.ClaimInput) { in.Base = there.Hash.String() }, dhruva.ErrNotFound},
			"base by id of other":  {func(in *ledger.ClaimInput) { in.Base = string(there.ID) }, dhruva.ErrNotFound},
			"base unknown":         {func(in *ledger.ClaimInput) { in.Base = "0123456789" }, dhruva.ErrNotFound},
			"base no hash":         {func(in *ledger.ClaimInput) { in.Base = "main" }, dhruva.ErrInvalid},
			"session unknown":      {func(in *ledger.ClaimInput) { in.Session = "nobody's" }, dhruva.ErrNotFound},
			"session of another":   {func(in *ledger.ClaimInput) { in.Session = foreign.ID }, dhruva.ErrNotFound},
			"worktree unknown":     {func(in *ledger.ClaimInput) { in.Worktree = ledger.NewWorktreeID() }, dhruva.ErrNotFound},
			"worktree of another":  {func(in *ledger.ClaimInput) { in.Worktree = away.ID }, dhruva.ErrNotFound},
			"worktree closed":      {func(in *ledger.ClaimInput) { in.Worktree = shut.ID }, dhruva.ErrConflict},
			"space unknown":        {func(in *ledger.ClaimInput) { in.Space = "nowhere" }, dhruva.ErrNotFound},
			"no space":             {func(in *ledger.ClaimInput) { in.Space = "" }, dhruva.ErrInvalid},
			"no agent":             {func(in *ledger.ClaimInput) { in.Agent = " " }, dhruva.ErrInvalid},
			"no scope":             {func(in *ledger.ClaimInput) { in.Scope = "" }, dhruva.ErrInvalid},
			"a long scope":         {func(in *ledger.ClaimInput) { in.Scope = strings.Repeat("x", 5000) }, dhruva.ErrTooLarge},
			"another intent":       {func(in *ledger.ClaimInput) { in.Intent = "sleep" }, dhruva.ErrInvalid},
			"a branch of no name":  {func(in *ledger.ClaimInput) { in.Branch = "-x" }, dhruva.ErrInvalid},
			"an agent of two rows": {func(in *ledger.ClaimInput) { in.Agent = "a\nb" }, dhruva.ErrInvalid},
		} {
			in := good
			bad.change(&in)
			if _, err := r.l.Claim(r.ctx(), in); !errors.Is(err, bad.want) {
				r.Errorf("%s: %v, want %v", name, err, bad.want)
			}
		}
		for _, ttl := range []time.Duration{ledger.MinClaimTTL, ledger.MaxClaimTTL} {
			in := good
			in.TTL = &ttl
			if c := must[ledger.ClaimView](r)(r.l.Claim(r.ctx(), in)); c.ExpiresAt.Sub(c.ClaimedAt) != ttl {
				r.Errorf("%+v", c)
			}
		}
		if n := len(r.claimsOf(sp.ID, true)); n != 3 {
			r.Errorf("%d claims", n)
		}
	})
}

func TestB20_TwoClaimsOfOneTaskStandSideBySide(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		for _, agent := range []string{"ana", "ben", "ana"} {
			must[ledger.ClaimView](r)(r.l.Claim(r.ctx(), ledger.ClaimInput{Space: sp.ID, Agent: agent, Scope: "by " + agent, Task: "t-1"}))
		}
		if diff := cmp.Diff([]string{"by ana", "by ben", "by ana"}, scopes(r.claimsOf(sp.ID, false))); diff != "" {
			r.Error(diff)
		}
	})
}

func TestB20_ClaimsOfASpaceThatIsNotThere(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		id := r.claimWork(sp.ID, "the parser").ID
		limited := r.owner
		limited.Spaces = []dhruva.SpaceID{r.space("other").ID}
		stranger := r.owner
		stranger.Tenant = "another"
		for _, p := range []dhruva.Principal{limited, stranger} {
			_, _, err := r.l.Claims(r.as(p), sp.ID, true, dhruva.Page{})
			r.is(err, dhruva.ErrNotFound)
			_, err = r.l.ClaimByID(r.as(p), id)
			r.is(err, dhruva.ErrNotFound)
			_, err = r.l.EndClaim(r.as(p), id, dhruva.ClaimDone)
			r.is(err, dhruva.ErrNotFound)
			_, err = r.l.Claim(r.as(p), ledger.ClaimInput{Space: sp.ID, Agent: "a", Scope: "b"})
			r.is(err, dhruva.ErrNotFound)
		}
		_, _, err := r.l.Claims(r.ctx(), "nowhere", false, dhruva.Page{})
		r.is(err, dhruva.ErrNotFound)
		_, err = r.l.Claim(r.with(dhruva.StateRead), ledger.ClaimInput{Space: sp.ID, Agent: "a", Scope: "b"})
		r.is(err, dhruva.ErrDenied)
		_, err = r.l.EndClaim(r.with(dhruva.StateRead), id, dhruva.ClaimDone)
		r.is(err, dhruva.ErrDenied)
		_, _, err = r.l.Claims(r.with(dhruva.MemoryRead), sp.ID, false, dhruva.Page{})
		r.is(err, dhruva.ErrDenied)
		r.must(r.l.DeleteSpace(r.ctx(), sp.ID))
		_, err = r.l.ClaimByID(r.ctx(), id)
		r.is(err, dhruva.ErrNotFound)
	})
}

func TestClaimsArePaged(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		var want []string
		for i := range 7 {
			want = append([]string{fmt.Sprint("scope ", i)}, want...)
			r.claimWork(sp.ID, fmt.Sprint("scope ", i))
		}
		var got []string
		for page := (dhruva.Page{Limit: 3}); ; {
			rows, next, err := r.l.Claims(r.ctx(), sp.ID, false, page)
			r.must(err)
			got = append(got, scopes(rows)...)
			if page.After = next; next == "" {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Error(diff)
		}
	})
}

func TestSecretsInWhatAgentsSayAreNotStored(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		text, _, key := secretText(7)
		c := must[ledger.ClaimView](r)(r.l.Claim(r.ctx(), ledger.ClaimInput{Space: sp.ID, Agent: "ana", Scope: text}))
		if strings.Contains(c.Scope, key) {
			r.Errorf("%q", c.Scope)
		}
		in := tree(sp.ID, "")
		in.Path = "/trees/ " + text
		_, err := r.l.OpenWorktree(r.ctx(), in)
		r.is(err, dhruva.ErrInvalid)
		n := 0
		d := must[dhruva.Document](r)(r.l.PutDocument(r.ctx(), ledger.DocumentInput{Space: sp.ID, Kind: "transcript", Title: text, Text: text, Redactions: &n}))
		if strings.Contains(d.Title+d.Text, key) || n != 2 {
			r.Errorf("%+v, %d", d, n)
		}
	})
}

// TestB20_AStormOfClaimsLosesNone: 10,000 claims are made and ended at once.
func TestB20_AStormOfClaimsLosesNone(t *testing.T) {
	const workers, each = 50, 200
	r := newRig(t, memstore.New())
	r.l.Store = r.store
	sp := r.space("work")
	var done, lost atomic.Int64
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for i := range each {
				c, err := r.l.Claim(r.ctx(), ledger.ClaimInput{Space: sp.ID, Agent: fmt.Sprint("agent ", w), Scope: fmt.Sprint(i), TTL: ptr(ledger.MaxClaimTTL)})
				if err != nil {
					t.Error(err)
					return
				}
				if i%2 == 1 {
					continue
				}
				var both sync.WaitGroup
				for range 2 { // one of two ends it
					both.Go(func() {
						switch _, err := r.l.EndClaim(r.ctx(), c.ID, dhruva.ClaimDone); {
						case err == nil:
							done.Add(1)
						case errors.Is(err, dhruva.ErrConflict):
							lost.Add(1)
						default:
							t.Error(err)
						}
					})
				}
				both.Wait()
			}
		})
	}
	wait.Wait()
	m := must[ledger.Metrics](r)(r.l.Metrics(r.ctx(), sp.ID))
	if m.Claims != workers*each || m.ClaimsDone != workers*each/2 || m.ClaimsActive != workers*each/2 || done.Load() != workers*each/2 || lost.Load() != done.Load() {
		t.Errorf("%d claims, %d done, %d active; %d and %d", m.Claims, m.ClaimsDone, m.ClaimsActive, done.Load(), lost.Load())
	}
}
