package memstore

import (
	"cmp"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

func (t *tx) Replay(s dhruva.SpaceID, id dhruva.ReplayID) (dhruva.Replay, error) {
	row, ok := t.replays[t.in(s)][id]
	if !ok || !t.reach.Holds(s) {
		return absent[dhruva.Replay]("replay")
	}
	return row.Canonical(), nil
}

// replayed are the entries of a space that match.
func (t *tx) replayed(s dhruva.SpaceID, match func(dhruva.Replay) bool) []dhruva.Replay {
	var out []dhruva.Replay
	for _, row := range t.replays[t.in(s)] {
		if t.reach.Holds(s) && match(row) {
			out = append(out, row.Canonical())
		}
	}
	return out
}

func (t *tx) Replays(s dhruva.SpaceID, d dhruva.Dialect, key dhruva.Hash, limit int) ([]dhruva.Replay, error) {
	rows := t.replayed(s, func(r dhruva.Replay) bool { return r.Dialect == d && slices.Contains(r.Keys, key) })
	return page(rows, func(a, b dhruva.Replay) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	}, max(limit, 0)), nil
}

func (t *tx) ReplaysOf(s dhruva.SpaceID, id dhruva.SourceID, p dhruva.Page) ([]dhruva.ReplayID, error) {
	var out []dhruva.ReplayID
	for _, row := range t.replayed(s, func(r dhruva.Replay) bool {
		return beyond(p.After, r.ID) && slices.ContainsFunc(r.Evidence, func(e dhruva.Span) bool { return e.Source == id })
	}) {
		out = append(out, row.ID)
	}
	return page(out, cmp.Compare, p.Size()), nil
}

func (t *tx) PutReplay(row dhruva.Replay) error {
	if err := row.Validate(); err != nil {
		return invalid("replay", err)
	}
	row = row.Canonical()
	if err := t.write("replay", t.reach.Covers(row.Tenant, row.Space), row.Rows()); err != nil {
		return err
	}
	put(t, within(t, t.replays, t.in(row.Space)), row.ID, row)
	return nil
}

func (t *tx) DropReplay(s dhruva.SpaceID, id dhruva.ReplayID) error {
	if err := t.write("replay", t.reach.Holds(s), 1); err != nil {
		return err
	}
	remove(t, t.replays[t.in(s)], id)
	return nil
}
