package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Survey is what a store has of spaces and sessions, those that are homes or
// were hidden too, and what it says was taken away: all that whoever restores a
// backup must know. It holds ids, numbers and times, and no text.
type Survey struct {
	Spaces   []SurveyedSpace
	Sessions []SurveyedSession
	// Checkpoints, Keys and Documents are all that there are.
	Checkpoints []SurveyedCheckpoint
	Keys        []SurveyedKey
	Documents   []SurveyedDocument
	Tombstones  []SurveyedTombstone
	Turns       []SurveyedTurn
	Items       []SurveyedItem
	Notes       []SurveyedNote
}

// SurveyedSpace is a space and its epoch.
type SurveyedSpace struct {
	Tenant    dhruva.TenantID
	CreatedAt time.Time
	DeletedAt time.Time
	dhruva.Epoch
	Replays []SurveyedReplay
}

// SurveyedReplay is a replay and whose generation it is of.
type SurveyedReplay struct {
	ID         dhruva.ReplayID
	Generation int64
}

// SurveyedSession is a session.
type SurveyedSession struct {
	Tenant    dhruva.TenantID
	Space     dhruva.SpaceID
	ID        dhruva.SessionID
	LastSeq   int64
	DeletedAt time.Time
}

// SurveyedCheckpoint is a checkpoint.
type SurveyedCheckpoint struct {
	Tenant    dhruva.TenantID
	Space     dhruva.SpaceID
	Hash      dhruva.Hash
	CreatedAt time.Time
	HiddenAt  time.Time
}

// SurveyedKey is a key.
type SurveyedKey struct {
	Tenant dhruva.TenantID
	ID     dhruva.KeyID
}

// SurveyedDocument is a document. One that another store lacks, and that is older
// than what that store knows, was dropped there.
type SurveyedDocument struct {
	Tenant    dhruva.TenantID
	Space     dhruva.SpaceID
	ID        dhruva.DocumentID
	CreatedAt time.Time
}

// SurveyedTombstone is a tombstone and whose it is.
type SurveyedTombstone struct {
	Tenant dhruva.TenantID
	dhruva.Tombstone
}

// SurveyedTurn is a turn whose text was taken away.
type SurveyedTurn struct {
	Tenant  dhruva.TenantID
	Session dhruva.SessionID
	Seq     int64
	ID      dhruva.TurnID
}

// SurveyedItem is an item whose text was taken away.
type SurveyedItem struct {
	Tenant     dhruva.TenantID
	Space      dhruva.SpaceID
	Checkpoint dhruva.Hash
	ID         dhruva.ItemID
}

// SurveyedNote is a note whose text was taken away.
type SurveyedNote struct {
	Tenant dhruva.TenantID
	Space  dhruva.SpaceID
	ID     dhruva.NoteID
}

