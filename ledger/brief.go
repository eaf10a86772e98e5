package ledger

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/dhruva-memory/dhruva"
)

// The most that a brief holds of each thing, so that it is read in one look.
const (
	BriefBranches  = 5
	BriefClaims    = 10
	BriefDivergent = 2
	BriefDecisions = 3
	BriefNew       = 5
)

// BriefQuery asks for a brief.
type BriefQuery struct {
	Space dhruva.SpaceID
	// Since names a checkpoint that the reader knows; "" asks for no freshness.
	Since string
	// MainOnly leaves out other branches, claims and divergence.
	MainOnly bool
}

// Brief is what somebody needs to know who goes on with the work of a space, as
// it is at one instant.
type Brief struct {
	At    time.Time
	Space dhruva.Space
	// Head is the head of main, Parent that one's; nil when there is none.
	Head   *dhruva.Checkpoint
	Parent *dhruva.Outline
	// Latest is the session in which something happened last, nil when there is
	// none.
	Latest *dhruva.Session
	// Branches are the active ones besides main, the latest to move first.
	Branches []BranchBrief
	// Claims are those in force, newest first.
	Claims []ClaimBrief
	// Divergence names the branches that do not decide as main does.
	Divergence []Divergence
	// Freshness is nil unless it was asked for.
	Freshness *Freshness
}

// BranchBrief is a branch with its head.
type BranchBrief struct {
	dhruva.Branch
	Checkpoint dhruva.Checkpoint
}

// ClaimBrief is a claim with the row of its worktree, nil when it has none.
type ClaimBrief struct {
	ClaimView
	At *dhruva.Worktree
}

// Divergence are decisions that a branch and main do not share.
type Divergence struct {
	Branch                 string
	Head                   dhruva.Hash
	OnlyOnMain, OnlyOnHere []string
}

// Brief reads the state of a space, in one View. Needs state:read.
func (l *Ledger) Brief(ctx context.Context, q BriefQuery) (out Brief, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return out, wrap("brief", err)
	}
	now := l.now()
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		out = Brief{At: now}
		if out.Space, err = liveSpace(tx, p, q.Space); err != nil {
			return err
		}
		return out.read(tx, p, q)
	})
	if err != nil {
		return Brief{}, wrap("brief", err)
	}
	return out, nil
}

func (b *Brief) read(tx dhruva.Tx, p dhruva.Principal, q BriefQuery) error {
	branches, err := tx.ListBranches(q.Space)
	if err != nil {
		return err
	}
	main := dhruva.Hash{}
	if i := slices.IndexFunc(branches, func(b dhruva.Branch) bool { return b.Name == dhruva.MainBranch }); i >= 0 {
		main = branches[i].Head
	}
	if err := firstOf(b.readHead(tx, main), b.readLatest(tx, p)); err != nil {
		return err
	}
	if q.Since != "" {
		if b.Freshness, err = freshness(tx, q.Space, main, q.Since); err != nil {
			return err
		}
	}
	if q.MainOnly {
		return nil
	}
	if err := firstOf(b.readBranches(tx, branches), b.readClaims(tx)); err != nil {
		return err
	}
	b.diverge()
	return nil
}

func (b *Brief) readHead(tx dhruva.Tx, main dhruva.Hash) (err error) {
	if b.Head, err = shownCheckpoint(tx, b.Space.ID, main); err != nil || b.Head == nil {
		return err
	}
	b.Parent, err = shownOutline(tx, b.Space.ID, b.Head.Parent())
	return err
}

// shownCheckpoint is a checkpoint of the space; nil when it is hidden or is not
// there.
func shownCheckpoint(tx dhruva.Tx, space dhruva.SpaceID, h dhruva.Hash) (*dhruva.Checkpoint, error) {
	if h.IsZero() {
		return nil, nil
	}
	c, err := tx.Checkpoint(h)
	if err != nil || c.Space != space || !c.HiddenAt.IsZero() {
		return nil, ignoreMissing(err)
	}
	return &c, nil
}

// readLatest passes over the space's notes session, which is nobody's
// conversation.
func (b *Brief) readLatest(tx dhruva.Tx, p dhruva.Principal) error {
	rows, err := tx.ListSessions(dhruva.SessionQuery{Space: b.Space.ID, Page: dhruva.Page{Limit: 2}})
	for _, s := range rows {
		if s.Kind != dhruva.SessionNotes {
			b.Latest = &s
			break
		}
	}
	return err
}

func (b *Brief) readBranches(tx dhruva.Tx, branches []dhruva.Branch) error {
	active := slices.DeleteFunc(slices.Clone(branches), func(b dhruva.Branch) bool {
		return b.Name == dhruva.MainBranch || disposed(b) != active
	})
	slices.SortFunc(active, func(a, b dhruva.Branch) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), strings.Compare(a.Name, b.Name))
	})
	for _, row := range active {
		if len(b.Branches) == BriefBranches {
			break
		}
		c, err := shownCheckpoint(tx, b.Space.ID, row.Head)
		if err != nil {
			return err
		}
		if c != nil {
			b.Branches = append(b.Branches, BranchBrief{row, *c})
		}
	}
	return nil
}

// disposed is where a branch stands; one that says nothing is active.
func disposed(b dhruva.Branch) string { return firstText(b.Disposition, active) }

func (b *Brief) readClaims(tx dhruva.Tx) error {
	rows, _, err := claimsOf(tx, b.Space.ID, false, dhruva.Page{Limit: BriefClaims}, b.At)
	for _, c := range rows {
		at, err := worktreeOf(tx, c.Claim)
		if err != nil {
			return err
		}
		b.Claims = append(b.Claims, ClaimBrief{c, at})
	}
	return err
}

func worktreeOf(tx dhruva.Tx, c dhruva.Claim) (*dhruva.Worktree, error) {
	if c.Worktree == "" {
		return nil, nil
	}
	w, err := tx.Worktree(c.Worktree)
	if err != nil || w.Space != c.Space {
		return nil, ignoreMissing(err)
	}
	return &w, nil
}

// diverge compares the decisions of the branches with those of main, by what
// they say.
func (b *Brief) diverge() {
	if b.Head == nil {
		return
	}
	main := b.Head.Of(dhruva.KindDecision)
	for _, at := range b.Branches {
		here := at.Checkpoint.Of(dhruva.KindDecision)
		d := Divergence{Branch: at.Name, Head: at.Head, OnlyOnMain: onlyIn(main, here), OnlyOnHere: onlyIn(here, main)}
		if len(d.OnlyOnMain)+len(d.OnlyOnHere) > 0 && len(b.Divergence) < BriefDivergent {
			b.Divergence = append(b.Divergence, d)
		}
	}
}

// onlyIn are the texts of a that b does not say, the first few of them.
func onlyIn(a, b []dhruva.Item) (out []string) {
	said := map[string]bool{}
	for _, i := range b {
		said[plainly(i.Text)] = true
	}
	for _, i := range a {
		key := plainly(i.Text)
		if i.Redacted || said[key] || len(out) == BriefDecisions {
			continue
		}
		said[key] = true
		out = append(out, i.Text)
	}
	return out
}

// plainly is a text without what does not change what it says: case, white
// space, quotes around it and marks at its end. Letters of all scripts and all
// other signs stay: "C" is neither "C++" nor "C#".
func plainly(text string) string {
	whole := strings.ToLower(dhruva.Normalize(text))
	out := strings.Trim(strings.TrimRightFunc(whole, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(".,;:!?…。！？；：，、।॥", r)
	}), "\"'`“”‘’")
	if out == "" {
		return whole
	}
	return out
}
