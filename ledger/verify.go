package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// VerifyReport is the outcome of Verify.
type VerifyReport struct {
	// Checked counts checkpoints, Hidden those of them that were deleted.
	Checked, Hidden int
	// Failures are in words; none means that every digest, hash, parent and
	// branch head of the space stands.
	Failures []string
}

// verifyPage is how many outlines are read at once.
const verifyPage = 500

// Verify recomputes every checkpoint of a space, deleted ones too, and follows
// its parents and branch heads. It holds one checkpoint at a time, and the hashes
// of parents that it has not come to yet; so the length of a lineage costs time
// and no memory. Needs state:read.
func (l *Ledger) Verify(ctx context.Context, space dhruva.SpaceID) (rep VerifyReport, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return rep, wrap("verify", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		v := verifier{tx: tx, space: space, wanted: map[dhruva.Hash]dhruva.Hash{}}
		if _, err := liveSpace(tx, p, space); err != nil {
			return err
		}
		err := firstOf(v.checkpoints(), v.parents(), v.heads())
		rep = v.VerifyReport
		return err
	})
	return rep, wrap("verify", err)
}

// verifier is a verification on its way.
type verifier struct {
	VerifyReport
	tx    dhruva.Tx
	space dhruva.SpaceID
	// wanted are parents that were named and not met since, by a child of theirs.
	wanted map[dhruva.Hash]dhruva.Hash
}

func (v *verifier) fail(format string, args ...any) {
	v.Failures = append(v.Failures, fmt.Sprintf(format, args...))
}

func (v *verifier) checkpoints() error {
	q := dhruva.OutlineQuery{Space: v.space, Page: dhruva.Page{Limit: verifyPage}}
	for {
		rows, err := v.tx.ListOutlines(q)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := v.checkpoint(row); err != nil {
				return err
			}
		}
		if len(rows) < q.Limit {
			return nil
		}
		q.After = rows[len(rows)-1].Hash.String()
	}
}

func (v *verifier) checkpoint(row dhruva.Outline) error {
	h := row.Hash
	c, err := v.tx.Checkpoint(h)
	if err != nil {
		return err
	}
	if v.Checked++; !c.HiddenAt.IsZero() {
		v.Hidden++
	}
	if c.Hash != h || c.Space != v.space {
		v.fail("checkpoint %s: it is not what it is listed as", h.Short())
	}
	if err := dhruva.VerifyCheckpoint(&c); err != nil {
		v.fail("%v", err)
	}
	if err := v.shown(row, &c); err != nil {
		return err
	}
	delete(v.wanted, h)
	for _, parent := range c.Parents {
		v.wanted[parent] = h
	}
	return nil
}

// shown compares what a store keeps a second time, to show it without reading all,
// with what the hash covers: the title, and the parent that walks follow.
func (v *verifier) shown(row dhruva.Outline, c *dhruva.Checkpoint) error {
	if row.Title != c.Outline().Title || !slices.Equal(row.Parents, c.Parents) {
		v.fail("checkpoint %s: it is listed with another title or other parents than it has", row.Hash.Short())
	}
	walk, err := v.tx.Ancestry(row.Hash, 2)
	if err != nil {
		return err
	}
	next := dhruva.Hash{}
	if len(walk) == 2 {
		next = walk[1].Hash
	}
	if next == c.Parent() {
		return nil
	}
	if next.IsZero() { // a parent that is not there is told of elsewhere
		if there, err := v.tx.Ancestry(c.Parent(), 1); err != nil || len(there) == 0 || there[0].Space != v.space {
			return err
		}
	}
	v.fail("checkpoint %s: walks go on from it to %s, and its parent is %s", row.Hash.Short(), next.Short(), c.Parent().Short())
	return nil
}

// parents looks for those that were named and did not come after their children.
func (v *verifier) parents() error {
	for _, parent := range slices.SortedFunc(maps.Keys(v.wanted), dhruva.Hash.Compare) {
		child := v.wanted[parent]
		rows, err := v.tx.Ancestry(parent, 1)
		switch {
		case err != nil:
			return err
		case len(rows) == 0:
			v.fail("checkpoint %s: parent %s is missing", child.Short(), parent.Short())
		case rows[0].Space != v.space:
			v.fail("checkpoint %s: parent %s is of another space", child.Short(), parent.Short())
		}
	}
	return nil
}

func (v *verifier) heads() error {
	branches, err := v.tx.ListBranches(v.space)
	if err != nil {
		return err
	}
	for _, b := range branches {
		rows, err := v.tx.Ancestry(b.Head, 1)
		switch {
		case err != nil && !errors.Is(err, dhruva.ErrNotFound):
			return err
		case len(rows) == 0 || rows[0].Space != v.space:
			v.fail("branch %s: head %s is missing", b.Name, b.Head.Short())
		case !rows[0].HiddenAt.IsZero():
			v.fail("branch %s: head %s was deleted", b.Name, b.Head.Short())
		}
	}
	return nil
}
