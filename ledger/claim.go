package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// How long a claim stands: by default, and at least and at most.
const (
	ClaimTTL    = 4 * time.Hour
	MinClaimTTL = time.Minute
	MaxClaimTTL = 7 * 24 * time.Hour
)

// Intents is the closed list of what a claim may be for. The first is the
// default.
func Intents() []string { return []string{"implement", "review", "investigate", "docs", "test"} }

// MadeClaim is the kind under which an Outcome names a claim.
const MadeClaim = "claim"

// ClaimInput says what an agent is about to work on.
type ClaimInput struct {
	Space dhruva.SpaceID
	Agent string
	// Scope says it in words.
	Scope  string
	Intent string // "" is the first of Intents
	Branch string // "" is the session's branch, else main
	// Base names the checkpoint that it starts from, one of the space; "" when
	// unknown.
	Base string
	// Session is one of the space; "" when none.
	Session dhruva.SessionID
	Task    string // the slug of a task, "" when none
	// Worktree is an open one of the space; "" when none.
	Worktree dhruva.WorktreeID
	// TTL is how long it stands; nil is ClaimTTL.
	TTL *time.Duration
}

// ClaimView is a claim as it is now.
type ClaimView struct {
	// Base is zero when the checkpoint is not there any more.
	dhruva.Claim
	// From is the checkpoint of Base.
	From *dhruva.Outline
	// Expired: it was active when its time ended.
	Expired bool
}

// Claim says that an agent is at work on something. It is advice: nothing is
// locked, and two claims of the same thing stand side by side. A base, session or
// worktree of another space is ErrNotFound. Needs state:write.
func (l *Ledger) Claim(ctx context.Context, in ClaimInput) (ClaimView, error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return ClaimView{}, wrap("claim", err)
	}
	draft, err := l.draftClaim(p, in)
	if err != nil {
		return ClaimView{}, wrap("claim", err)
	}
	var out ClaimView
	err = l.update(ctx, p, in.Space, func(tx dhruva.Tx) error {
		c, err := placeClaim(tx, p, in, draft)
		if err != nil {
			return err
		}
		if out, err = viewClaim(tx, c, draft.ClaimedAt); err != nil {
			return err
		}
		return tx.PutClaim(c)
	})
	if err != nil {
		return ClaimView{}, wrap("claim", err)
	}
	return out, nil
}

// draftClaim is what of a claim is known before the Update.
func (l *Ledger) draftClaim(p dhruva.Principal, in ClaimInput) (c dhruva.Claim, err error) {
	c = dhruva.Claim{Tenant: p.Tenant, Space: in.Space, ID: dhruva.ClaimID(dhruva.NewID()), Status: dhruva.ClaimActive, Session: in.Session, Worktree: in.Worktree}
	if err = l.notSecret("name of the agent", in.Agent); err != nil { // claims are told apart by it
		return c, err
	}
	if c.Agent, err = oneLine("agent", in.Agent, false); err != nil {
		return c, err
	}
	if c.Scope, err = label("scope", l.hide(in.Scope), maxDetail, false); err != nil {
		return c, err
	}
	if c.Task, err = oneLine("task", l.hide(in.Task), true); err != nil {
		return c, err
	}
	if c.Branch, err = l.plainBranch(in.Branch); err != nil {
		return c, err
	}
	if c.Intent, err = intent(in.Intent); err != nil {
		return c, err
	}
	ttl := ClaimTTL
	if in.TTL != nil {
		ttl = *in.TTL
	}
	if ttl < MinClaimTTL || ttl > MaxClaimTTL {
		return c, fmt.Errorf("%w: a claim stands for %v to %v, not %v", dhruva.ErrInvalid, MinClaimTTL, MaxClaimTTL, ttl)
	}
	c.ClaimedAt = l.now()
	c.UpdatedAt, c.ExpiresAt = c.ClaimedAt, c.ClaimedAt.Add(ttl)
	return c.Canonical(), nil
}

