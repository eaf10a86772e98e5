package sqlstore

import (
	"math"

	"github.com/dhruva-memory/dhruva"
)

// spot is where a row is, and where it stands in a list that is ordered by a
// time.
type spot struct {
	space dhruva.SpaceID
	at    int64
}

// spots reads what a statement of (space, time) says of a row: one, or none.
func (t *tx) spots(query string, key any) ([]spot, error) {
	return collect(t, "cursor", func(r scanner) (m spot, err error) {
		return m, r.Scan(named[dhruva.SpaceID]{&m.space}, &m.at)
	}, query, string(t.reach.Tenant), key)
}

// spotOf is the time of the row that a cursor names; not ok: it names none that
// the scopes cover, and nothing comes after it.
func (t *tx) spotOf(query string, key any) (at int64, ok bool, err error) {
	rows, err := t.spots(query, key)
	if err != nil || len(rows) == 0 || !t.reach.Holds(rows[0].space) {
		return 0, false, err
	}
	return rows[0].at, true, nil
}

// before is the time before which a page of a list begins that has the newest
// first.
func (t *tx) before(query, after string) (at int64, ok bool, err error) {
	if after == "" {
		return math.MaxInt64, true, nil
	}
	return t.spotOf(query, after)
}

// beforeHash is before for a list whose cursors are hashes.
func (t *tx) beforeHash(query, after string) (at int64, h dhruva.Hash, ok bool, err error) {
	if after == "" {
		return math.MaxInt64, h, true, nil
	}
	if h, err = dhruva.ParseHash(after); err != nil {
		return 0, h, false, invalid("checkpoint cursor", err)
	}
	at, ok, err = t.spotOf(query, digest(h))
	return at, h, ok, err
}

// placed tells whether a row of an id may be written over: there is none, or it
// is in a space that the scopes cover.
func (t *tx) placed(query, id string) (bool, error) {
	if t.dead || t.reach.Tenant == "" {
		return false, nil
	}
	if t.reach.Whole {
		return true, nil
	}
	rows, err := t.spots(query, id)
	return err == nil && (len(rows) == 0 || t.reach.Holds(rows[0].space)), err
}
