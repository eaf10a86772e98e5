package memstore

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
)

func (t *tx) Checkpoint(h dhruva.Hash) (dhruva.Checkpoint, error) {
	row, ok := t.checkpoints[hashKey{t.reach.Tenant, h}]
	if !ok || !t.reach.Covers(row.Tenant, row.Space) {
		return absent[dhruva.Checkpoint]("checkpoint")
	}
	return row.Canonical(), nil
}

// covered are the checkpoints that are reached and match.
func (t *tx) covered(match func(dhruva.Checkpoint) bool) []dhruva.Checkpoint {
	var out []dhruva.Checkpoint
	for _, row := range t.checkpoints {
		if t.reach.Covers(row.Tenant, row.Space) && match(row) {
			out = append(out, row.Canonical())
		}
	}
	return out
}

func (t *tx) CheckpointByID(id dhruva.CheckpointID) (dhruva.Checkpoint, error) {
	rows := t.covered(func(c dhruva.Checkpoint) bool { return c.ID == id })
	if len(rows) == 0 {
		return absent[dhruva.Checkpoint]("checkpoint")
	}
	return rows[0], nil
}

func (t *tx) CheckpointsByPrefix(prefix string, limit int) ([]dhruva.Checkpoint, error) {
	rows := t.covered(func(c dhruva.Checkpoint) bool { return strings.HasPrefix(c.Hash.String(), prefix) })
	return page(rows, byHash, max(limit, 0)), nil
}

func byHash(a, b dhruva.Checkpoint) int { return bytes.Compare(a.Hash[:], b.Hash[:]) }

// PutCheckpoint: hash and id are each unique within the tenant.
func (t *tx) PutCheckpoint(row dhruva.Checkpoint) error {
	if err := row.Validate(); err != nil {
		return invalid("checkpoint", err)
	}
	if err := t.write("checkpoint", t.reach.Covers(row.Tenant, row.Space), 1+len(row.Items)); err != nil {
		return err
	}
	for key, other := range t.checkpoints {
		if key.tenant == row.Tenant && (key.hash == row.Hash || other.ID == row.ID) {
			return conflict("checkpoint")
		}
	}
	put(t, t.checkpoints, hashKey{row.Tenant, row.Hash}, row.Canonical())
	return nil
}

// RedactItem puts another row in place of the one that others may be looking at.
func (t *tx) RedactItem(h dhruva.Hash, id dhruva.ItemID) error {
	key := hashKey{t.reach.Tenant, h}
	row, ok := t.checkpoints[key]
	if err := t.write("item", t.reach.Tenant != "" && (!ok || t.reach.Holds(row.Space)), 1); err != nil {
		return err
	}
	row, found := row.Canonical(), false
	for n, i := range row.Items {
		if i.ID == id {
			found, row.Items[n] = true, dhruva.Item{ID: i.ID, Kind: i.Kind, Digest: i.Digest, Redacted: true}
		}
	}
	if !found {
		_, err := absent[dhruva.Item]("item")
		return err
	}
	put(t, t.checkpoints, key, row)
	return nil
}

// HideCheckpoint puts another row in place, as RedactItem does.
func (t *tx) HideCheckpoint(h dhruva.Hash, at time.Time) error {
	if err := dhruva.ValidTime("checkpoint", at); err != nil {
		return invalid("checkpoint", err)
	}
	key := hashKey{t.reach.Tenant, h}
	row, ok := t.checkpoints[key]
	if err := t.write("checkpoint", t.reach.Tenant != "" && (!ok || t.reach.Holds(row.Space)), 1); err != nil {
		return err
	}
	if !ok {
		_, err := absent[dhruva.Checkpoint]("checkpoint")
		return err
	}
	if row.HiddenAt.IsZero() {
		row.HiddenAt = at
		put(t, t.checkpoints, key, row.Canonical())
	}
	return nil
}

// newestCheckpoint orders by descending (CreatedAt, Hash).
func newestCheckpoint(a, b dhruva.Checkpoint) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), byHash(b, a))
}

// afterCheckpoint is the checkpoint that a cursor names; not ok: nothing comes
// after it.
func (t *tx) afterCheckpoint(cursor string) (after dhruva.Checkpoint, ok bool, err error) {
	if cursor == "" {
		return after, true, nil
	}
	h, err := dhruva.ParseHash(cursor)
	if err != nil {
		return after, false, invalid("checkpoint cursor", err)
	}
	after, err = t.Checkpoint(h)
	return after, err == nil, nil
}

func hasItem(c dhruva.Checkpoint, id dhruva.ItemID) bool {
	return slices.ContainsFunc(c.Items, func(i dhruva.Item) bool { return i.ID == id })
}

func (t *tx) ListCheckpoints(q dhruva.CheckpointQuery) ([]dhruva.Checkpoint, error) {
	after, ok, err := t.afterCheckpoint(q.After)
	if !ok {
		return nil, err
	}
	rows := t.covered(func(c dhruva.Checkpoint) bool {
		return c.HiddenAt.IsZero() && (q.Space == "" || c.Space == q.Space) && (q.Branch == "" || c.Branch == q.Branch) &&
			(q.Session == "" || c.Window.Session == q.Session) && (q.Item == "" || hasItem(c, q.Item)) &&
			(q.After == "" || newestCheckpoint(after, c) < 0)
	})
	return page(rows, newestCheckpoint, q.Size()), nil
}

func (t *tx) Branch(s dhruva.SpaceID, name string) (dhruva.Branch, error) {
	row, ok := t.branches[branchKey{t.in(s), name}]
	if !ok || !t.reach.Holds(s) {
		return absent[dhruva.Branch]("branch")
	}
	return row, nil
}

func (t *tx) ListBranches(s dhruva.SpaceID) ([]dhruva.Branch, error) {
	var out []dhruva.Branch
	for key, row := range t.branches {
		if key.spaceKey == t.in(s) && t.reach.Holds(s) {
			out = append(out, row)
		}
	}
	return page(out, func(a, b dhruva.Branch) int { return cmp.Compare(a.Name, b.Name) }, len(out)), nil
}

func (t *tx) SwapBranch(row dhruva.Branch, old dhruva.Hash) error {
	if err := row.Validate(); err != nil {
		return invalid("branch", err)
	}
	if err := t.write("branch", t.reach.Holds(row.Space), 1); err != nil {
		return err
	}
	key := branchKey{t.in(row.Space), row.Name}
	if t.branches[key].Head != old { // an absent branch has the zero head
		return conflict("branch")
	}
	put(t, t.branches, key, row.Canonical())
	return nil
}

func (t *tx) DropBranch(s dhruva.SpaceID, name string, old dhruva.Hash) error {
	if err := t.write("branch", t.reach.Holds(s), 1); err != nil {
		return err
	}
	key := branchKey{t.in(s), name}
	if row, ok := t.branches[key]; !ok || row.Head != old {
		return conflict("branch")
	}
	remove(t, t.branches, key)
	return nil
}