func intent(s string) (string, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	all := Intents()
	if s == "" {
		return all[0], nil
	}
	if !slices.Contains(all, s) {
		return "", fmt.Errorf("%w: intent %q is none of %s", dhruva.ErrInvalid, clip(s, 80), strings.Join(all, ", "))
	}
	return s, nil
}

// placeClaim checks that all that a claim speaks of is of its space.
func placeClaim(tx dhruva.Tx, p dhruva.Principal, in ClaimInput, c dhruva.Claim) (dhruva.Claim, error) {
	if err := notHome(tx, p, c.Space); err != nil {
		return c, err
	}
	if in.Base != "" {
		base, err := checkpointIn(tx, p, c.Space, in.Base)
		if err != nil {
			return c, err
		}
		c.Base = base.Hash
	}
	if c.Session != "" {
		s, err := liveSession(tx, p, c.Session)
		if err == nil && s.Space != c.Space {
			err = missing("session", string(c.Session))
		}
		if err != nil {
			return c, err
		}
		c.Branch = firstText(c.Branch, s.Branch)
	}
	if c.Worktree != "" {
		w, err := liveWorktree(tx, p, c.Worktree)
		switch {
		case err != nil:
			return c, err
		case w.Space != c.Space:
			return c, missing("worktree", string(c.Worktree))
		case w.Status != dhruva.WorktreeOpen:
			return c, fmt.Errorf("%w: worktree %s is closed", dhruva.ErrConflict, w.ID)
		}
	}
	c.Branch = firstText(c.Branch, dhruva.MainBranch)
	return c, nil
}

// EndClaim ends a claim as done or abandoned. One that has ended or has expired
// is ErrConflict. Needs state:write.
func (l *Ledger) EndClaim(ctx context.Context, id dhruva.ClaimID, as dhruva.ClaimStatus) (ClaimView, error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return ClaimView{}, wrap("end claim", err)
	}
	out, err := l.endClaim(ctx, p, id, as)
	return out, wrap("end claim", err)
}

func (l *Ledger) endClaim(ctx context.Context, p dhruva.Principal, id dhruva.ClaimID, as dhruva.ClaimStatus) (out ClaimView, err error) {
	if as != dhruva.ClaimDone && as != dhruva.ClaimAbandoned {
		return out, fmt.Errorf("%w: a claim ends as %s or %s, not as %q", dhruva.ErrInvalid, dhruva.ClaimDone, dhruva.ClaimAbandoned, clip(string(as), 80))
	}
	var at dhruva.Claim
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		at, err = liveClaim(tx, p, id)
		return err
	})
	if err != nil {
		return out, err
	}
	now := l.now()
	err = l.update(ctx, p, at.Space, func(tx dhruva.Tx) error {
		c, err := liveClaim(tx, p, id)
		switch {
		case err != nil:
			return err
		case c.Status != dhruva.ClaimActive:
			return fmt.Errorf("%w: the claim is %s already", dhruva.ErrConflict, c.Status)
		case expired(c, now):
			return fmt.Errorf("%w: the claim expired at %s", dhruva.ErrConflict, c.ExpiresAt.Format(time.RFC3339))
		}
		c.Status, c.UpdatedAt = as, now
		if out, err = viewClaim(tx, c, now); err != nil {
			return err
		}
		return tx.PutClaim(c)
	})
	if err != nil {
		return ClaimView{}, err
	}
	return out, nil
}

// expired: an active claim is in force up to, and not at, the instant at which
// it expires.
func expired(c dhruva.Claim, now time.Time) bool {
	return c.Status == dhruva.ClaimActive && !now.Before(c.ExpiresAt)
}

// liveClaim is a claim that is there for the principal.
func liveClaim(tx dhruva.Tx, p dhruva.Principal, id dhruva.ClaimID) (dhruva.Claim, error) {
	c, err := tx.Claim(id)
	if err != nil {
		return c, notFound(err, "claim", string(id))
	}
	if _, err := liveSpace(tx, p, c.Space); err != nil {
		return dhruva.Claim{}, notOf(err, "claim", string(id))
	}
	return c, nil
}

