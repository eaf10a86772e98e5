package memstore

import (
	"cmp"

	"github.com/dhruva-memory/dhruva"
)

func (t *tx) KeyByHash(h []byte) (dhruva.Key, error) {
	id, ok := t.keyHashes[string(h)]
	if !ok || !t.reach.System {
		return absent[dhruva.Key]("key")
	}
	return t.keys[id].Canonical(), nil
}

func (t *tx) Key(id dhruva.KeyID) (dhruva.Key, error) {
	row, ok := t.keys[keyKey{t.reach.Tenant, id}]
	if !ok || !t.reach.Whole {
		return absent[dhruva.Key]("key")
	}
	return row.Canonical(), nil
}

// PutKey: a hash names one key of the installation.
func (t *tx) PutKey(row dhruva.Key) error {
	if err := row.Validate(); err != nil {
		return invalid("key", err)
	}
	if err := t.write("key", t.reach.Covers(row.Tenant, ""), 1); err != nil {
		return err
	}
	id := keyKey{row.Tenant, row.ID}
	if owner, taken := t.keyHashes[string(row.Hash)]; taken && owner != id {
		return conflict("key")
	}
	if old, had := t.keys[id]; had {
		remove(t, t.keyHashes, string(old.Hash))
	}
	put(t, t.keys, id, row.Canonical())
	put(t, t.keyHashes, string(row.Hash), id)
	return nil
}

func (t *tx) ListKeys(p dhruva.Page) ([]dhruva.Key, error) {
	var out []dhruva.Key
	for _, row := range t.keys {
		if t.reach.Whole && row.Tenant == t.reach.Tenant && beyond(p.After, row.ID) {
			out = append(out, row.Canonical())
		}
	}
	return page(out, func(a, b dhruva.Key) int { return cmp.Compare(a.ID, b.ID) }, p.Size()), nil
}
