package sqlstore

import (
	"cmp"
	"fmt"

	"github.com/dhruva-memory/dhruva"
)

const (
	selectEpoch = "SELECT space, generation, fence, acl_version, head, tail FROM epochs WHERE tenant = $1 AND space = $2"
	upsertEpoch = `INSERT INTO epochs (tenant, space, generation, fence, acl_version, head, tail) VALUES ($1, $2, $3, $4, $5, 0, 0)
		ON CONFLICT (tenant, space) DO UPDATE SET generation = excluded.generation, fence = excluded.fence,
		acl_version = excluded.acl_version`
	insertEpoch = "INSERT INTO epochs (tenant, space, generation, fence, acl_version, head, tail) VALUES ($1, $2, 1, 0, 0, $3, 0)"
	// raiseHead breaks the constraint that the head is not NULL when it is not
	// what it was.
	raiseHead     = "UPDATE epochs SET head = CASE WHEN head = $1 THEN CAST($2 AS BIGINT) END WHERE tenant = $3 AND space = $4"
	insertChange  = "INSERT INTO changes (tenant, space, seq, kind, ref, at) VALUES ($1, $2, $3, $4, $5, $6)"
	deleteChanges = "DELETE FROM changes WHERE tenant = $1 AND space = $2 AND seq <= $3"
	raiseTail     = "UPDATE epochs SET tail = $1 WHERE tenant = $2 AND space = $3"
)

// feed is what a transaction knows of a space's epoch. The lock of the space
// keeps others from writing it, except for those that write through the whole
// tenant; raising the head refuses whoever was second.
type feed struct {
	dhruva.Epoch
	exists bool
	stored int64 // the head that is stored; Head is that of the changes appended here
}

// feed reads an epoch once.
func (t *tx) feed(id dhruva.SpaceID) (*feed, error) {
	if f := t.feeds[id]; f != nil {
		return f, t.usable("epoch")
	}
	rows, err := collect(t, "epoch", func(r scanner) (row dhruva.Epoch, err error) {
		return row, r.Scan(&row.Space, &row.Generation, &row.Fence, &row.ACLVersion, &row.Head, &row.Tail)
	}, selectEpoch, string(t.reach.Tenant), string(id))
	if err != nil {
		return nil, err
	}
	f := &feed{Epoch: dhruva.Epoch{Space: id, Generation: 1}}
	if len(rows) == 1 {
		f = &feed{Epoch: rows[0], exists: true, stored: rows[0].Head}
	}
	t.feeds[id] = f
	return f, nil
}

func (t *tx) Epoch(id dhruva.SpaceID) (dhruva.Epoch, error) {
	if !t.reach.Holds(id) {
		return absent[dhruva.Epoch]("epoch")
	}
	f, err := t.feed(id)
	if err != nil {
		return dhruva.Epoch{}, err
	}
	return f.Epoch, nil
}

func (t *tx) PutEpoch(row dhruva.Epoch) error {
	if err := row.Validate(); err != nil {
		return invalid("epoch", err)
	}
	if err := t.allow("epoch", t.reach.Holds(row.Space), 1); err != nil {
		return err
	}
	err := t.send("put epoch", upsertEpoch, string(t.reach.Tenant), string(row.Space), row.Generation, row.Fence, row.ACLVersion)
	if f := t.feeds[row.Space]; f != nil && err == nil {
		f.exists, f.Generation, f.Fence, f.ACLVersion = true, row.Generation, row.Fence, row.ACLVersion
	}
	return err
}

// AppendChange raises the head once for all changes, at the end.
func (t *tx) AppendChange(id dhruva.SpaceID, c dhruva.Change) (int64, error) {
	if err := cmp.Or(c.Validate(), dhruva.Epoch{Space: id}.Validate()); err != nil {
		return 0, invalid("change", err)
	}
	if err := t.allow("change", t.reach.Holds(id), 1); err != nil {
		return 0, err
	}
	f, err := t.feed(id)
	if err != nil {
		return 0, err
	}
	f.Head++
	err = t.race("put change", insertChange, string(t.reach.Tenant), string(id), f.Head, string(c.Kind), c.Ref, c.At.UnixMicro())
	return f.Head, err
}

// raiseHeads stores the heads of the feeds that changes were appended to.
func (t *tx) raiseHeads() (err error) {
	for id, f := range t.feeds {
		switch {
		case f.Head == f.stored:
			continue
		case f.exists:
			err = t.race("put epoch", raiseHead, f.stored, f.Head, string(t.reach.Tenant), string(id))
		default:
			err = t.race("put epoch", insertEpoch, string(t.reach.Tenant), string(id), f.Head)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// CompactChanges counts the changes that go.
func (t *tx) CompactChanges(id dhruva.SpaceID, through int64) error {
	if err := t.allow("change", t.reach.Holds(id), 0); err != nil {
		return err
	}
	f, err := t.feed(id)
	if err != nil {
		return err
	}
	if through > f.Head {
		return invalid("change", fmt.Errorf("%w: change %d is beyond the head %d", dhruva.ErrInvalid, through, f.Head))
	}
	if through <= f.Tail {
		return nil
	}
	if err := t.allow("change", true, int(through-f.Tail)); err != nil {
		return err
	}
	if err := t.drop("changes", deleteChanges, string(t.reach.Tenant), string(id), through); err != nil {
		return err
	}
	if !f.exists { // its first changes go with it
		if err := t.race("put epoch", insertEpoch, string(t.reach.Tenant), string(id), f.Head); err != nil {
			return err
		}
		f.exists, f.stored = true, f.Head
	}
	f.Tail = through
	return t.send("put epoch", raiseTail, through, string(t.reach.Tenant), string(id))
}
