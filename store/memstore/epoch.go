package memstore

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

func (t *tx) Epoch(id dhruva.SpaceID) (dhruva.Epoch, error) {
	if !t.reach.Holds(id) {
		return absent[dhruva.Epoch]("epoch")
	}
	return t.epoch(id), nil
}

func (t *tx) epoch(id dhruva.SpaceID) dhruva.Epoch {
	if row, ok := t.epochs[t.in(id)]; ok {
		return row
	}
	return dhruva.Epoch{Space: id, Generation: 1}
}

func (t *tx) PutEpoch(row dhruva.Epoch) error {
	if err := row.Validate(); err != nil {
		return invalid("epoch", err)
	}
	if err := t.write("epoch", t.reach.Holds(row.Space), 1); err != nil {
		return err
	}
	old := t.epoch(row.Space)
	row.Head, row.Tail = old.Head, old.Tail
	put(t, t.epochs, t.in(row.Space), row)
	return nil
}

func (t *tx) AppendChange(id dhruva.SpaceID, c dhruva.Change) (int64, error) {
	epoch := t.epoch(id)
	if err := cmp.Or(epoch.Validate(), c.Validate()); err != nil {
		return 0, invalid("change", err)
	}
	if err := t.write("change", t.reach.Holds(id), 1); err != nil {
		return 0, err
	}
	epoch.Head++
	c.Seq = epoch.Head
	put(t, t.epochs, t.in(id), epoch)
	put(t, t.changes, t.in(id), append(t.changes[t.in(id)], c.Canonical()))
	return c.Seq, nil
}

// CompactChanges counts the changes that it removes.
func (t *tx) CompactChanges(id dhruva.SpaceID, through int64) error {
	if err := t.write("tail", t.reach.Holds(id), 0); err != nil {
		return err
	}
	epoch := t.epoch(id)
	if through > epoch.Head {
		return invalid("tail", fmt.Errorf("%w: the feed ends at %d, before %d", dhruva.ErrInvalid, epoch.Head, through))
	}
	gone := max(through-epoch.Tail, 0)
	if err := t.write("tail", true, int(gone)); err != nil || gone == 0 {
		return err
	}
	put(t, t.changes, t.in(id), slices.Clone(t.changes[t.in(id)][gone:]))
	epoch.Tail = through
	put(t, t.epochs, t.in(id), epoch)
	return nil
}
