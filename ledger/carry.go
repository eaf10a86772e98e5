package ledger

import (
	"crypto/rand"
	"fmt"

	"github.com/dhruva-memory/dhruva"
)

// A checkpoint that is made of others (a merge, a revert) has their items, with
// their ids, under salts of its own and without cites: those stay with the
// checkpoint that an item first appeared in.

// carrier is what such a checkpoint is made with before its Update: everything
// that comes from chance or the clock.
type carrier struct {
	c     dhruva.Checkpoint
	salts [][16]byte
	ids   []dhruva.ItemID
	most  int
}

// newCarrier checks title and author; a title of "" is to be set in the Update.
func (l *Ledger) newCarrier(p dhruva.Principal, space dhruva.SpaceID, title, author string) (*carrier, error) {
	title, err := label("title", l.hide(title), maxTitle, true)
	if err != nil {
		return nil, err
	}
	if author, err = oneLine("author", l.hide(author), true); err != nil {
		return nil, err
	}
	k := &carrier{most: l.limits().Items}
	k.c = dhruva.Checkpoint{
		Tenant: p.Tenant, Space: space, ID: dhruva.CheckpointID(dhruva.NewID()), CreatedAt: l.now(),
		Author: firstText(author, p.Name, string(p.ID)),
		Items:  []dhruva.Item{{Kind: dhruva.KindTitle, Text: title}},
	}
	k.salts, k.ids = make([][16]byte, k.most), make([]dhruva.ItemID, k.most+1)
	for n := range k.salts {
		rand.Read(k.salts[n][:]) // never fails; it ends the program instead
	}
	for n := range k.ids {
		k.ids[n] = dhruva.ItemID(dhruva.NewID())
	}
	return k, nil
}

// checkpoint is the one that has these items besides its title, which takes the
// title's id of the first parent.
func (k *carrier) checkpoint(title string, items []dhruva.Item, generation int64, parents ...dhruva.Checkpoint) (dhruva.Checkpoint, error) {
	c := k.c.Canonical() // the Update may run again
	c.Generation = generation
	c.Items[0].Text = firstText(c.Items[0].Text, clipRunes(title, maxTitle))
	c.Items[0].ID = k.titleID(parents[0])
	c.Items = append(c.Items, items...)
	if len(c.Items) > k.most {
		return c, fmt.Errorf("%w: the checkpoint would have %d items, the limit is %d", dhruva.ErrTooLarge, len(c.Items), k.most)
	}
	for _, p := range parents {
		c.Parents = append(c.Parents, p.Hash)
	}
	for n := range c.Items {
		i := &c.Items[n]
		i.Cites, i.Salt = nil, k.salts[n]
		i.Digest = dhruva.DigestItem(*i)
	}
	c.Hash = dhruva.HashCheckpoint(&c)
	return c, nil
}

func (k *carrier) titleID(parent dhruva.Checkpoint) dhruva.ItemID {
	for _, i := range parent.Items {
		if i.Kind == dhruva.KindTitle {
			return i.ID
		}
	}
	return k.ids[k.most]
}

// fresh gives out new ids, the same ones in each run of an Update.
func (k *carrier) fresh() func() dhruva.ItemID {
	n := 0
	return func() dhruva.ItemID {
		if n < k.most {
			n++
		}
		return k.ids[n-1]
	}
}

func clipRunes(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// carrySources gives the sources of items that were carried into a checkpoint one
// more place. Nothing rises by being carried: whoever wrote it first decides what
// it is worth. Without memory:write no place is added, as with Commit.
func (l *Ledger) carrySources(tx dhruva.Tx, p dhruva.Principal, c dhruva.Checkpoint, from ...dhruva.Checkpoint) error {
	if !p.May(dhruva.MemoryWrite) {
		return nil
	}
	for _, i := range c.Items {
		if i.Kind == dhruva.KindTitle {
			continue
		}
		id, err := l.saidIn(tx, c, i, from)
		if err != nil || id == "" {
			if err != nil {
				return err
			}
			continue
		}
		src, err := tx.Source(c.Space, c.Generation, id)
		if err != nil {
			return err
		}
		ref := dhruva.Reference{Space: c.Space, Generation: c.Generation, Source: id, Checkpoint: c.Hash, Item: i.ID}
		if err := firstOf(tx.AddReference(ref), announce(tx, src, dhruva.ChangeSource, c.CreatedAt)); err != nil {
			return err
		}
	}
	return nil
}

// saidIn is the source of an item's text that one of some checkpoints says, "" when
// none does.
func (l *Ledger) saidIn(tx dhruva.Tx, c dhruva.Checkpoint, i dhruva.Item, from []dhruva.Checkpoint) (dhruva.SourceID, error) {
	for _, role := range []dhruva.Role{dhruva.RoleUser, dhruva.RoleAssistant} {
		id := dhruva.ContentID(l.Keys, c.Tenant, c.Space, role, i.Text)
		refs, err := tx.References(c.Space, c.Generation, id)
		if err != nil {
			return "", err
		}
		for _, r := range refs {
			for _, f := range from {
				if r.Session == "" && r.Checkpoint == f.Hash {
					return id, nil
				}
			}
		}
	}
	return "", nil
}

// shownItems are the items of a checkpoint but its title and stubs.
func shownItems(c dhruva.Checkpoint) (out []dhruva.Item) {
	for _, i := range c.Items {
		if i.Kind != dhruva.KindTitle && !i.Redacted {
			out = append(out, i)
		}
	}
	return out
}