// Survey reads through the whole store, in one snapshot.
func (s *Store) Survey(ctx context.Context) (out Survey, err error) {
	err = s.reading(ctx, nil, func(r reading) error {
		tables, err := introspected(s.d, r)
		if err != nil {
			return err
		}
		for _, part := range []func(reading, []table) error{out.spaces, out.sessions, out.checkpoints, out.keys, out.tombstones, out.turns, out.items,
			out.notes, out.documents} {
			if err := part(r, tables); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Survey{}, fmt.Errorf("sqlstore: survey: %w", err)
	}
	return out, nil
}

// record is a row with the names of its columns.
type record struct {
	columns []string
	row     []any
}

func (r record) value(name string) any {
	n, ok := slices.BinarySearch(r.columns, name)
	if !ok {
		return nil
	}
	return r.row[n]
}

func (r record) text(name string) string {
	v, _ := r.value(name).(string)
	return v
}

func (r record) number(name string) int64 {
	v, _ := r.value(name).(int64)
	return v
}

func (r record) hash(name string) (h dhruva.Hash) {
	v, _ := r.value(name).([]byte)
	copy(h[:], v)
	return h
}

// time is the zero time for NULL.
func (r record) time(name string) time.Time {
	v, ok := r.value(name).(int64)
	if !ok {
		return time.Time{}
	}
	return time.UnixMicro(v).UTC()
}

// records reads a table.
func (r reading) records(tables []table, name string, fn func(record)) error {
	n := slices.IndexFunc(tables, func(t table) bool { return t.name == name })
	if n < 0 {
		return fmt.Errorf("%w: there is no table %s", dhruva.ErrInvalid, name)
	}
	return tables[n].each(r, r.pause, func(row []any) error {
		fn(record{tables[n].columns, row})
		return nil
	})
}

func (s *Survey) spaces(r reading, tables []table) error {
	type key struct {
		tenant dhruva.TenantID
		space  dhruva.SpaceID
	}
	at := map[key]int{}
	place := func(tenant, space string) *SurveyedSpace {
		k := key{dhruva.TenantID(tenant), dhruva.SpaceID(space)}
		n, ok := at[k]
		if !ok {
			n = len(s.Spaces)
			at[k] = n
			s.Spaces = append(s.Spaces, SurveyedSpace{Tenant: k.tenant, Epoch: dhruva.Epoch{Space: k.space, Generation: 1}})
		}
		return &s.Spaces[n]
	}
	err := r.records(tables, "spaces", func(row record) {
		sp := place(row.text("tenant"), row.text("id"))
		sp.CreatedAt, sp.DeletedAt = row.time("created_at"), row.time("deleted_at")
	})
	if err != nil {
		return err
	}
	err = r.records(tables, "epochs", func(row record) {
		e := &place(row.text("tenant"), row.text("space")).Epoch
		e.Generation, e.Fence, e.ACLVersion = row.number("generation"), row.number("fence"), row.number("acl_version")
		e.Head, e.Tail = row.number("head"), row.number("tail")
	})
	if err != nil {
		return err
	}
	return r.records(tables, "replays", func(row record) {
		sp := place(row.text("tenant"), row.text("space"))
		sp.Replays = append(sp.Replays, SurveyedReplay{dhruva.ReplayID(row.text("id")), row.number("generation")})
	})
}

func (s *Survey) sessions(r reading, tables []table) error {
	return r.records(tables, "sessions", func(row record) {
		s.Sessions = append(s.Sessions, SurveyedSession{
			Tenant: dhruva.TenantID(row.text("tenant")), Space: dhruva.SpaceID(row.text("space")), ID: dhruva.SessionID(row.text("id")),
			LastSeq: row.number("last_seq"), DeletedAt: row.time("deleted_at"),
		})
	})
}

func (s *Survey) checkpoints(r reading, tables []table) error {
	return r.records(tables, "checkpoints", func(row record) {
		s.Checkpoints = append(s.Checkpoints, SurveyedCheckpoint{
			dhruva.TenantID(row.text("tenant")), dhruva.SpaceID(row.text("space")), row.hash("hash"), row.time("created_at"), row.time("hidden_at"),
		})
	})
}

func (s *Survey) keys(r reading, tables []table) error {
	return r.records(tables, "keys", func(row record) {
		s.Keys = append(s.Keys, SurveyedKey{dhruva.TenantID(row.text("tenant")), dhruva.KeyID(row.text("id"))})
	})
}

func (s *Survey) tombstones(r reading, tables []table) error {
	return r.records(tables, "tombstones", func(row record) {
		s.Tombstones = append(s.Tombstones, SurveyedTombstone{dhruva.TenantID(row.text("tenant")), dhruva.Tombstone{
			Space: dhruva.SpaceID(row.text("space")), Generation: row.number("generation"), Source: dhruva.SourceID(row.text("source")),
			State: row.text("state"), CreatedAt: row.time("created_at"),
		}})
	})
}

func (s *Survey) turns(r reading, tables []table) error {
	return r.records(tables, "turns", func(row record) {
		if row.number("redacted") != 0 {
			s.Turns = append(s.Turns, SurveyedTurn{
				dhruva.TenantID(row.text("tenant")), dhruva.SessionID(row.text("session")), row.number("seq"), dhruva.TurnID(row.text("id")),
			})
		}
	})
}

func (s *Survey) items(r reading, tables []table) error {
	return r.records(tables, "checkpoint_items", func(row record) {
		if row.number("redacted") != 0 {
			s.Items = append(s.Items, SurveyedItem{
				dhruva.TenantID(row.text("tenant")), dhruva.SpaceID(row.text("space")), row.hash("checkpoint"), dhruva.ItemID(row.text("id")),
			})
		}
	})
}

func (s *Survey) notes(r reading, tables []table) error {
	return r.records(tables, "notes", func(row record) {
		if row.number("redacted") != 0 {
			s.Notes = append(s.Notes, SurveyedNote{
				dhruva.TenantID(row.text("tenant")), dhruva.SpaceID(row.text("space")), dhruva.NoteID(row.text("id")),
			})
		}
	})
}

func (s *Survey) documents(r reading, tables []table) error {
	return r.records(tables, "documents", func(row record) {
		s.Documents = append(s.Documents, SurveyedDocument{
			dhruva.TenantID(row.text("tenant")), dhruva.SpaceID(row.text("space")), dhruva.DocumentID(row.text("id")), row.time("created_at"),
		})
	})
}
