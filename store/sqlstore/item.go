package sqlstore

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

const (
	itemColumns           = "id, kind, text, attrs, cites, salt, digest, redacted"
	selectCheckpointItems = "SELECT " + itemColumns + " FROM checkpoint_items WHERE tenant = $1 AND space = $2 AND checkpoint = $3 ORDER BY ord"
	// itemsOfMany is by hashes, $1 of them, one behind the other in $2. The join is
	// an outer one, since its order is kept; what it adds is left out again.
	itemsOfMany = `SELECT i.id, i.kind, i.text, i.attrs, i.cites, i.salt, i.digest, i.redacted, i.checkpoint, i.ord
		FROM (WITH RECURSIVE page AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM page WHERE n < $1)
			SELECT substr($2, 32 * n - 31, 32) AS hash FROM page) AS p
		LEFT JOIN checkpoint_items AS i ON i.tenant = $3 AND i.space = $4 AND i.checkpoint = p.hash WHERE coalesce(i.ord, -1) >= 0`
	insertCheckpointItem = "INSERT INTO checkpoint_items (tenant, space, checkpoint, ord, " + itemColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
	redactCheckpointItem = `UPDATE checkpoint_items SET text = '', attrs = 'null', cites = 'null', salt = $1, redacted = 1
		WHERE tenant = $2 AND space = $3 AND checkpoint = $4 AND id = $5 RETURNING kind`
	// redactTitle: a checkpoint holds the text of its first title once more.
	redactTitle = `UPDATE checkpoints SET title = coalesce((SELECT i.text FROM checkpoint_items AS i WHERE i.tenant = $1 AND i.space = $2
		AND i.checkpoint = $3 AND i.kind = 'title' ORDER BY i.ord LIMIT 1), '') WHERE tenant = $1 AND space = $2 AND hash = $3`
)

// placedItem is an item, and its place in which checkpoint.
type placedItem struct {
	dhruva.Item
	of  dhruva.Hash
	ord int64
}

func scanItem(r scanner) (row placedItem, err error) { return row, row.scan(r) }

func scanPlacedItem(r scanner) (row placedItem, err error) {
	return row, row.scan(r, hash{&row.of}, &row.ord)
}

func (i *placedItem) scan(r scanner, more ...any) error {
	var salt []byte
	err := r.Scan(append([]any{&i.ID, &i.Kind, &i.Text, document{&i.Attrs}, document{&i.Cites}, &salt, hash{&i.Digest},
		boolean{&i.Redacted}}, more...)...)
	if err == nil && len(salt) != len(i.Salt) {
		return fmt.Errorf("salt of %d bytes", len(salt))
	}
	copy(i.Salt[:], salt)
	return err
}

// withItems completes those checkpoints that the scopes cover.
func (t *tx) withItems(rows []dhruva.Checkpoint, err error) ([]dhruva.Checkpoint, error) {
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(c dhruva.Checkpoint) bool { return !t.reach.Covers(c.Tenant, c.Space) })
	spaces := map[dhruva.SpaceID][]*dhruva.Checkpoint{}
	for n := range rows {
		spaces[rows[n].Space] = append(spaces[rows[n].Space], &rows[n])
	}
	for space, of := range spaces {
		if err := t.readItems(space, of); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// readItems reads the items of checkpoints of a space, of all at once.
func (t *tx) readItems(space dhruva.SpaceID, of []*dhruva.Checkpoint) error {
	tenant, places := string(t.reach.Tenant), map[dhruva.Hash]int{}
	var hashes []byte
	for n, c := range of {
		hashes, places[c.Hash] = append(hashes, c.Hash[:]...), n
	}
	var items []placedItem
	var err error
	if len(of) == 1 {
		items, err = collect(t, "checkpoint items", scanItem, selectCheckpointItems, tenant, string(space), hashes)
		places = map[dhruva.Hash]int{} // its only place is the first
	} else {
		items, err = collect(t, "checkpoint items", scanPlacedItem, itemsOfMany, len(of), hashes, tenant, string(space))
		slices.SortFunc(items, func(a, b placedItem) int {
			return cmp.Or(cmp.Compare(places[a.of], places[b.of]), cmp.Compare(a.ord, b.ord))
		})
	}
	for _, i := range items {
		c := of[places[i.of]]
		c.Items = append(c.Items, i.Item)
	}
	return err
}

func (t *tx) putItems(row dhruva.Checkpoint) error {
	for n, i := range row.Items {
		if err := t.send("put checkpoint item", insertCheckpointItem, string(row.Tenant), string(row.Space), digest(row.Hash), n,
			string(i.ID), string(i.Kind), i.Text, asJSON(i.Attrs), asJSON(i.Cites), i.Salt[:], digest(i.Digest), flag(i.Redacted)); err != nil {
			return err
		}
	}
	return nil
}

func scanItemKind(r scanner) (kind dhruva.ItemKind, err error) { return kind, r.Scan(&kind) }

// RedactItem leaves id, kind and digest.
func (t *tx) RedactItem(h dhruva.Hash, id dhruva.ItemID) error {
	if err := t.allow("item", t.reach.Tenant != "", 0); err != nil {
		return err
	}
	space, err := one(t, "checkpoint", scanSpaceID, checkpointSpace, string(t.reach.Tenant), digest(h))
	if err != nil {
		return err
	}
	if err := t.allow("item", t.reach.Holds(space), 1); err != nil {
		return err
	}
	kinds, err := collect(t, "item", scanItemKind, redactCheckpointItem, make([]byte, len(dhruva.Item{}.Salt)), string(t.reach.Tenant),
		string(space), digest(h), string(id))
	switch {
	case err != nil:
		return err
	case len(kinds) == 0:
		_, err = absent[dhruva.Item]("item")
		return err
	case slices.Contains(kinds, dhruva.KindTitle):
		return t.send("redact title", redactTitle, string(t.reach.Tenant), string(space), digest(h))
	}
	return nil
}