// notOf is what is said of a thing whose space is not there for the principal.
func notOf(err error, what, id string) error {
	if errors.Is(err, dhruva.ErrNotFound) {
		return missing(what, id)
	}
	return err
}

// ClaimByID finds one claim. Needs state:read.
func (l *Ledger) ClaimByID(ctx context.Context, id dhruva.ClaimID) (out ClaimView, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return out, wrap("claim", err)
	}
	now := l.now()
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		c, err := liveClaim(tx, p, id)
		if err != nil {
			return err
		}
		out, err = viewClaim(tx, c, now)
		return err
	})
	return out, wrap("claim", err)
}

// Claims lists the claims of a space that are in force, newest first, or all of
// them. Needs state:read.
func (l *Ledger) Claims(ctx context.Context, space dhruva.SpaceID, all bool, page dhruva.Page) (out []ClaimView, next string, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return nil, "", wrap("claims", err)
	}
	now := l.now()
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		if _, err := liveSpace(tx, p, space); err != nil {
			return err
		}
		out, next, err = claimsOf(tx, space, all, page, now)
		return err
	})
	return out, next, wrap("claims", err)
}

func claimsOf(tx dhruva.Tx, space dhruva.SpaceID, all bool, page dhruva.Page, now time.Time) ([]ClaimView, string, error) {
	q := dhruva.ClaimQuery{Space: space}
	if !all {
		q.Status, q.Live = dhruva.ClaimActive, now
	}
	fetch := func(page dhruva.Page) ([]dhruva.Claim, error) {
		q := q
		q.Page = page
		return tx.ListClaims(q)
	}
	rows, next, err := filled(page, fetch, func(c dhruva.Claim) string { return string(c.ID) }, always[dhruva.Claim])
	if err != nil {
		return nil, "", err
	}
	out, shown := make([]ClaimView, 0, len(rows)), map[dhruva.Hash]*dhruva.Outline{}
	for _, c := range rows {
		v, err := viewClaimOf(tx, c, now, shown)
		if err != nil {
			return nil, "", err
		}
		out = append(out, v)
	}
	return out, next, nil
}

// viewClaim is a claim with its base, which is left out when it is gone.
func viewClaim(tx dhruva.Tx, c dhruva.Claim, now time.Time) (ClaimView, error) {
	return viewClaimOf(tx, c, now, map[dhruva.Hash]*dhruva.Outline{})
}

// viewClaimOf is viewClaim for one of many, which often have one base.
func viewClaimOf(tx dhruva.Tx, c dhruva.Claim, now time.Time, shown map[dhruva.Hash]*dhruva.Outline) (v ClaimView, err error) {
	from, known := shown[c.Base]
	if !known {
		if from, err = shownOutline(tx, c.Space, c.Base); err != nil {
			return v, err
		}
		shown[c.Base] = from
	}
	v = ClaimView{Claim: c, From: from, Expired: expired(c, now)}
	if from == nil {
		v.Base = dhruva.Hash{}
	}
	return v, nil
}

// shownOutline is the outline of a checkpoint of the space; nil when it is
// hidden or is not there.
func shownOutline(tx dhruva.Tx, space dhruva.SpaceID, h dhruva.Hash) (*dhruva.Outline, error) {
	if h.IsZero() {
		return nil, nil
	}
	rows, err := tx.Ancestry(h, 1)
	if err != nil || len(rows) == 0 || rows[0].Space != space || !rows[0].HiddenAt.IsZero() {
		return nil, err
	}
	return &rows[0], nil
}

// PutClaim notes the claim.
func (r *recorder) PutClaim(c dhruva.Claim) error {
	names(r, MadeClaim, string(c.ID))
	return r.Tx.PutClaim(c)
}
