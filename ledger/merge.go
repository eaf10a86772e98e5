package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/dhruva-memory/dhruva"
)

// MergeInput says what is to be merged.
type MergeInput struct {
	Space dhruva.SpaceID
	// From is a branch, else a checkpoint (a hash, prefix or UUID); Into is a branch,
	// "" is main.
	From, Into string
	// DryRun writes nothing and shows what would be saved.
	DryRun bool
	// Picks and Edits answer conflicts, by their ids; PickAll is every one that is
	// not named.
	Picks map[dhruva.ItemID]string
	Edits map[dhruva.ItemID]string
	// Title "" is "Merge <from> into <into>"; Author "" is the principal's name.
	Title, Author string
}

// MergeStatus says how a merge ended.
type MergeStatus string

// The statuses.
const (
	// MergeDone: the merge is saved; or could be, in a dry run.
	MergeDone MergeStatus = "merged"
	// MergeConflicts: a person must decide first. Nothing was written.
	MergeConflicts MergeStatus = "conflicts"
	// MergeUpToDate: what was to be merged is in the branch already.
	MergeUpToDate MergeStatus = "up_to_date"
)

// Merged is the outcome of a merge.
type Merged struct {
	Status MergeStatus
	DryRun bool
	// Checkpoint is what was saved, nil when nothing was.
	Checkpoint *dhruva.Checkpoint
	// From and Into are what was merged, Base is their lowest common ancestor.
	From, Into, Base dhruva.Outline
	// Title is the merge's own. Items are what the merge says besides, in canonical
	// order; with open conflicts, what is agreed.
	Title string
	Items []dhruva.Item
	// Conflicts are all that there are; Open are those that no pick resolves.
	Conflicts, Open []Conflict
}

// Merge merges a branch or a checkpoint into a branch, three-way from the lowest
// common ancestor over all parents (of several the newest), by the rules of
// MergeItems. What it saves is always a checkpoint with two parents, the head of
// Into first; when conflicts stay open, and in a dry run, nothing is written. What
// has no common ancestor is ErrConflict. Needs state:write, a dry run state:read.
//
// Sources of what was merged get one more place. An edit is what its author says,
// and becomes a source as with Commit.
func (l *Ledger) Merge(ctx context.Context, in MergeInput) (Merged, error) {
	right := dhruva.StateWrite
	if in.DryRun {
		right = dhruva.StateRead
	}
	p, err := principal(ctx, right)
	if err != nil {
		return Merged{}, wrap("merge", err)
	}
	m, err := l.mergeAs(ctx, p, in)
	return m, wrap("merge", err)
}

func (l *Ledger) mergeAs(ctx context.Context, p dhruva.Principal, in MergeInput) (out Merged, err error) {
	in.Into = firstText(in.Into, dhruva.MainBranch)
	k, err := l.newCarrier(p, in.Space, in.Title, in.Author)
	if err != nil {
		return out, err
	}
	secrets, err := l.redactEdits(&in)
	if err != nil {
		return out, err
	}
	run := func(tx dhruva.Tx) error {
		m := merging{ledger: l, tx: tx, p: p, in: in, k: k, secrets: secrets}
		err := m.run()
		out = m.Merged
		return err
	}
	if in.DryRun {
		err = l.view(ctx, p, func(tx dhruva.Tx) error {
			if _, err := liveSpace(tx, p, in.Space); err != nil {
				return err
			}
			return run(tx)
		})
	} else {
		err = l.update(ctx, p, in.Space, run)
	}
	if err != nil {
		return Merged{}, err
	}
	return out, nil
}

// redactEdits checks the texts that a person writes, and takes their secrets.
func (l *Ledger) redactEdits(in *MergeInput) (secrets int, err error) {
	edits := make(map[dhruva.ItemID]string, len(in.Edits))
	for id, text := range in.Edits {
		if err := body("edit", text, l.limits().ItemBytes); err != nil {
			return 0, err
		}
		text, n := l.Redact(text)
		edits[id], secrets = text, secrets+n
	}
	in.Edits = edits
	return secrets, nil
}

