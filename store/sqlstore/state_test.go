package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/pgtest"
)

// What 0003 finds: the statements of the program before it.
const (
	groundSession = `INSERT INTO sessions (tenant, id, space, kind, fresh, title, provider, model, branch, seeded, forked_from, forked_session,
		forked_seq, mount_checkpoint, mount_depth, mount_base, mount_at, last_seq, owner, created_at, updated_at, deleted_at)
		VALUES ($1, $2, $3, $4, 0, $5, '', '', $6, $7, $8, '', 0, $9, 3, 1, $10, $11, $12, $13, $14, NULL)`
	groundCheckpoint = `INSERT INTO checkpoints (tenant, space, hash, id, parents, branch, created_at, author, window_session, window_base,
		window_through, generation) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`
)

// groundRows are a lineage with a merge, a parent that is no hash, a session and
// its turns, some of them seams.
func groundRows() (dhruva.Session, []dhruva.Turn, []dhruva.Checkpoint) {
	when := time.UnixMicro(1_790_000_000_000_000).UTC()
	session := dhruva.Session{Tenant: "t", Space: "s", ID: "ses", Kind: dhruva.SessionChat, Title: "title", Branch: "main",
		Mount:   &dhruva.Mount{Checkpoint: dhruva.Hash{1}, Depth: 3, Base: 1, At: when},
		LastSeq: 5, Owner: "me", CreatedAt: when, UpdatedAt: when}
	var turns []dhruva.Turn
	for n := int64(1); n <= 5; n++ {
		turns = append(turns, dhruva.Turn{Tenant: "t", Space: "s", Session: "ses", Seq: n, ID: dhruva.TurnID(fmt.Sprint(n)), Parent: n - 1,
			BeganAfter: n - 1, Role: dhruva.RoleUser, Content: "text", CreatedAt: when})
	}
	turns[2].Parent, turns[3].BeganAfter = 1, 1
	turns[4].Content, turns[4].Redacted = "", true
	var lineage []dhruva.Checkpoint
	for n, parents := range [][]dhruva.Hash{nil, {{1}}, {{2}, {1}}, {{}}, {{3}}} {
		lineage = append(lineage, dhruva.Checkpoint{Tenant: "t", Space: "s", ID: dhruva.CheckpointID(fmt.Sprint(n)), Hash: dhruva.Hash{byte(n + 1)},
			Parents: parents, Branch: "main", CreatedAt: when.Add(time.Duration(n) * time.Second), Author: "me",
			Window: dhruva.Window{Session: "ses", Through: int64(n)}, Generation: 1,
			Items: []dhruva.Item{{ID: "i", Kind: dhruva.KindTitle, Text: fmt.Sprint("title ", n)}, {ID: dhruva.ItemID(fmt.Sprint(n)), Kind: dhruva.KindTask}}})
	}
	return session, turns, lineage
}

// putGround writes them as that program did.
func putGround(row dhruva.Tx) error {
	t := row.(*tx)
	s, turns, lineage := groundRows()
	err := t.send("session", groundSession, "t", "ses", "s", "chat", s.Title, s.Branch, []byte{}, []byte{}, digest(s.Mount.Checkpoint), s.Mount.At.UnixMicro(),
		s.LastSeq, string(s.Owner), s.CreatedAt.UnixMicro(), s.UpdatedAt.UnixMicro())
	for _, turn := range turns {
		err = errors.Join(err, row.AppendTurn(turn))
	}
	for _, c := range lineage {
		err = errors.Join(err, t.send("checkpoint", groundCheckpoint, "t", "s", digest(c.Hash), string(c.ID), asJSON(c.Parents), c.Branch, c.CreatedAt.UnixMicro(),
			c.Author, string(c.Window.Session), c.Window.Base, c.Window.Through, c.Generation), t.putItems(c))
	}
	return err
}

// putNow writes them through the Tx.
func putNow(tx dhruva.Tx) error {
	s, turns, lineage := groundRows()
	err := tx.PutSession(s)
	for _, turn := range turns {
		err = errors.Join(err, tx.AppendTurn(turn))
	}
	for _, c := range lineage {
		err = errors.Join(err, tx.PutCheckpoint(c))
	}
	return err
}

// ground is a store of the program before 0003, with the rows.
func ground(t *testing.T, at string) {
	t.Helper()
	d, err := dialectOf(at, Options{})
	if err != nil {
		t.Fatal(err)
	}
	schema := fstest.MapFS{}
	for _, name := range []string{"0001_spine.sql", "0002_ground.sql"} {
		text, err := fs.ReadFile(d.schema, name)
		if err != nil {
			t.Fatal(err)
		}
		schema[name] = &fstest.MapFile{Data: text}
	}
	d.schema = schema
	s, err := open(context.Background(), d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Update(context.Background(), []dhruva.Scope{dhruva.TenantScope("t")}, putGround)
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestStateIsMigrated: rows of before 0003 are, on both engines, what the program
// writes now, to the last byte; and they are found by what it added.
func TestStateIsMigrated(t *testing.T) {
	dir := t.TempDir()
	for name, at := range map[string][2]string{"sqlite": {filepath.Join(dir, "old.db"), filepath.Join(dir, "new.db")}, "postgres": {pgtest.URL(t), pgtest.URL(t)}} {
		t.Run(name, func(t *testing.T) {
			ground(t, at[0])
			fresh := openTest(t, at[1])
			if err := fresh.Update(context.Background(), []dhruva.Scope{dhruva.TenantScope("t")}, putNow); err != nil {
				t.Fatal(err)
			}
			want, err1 := fresh.Manifest(context.Background(), nil)
			migrated := openTest(t, at[0])
			got, err2 := migrated.Manifest(context.Background(), nil)
			if diff := got.Diff(want); err1 != nil || err2 != nil || len(diff) > 0 {
				t.Errorf("%v, %v, %q", err1, err2, diff)
			}
			for _, s := range []*Store{migrated, fresh} {
				if err := s.View(context.Background(), dhruva.SpaceScope("t", "s"), func(tx dhruva.Tx) error { return groundFound(t, tx) }); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func groundFound(t *testing.T, tx dhruva.Tx) error {
	session, _, lineage := groundRows()
	got, err1 := tx.Session("ses")
	same(t, "session", got, session)
	walk, err2 := tx.Ancestry(dhruva.Hash{5}, 9)
	same(t, "walk", walk, []dhruva.Outline{lineage[4].Outline(), lineage[2].Outline(), lineage[1].Outline(), lineage[0].Outline()})
	ends, err3 := tx.Ancestry(dhruva.Hash{4}, 9)
	same(t, "walk to nowhere", ends, []dhruva.Outline{lineage[3].Outline()})
	seams, err4 := tx.Seams("ses", 0, 0)
	same(t, "seams", seams, []dhruva.Seam{{Seq: 3, Parent: 1, BeganAfter: 2, Role: dhruva.RoleUser}, {Seq: 4, Parent: 3, BeganAfter: 1, Role: dhruva.RoleUser},
		{Seq: 5, Parent: 4, BeganAfter: 4, Role: dhruva.RoleUser, Redacted: true}})
	carriers, err5 := tx.ListCheckpoints(dhruva.CheckpointQuery{Space: "s", Item: "i"})
	same(t, "checkpoints", len(carriers), len(lineage))
	return errors.Join(err1, err2, err3, err4, err5)
}