// merging is one merge within a transaction.
type merging struct {
	Merged
	ledger  *Ledger
	tx      dhruva.Tx
	p       dhruva.Principal
	in      MergeInput
	k       *carrier
	secrets int
	branch  dhruva.Branch
	// ours and theirs are the checkpoints that are merged.
	ours, theirs dhruva.Checkpoint
}

func (m *merging) run() (err error) {
	m.DryRun = m.in.DryRun
	if m.branch, m.ours, err = headIn(m.tx, m.in.Space, m.in.Into); err != nil {
		return err
	}
	if m.theirs, err = m.from(); err != nil {
		return err
	}
	m.Into, m.From = m.ours.Outline(), m.theirs.Outline()
	m.Title = firstText(m.k.c.Items[0].Text, clipRunes(fmt.Sprintf("Merge %s into %s", m.fromName(), m.branch.Name), maxTitle))
	base, err := m.base()
	if err != nil || m.Status == MergeUpToDate {
		return err
	}
	picks := Picks{Picks: m.in.Picks, Edits: m.in.Edits}
	m.Items, m.Conflicts, m.Open, err = MergeItems(base.Items, m.ours.Items, m.theirs.Items, picks, m.k.fresh())
	switch {
	case err != nil:
		return err
	case len(m.Open) > 0:
		m.Status = MergeConflicts
		return nil
	}
	m.Status = MergeDone
	return m.save()
}

// fromName is how the title calls what is merged.
func (m *merging) fromName() string {
	if _, err := m.tx.Branch(m.in.Space, m.in.From); err == nil {
		return m.in.From
	}
	return m.theirs.Hash.Short()
}

func (m *merging) from() (dhruva.Checkpoint, error) {
	_, c, err := headIn(m.tx, m.in.Space, m.in.From)
	if !errors.Is(err, dhruva.ErrNotFound) {
		return c, err
	}
	c, err = checkpointIn(m.tx, m.p, m.in.Space, m.in.From)
	if errors.Is(err, dhruva.ErrInvalid) {
		err = fmt.Errorf("%w: no branch %q, and it is not a checkpoint's name either", dhruva.ErrNotFound, clip(m.in.From, 80))
	}
	return c, err
}

// base is the lowest common ancestor of the two. When what is to be merged is one
// itself, there is nothing to do.
func (m *merging) base() (dhruva.Checkpoint, error) {
	common, err := commonAncestor(m.tx, m.ours, m.theirs)
	if err != nil {
		return dhruva.Checkpoint{}, err
	}
	if common == nil {
		return dhruva.Checkpoint{}, fmt.Errorf("%w: %s and branch %q have no common ancestor, so that nothing tells what either of them changed", dhruva.ErrConflict, m.theirs.Hash.Short(), m.branch.Name)
	}
	m.Base = *common
	if common.Hash == m.theirs.Hash {
		m.Status = MergeUpToDate
	}
	return m.tx.Checkpoint(common.Hash)
}

// save stores the merge, unless it is to be shown only. A dry run makes the same
// checkpoint, so that it fails where a merge would.
func (m *merging) save() error {
	e, err := m.tx.Epoch(m.in.Space)
	if err != nil {
		return err
	}
	c, err := m.k.checkpoint(m.Title, m.Items, e.Generation, m.ours, m.theirs)
	if err != nil || m.in.DryRun {
		return err
	}
	c.Branch, m.Checkpoint = m.branch.Name, &c
	redacted(m.tx, m.secrets)
	at := placed{branch: m.branch.Name, head: m.branch.Head, row: m.branch}
	return firstOf(m.ledger.putOnBranch(m.tx, m.p, c, at, MovedByMerge),
		m.ledger.carrySources(m.tx, m.p, c, m.ours, m.theirs), m.sayEdits(c))
}

// sayEdits makes sources of the texts that a person wrote.
func (m *merging) sayEdits(c dhruva.Checkpoint) error {
	edited := dhruva.Checkpoint{Hash: c.Hash, Space: c.Space, Tenant: c.Tenant, Generation: c.Generation, CreatedAt: c.CreatedAt}
	for _, i := range c.Items {
		if _, ok := m.in.Edits[i.ID]; ok {
			edited.Items = append(edited.Items, i)
		}
	}
	return m.ledger.commitSources(m.tx, m.p, CommitInput{}, &edited)
}
