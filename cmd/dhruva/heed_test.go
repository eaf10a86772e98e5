package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// history is a store that is backed up and restored while it is used.
type history struct {
	*testing.T
	dir     string
	path    string
	keyring *auth.Keyring
	store   *sqlstore.Store
	ledger  *ledger.Ledger
}

func newHistory(t *testing.T) *history {
	h := &history{T: t, dir: t.TempDir()}
	h.path = filepath.Join(h.dir, storeFile)
	var err error
	if h.keyring, err = auth.OpenKeyring(h.dir); err != nil {
		t.Fatal(err)
	}
	h.open()
	h.must((&auth.Keys{Store: h.store, Keyring: h.keyring}).Bootstrap(context.Background(), h.dir))
	t.Cleanup(func() { h.store.Close() })
	return h
}

func (h *history) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *history) open() {
	h.Helper()
	var err error
	h.store, err = sqlstore.Open(context.Background(), h.path, sqlstore.Options{})
	h.must(err)
	h.ledger = ledger.New(h.store, h.keyring)
}

func (h *history) ctx() context.Context {
	return dhruva.WithPrincipal(context.Background(), auth.LocalPrincipal())
}

func (h *history) scope(s dhruva.SpaceID) dhruva.Scope {
	return dhruva.SpaceScope(auth.LocalTenant, s)
}

func (h *history) space(name string) dhruva.SpaceID {
	h.Helper()
	s, err := h.ledger.CreateSpace(h.ctx(), ledger.SpaceInput{Name: name})
	h.must(err)
	return s.ID
}

func (h *history) session(s dhruva.SpaceID) dhruva.SessionID {
	h.Helper()
	row, err := h.ledger.CreateSession(h.ctx(), ledger.SessionInput{Space: s})
	h.must(err)
	return row.ID
}

func (h *history) say(s dhruva.SessionID, text string) {
	h.Helper()
	began, err := h.ledger.Begin(h.ctx(), s)
	h.must(err)
	_, err = h.ledger.AppendExchange(h.ctx(), began, ledger.Exchange{User: ledger.Unit{Text: text}, Assistant: &ledger.Unit{Text: "noted, and thank you"}})
	h.must(err)
}

func (h *history) backup(name string) string {
	h.Helper()
	file := filepath.Join(h.dir, name)
	_, err := sqlstore.Backup(context.Background(), h.path, file, sqlstore.BackupOptions{})
	h.must(err)
	return file
}

// restore closes the store, restores a backup over it, and opens it again.
func (h *history) restore(file string, f restoreFlags) (heeded, error) {
	h.Helper()
	h.must(h.store.Close())
	p := &program{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, env: func(string) string { return "" }}
	r := &heeding{program: p, dir: h.dir, file: file, keyring: h.keyring, without: f.without, later: f.later}
	_, err := sqlstore.Restore(context.Background(), file, h.path, sqlstore.RestoreOptions{Later: f.later, Heed: r.heed})
	h.open()
	return r.heeded, err
}

// holds wants none of the texts in the store's own bytes, and every invariant.
func (h *history) holds(gone []string) {
	h.Helper()
	data, err := os.ReadFile(h.path)
	h.must(err)
	if _, err := os.Stat(h.path + "-wal"); err == nil {
		log, err := os.ReadFile(h.path + "-wal")
		h.must(err)
		data = append(data, log...)
	}
	for _, text := range gone {
		if bytes.Contains(data, []byte(text)) {
			h.Errorf("%q is in the store", text)
		}
	}
	h.must(storetest.Check(context.Background(), h.store, dhruva.TenantScope(auth.LocalTenant)))
}

func (h *history) tombstone(s dhruva.SpaceID, text string) ledger.Gone {
	h.Helper()
	return h.tombstoneOf(s, h.epoch(s).Generation, text)
}

func (h *history) tombstoneOf(s dhruva.SpaceID, generation int64, text string) ledger.Gone {
	id := dhruva.ContentID(h.keyring, auth.LocalTenant, s, dhruva.RoleUser, text)
	return ledger.Gone{Source: &dhruva.Tombstone{Space: s, Generation: generation, Source: id, State: "completed", CreatedAt: time.Now()}}
}

func (h *history) epoch(s dhruva.SpaceID) (e dhruva.Epoch) {
	h.Helper()
	h.must(h.store.View(context.Background(), h.scope(s), func(tx dhruva.Tx) (err error) {
		e, err = tx.Epoch(s)
		return err
	}))
	return e
}

// TestRestoreHeeds: everything that was taken away since the backup was made is
// taken away again, whatever it was, and nothing else.
func TestRestoreHeeds(t *testing.T) {
	h := newHistory(t)
	ctx := context.Background()
	work, cleared, doomed := h.space("work"), h.space("cleared"), h.space("doomed")
	a, b, hidden, far := h.session(work), h.session(work), h.session(work), h.session(cleared)
	for _, text := range []string{"canary one is a source", "canary two is a turn", "this one stays", "canary three is in a summary"} {
		h.say(a, text)
	}
	h.say(b, "canary one is a source")
	h.say(b, "this one stays, too")
	h.say(hidden, "said in a session that is deleted")
	h.say(far, "canary four is of a generation that ends")
	h.say(h.session(doomed), "in a space that is deleted")
	c, err := h.ledger.Commit(h.ctx(), ledger.CommitInput{Session: b, Title: "canary five is a title", Decisions: []ledger.ItemInput{{Text: "canary six is a decision"}, {Text: "a decision that stays"}}})
	h.must(err)
	aside, err := h.ledger.Commit(h.ctx(), ledger.CommitInput{Space: work, Title: "a checkpoint that is deleted"})
	h.must(err)
	var papers []dhruva.Document
	for _, text := range []string{"canary seven is in a document", "a document that stays"} {
		doc, err := h.ledger.PutDocument(h.ctx(), ledger.DocumentInput{Space: work, Kind: "test", Text: text})
		h.must(err)
		papers = append(papers, doc)
	}
	tenant := []dhruva.Scope{dhruva.TenantScope(auth.LocalTenant)}
	h.must(h.store.Update(ctx, tenant, func(tx dhruva.Tx) error {
		return errors.Join(tx.PutUser(dhruva.User{Tenant: auth.LocalTenant, ID: "mira", Password: "old"}), tx.PutUser(dhruva.User{Tenant: auth.LocalTenant, ID: "gone"}),
			tx.PutGrant(dhruva.Grant{Tenant: auth.LocalTenant, Space: work, Principal: "gone", Role: dhruva.MemberOwner}),
			tx.PutProvider(dhruva.ProviderConfig{Tenant: auth.LocalTenant, Name: "openai", Sealed: []byte("sealed")}))
	}))
	key, _, err := (&auth.Keys{Store: h.store, Keyring: h.keyring}).Create(h.ctx(), auth.KeyInput{Name: "k", Scopes: []dhruva.KeyScope{dhruva.MemoryRead}})
	h.must(err)
	file := h.backup("backup")

	_, err = h.ledger.Erase(ctx, h.scope(work), []ledger.Gone{
		h.tombstone(work, "canary one is a source"), {Turn: &ledger.Place{Session: a, Seq: 3}}, {Turn: &ledger.Place{Session: a, Seq: 7}},
		{Item: &ledger.Stub{Checkpoint: c.Hash, Item: c.Items[1].ID}},
	})
	h.must(err)
	_, err = h.ledger.End(ctx, h.scope(cleared), ledger.Ending{Generation: 2, Fence: 1, Sessions: map[dhruva.SessionID]int64{far: 2}})
	h.must(err)
	h.must(h.ledger.DeleteSession(h.ctx(), hidden))
	h.must(h.ledger.DropDocument(h.ctx(), papers[0].ID))
	_, err = h.ledger.DeleteCheckpoint(h.ctx(), aside.Hash.String(), false)
	h.must(err)
	h.must(h.ledger.DeleteSpace(h.ctx(), doomed))
	h.must((&auth.Keys{Store: h.store, Keyring: h.keyring}).Revoke(h.ctx(), key.ID))
	h.must(h.store.Update(ctx, tenant, func(tx dhruva.Tx) error {
		return errors.Join(tx.PutUser(dhruva.User{Tenant: auth.LocalTenant, ID: "mira", Password: "new"}), tx.DropUser("gone"), tx.DropGrant(work, "gone"), tx.DropProvider("openai"))
	}))

	got, err := h.restore(file, restoreFlags{})
	h.must(err)
	want := heeded{Erased: ledger.Erased{Tombstones: 1, Sources: 5, Turns: 6, Items: 2}, Access: auth.Access{Keys: 1, Users: 2, Grants: 1, Providers: 1}, Generations: 1, Spaces: 1, Sessions: 1, Checkpoints: 1, Documents: 1}
	got.Sources, want.Sources = min(got.Sources, 1), 1 // as many as the answers had
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	h.holds([]string{"canary one", "canary two", "canary three", "canary four", "canary five", "canary six", "canary seven"})
	h.must(h.store.View(ctx, tenant[0], func(tx dhruva.Tx) error {
		var stays []string
		for _, s := range []dhruva.SessionID{a, b, far, hidden} {
			turns, err := tx.ListTurns(dhruva.TurnQuery{Session: s})
			h.must(err)
			for _, t := range turns {
				if t.Role == dhruva.RoleUser && !t.Redacted {
					stays = append(stays, t.Content)
				}
			}
		}
		if diff := cmp.Diff([]string{"this one stays", "this one stays, too", "said in a session that is deleted"}, stays); diff != "" {
			t.Error(diff)
		}
		row, err := tx.Session(hidden)
		if row.DeletedAt.IsZero() {
			t.Error("the deleted session is back")
		}
		mira, err2 := tx.User("mira")
		if mira.Password != "new" {
			t.Errorf("password %q", mira.Password)
		}
		return errors.Join(err, err2)
	}))
	if e := h.epoch(cleared); e.Generation != 2 || e.Fence != 1 {
		t.Errorf("%+v", e)
	}
	if _, err := h.ledger.Checkpoint(h.ctx(), aside.Hash.String()); !errors.Is(err, dhruva.ErrNotFound) {
		t.Errorf("the deleted checkpoint is back: %v", err)
	}
	if rows, err := h.ledger.Branches(h.ctx(), work); err != nil || len(rows) != 1 || rows[0].Head != c.Hash {
		t.Errorf("branches %+v, %v", rows, err)
	}
	if rows, _, err := h.ledger.ListDocuments(h.ctx(), dhruva.DocumentQuery{Space: work}); err != nil || len(rows) != 1 || rows[0].ID != papers[1].ID {
		t.Errorf("documents %+v, %v", rows, err)
	}
	rep, err := h.ledger.Verify(h.ctx(), work)
	if err != nil || len(rep.Failures) > 0 {
		t.Errorf("%+v, %v", rep, err)
	}
	h.say(a, "canary one is a source") // said again it is stored, and makes no source
	if _, err := h.ledger.Source(h.ctx(), work, dhruva.ContentID(h.keyring, auth.LocalTenant, work, dhruva.RoleUser, "canary one is a source")); !errors.Is(err, dhruva.ErrNotFound) {
		t.Errorf("the source is back: %v", err)
	}
}

// TestNothingComesBack interleaves saying, saving, erasing, clearing, hiding,
// backups and restores at random: what was erased once is in no later state of
// the store, by its own rows or in its bytes.
func TestNothingComesBack(t *testing.T) {
	seed := testkit.Seed(t)
	for n := range testkit.Count(1, 6, 200) {
		t.Run(fmt.Sprint(n), func(t *testing.T) { nothingComesBack(t, rand.New(rand.NewPCG(seed, uint64(n)))) })
	}
}

func nothingComesBack(t *testing.T, rng *rand.Rand) {
	h := newHistory(t)
	spaces := []dhruva.SpaceID{h.space("a"), h.space("b")}
	var files, gone, said []string
	lives := map[string]dhruva.SpaceID{} // texts that stand, and where
	sessions := func(s dhruva.SpaceID) (out []dhruva.Session) {
		out, _, err := h.ledger.ListSessions(h.ctx(), dhruva.SessionQuery{Space: s})
		h.must(err)
		return out
	}
	forget := func(text string) {
		gone = append(gone, text)
		delete(lives, text)
	}
	for step := range 40 {
		sp := spaces[rng.IntN(len(spaces))]
		all := sessions(sp)
		if len(all) == 0 {
			h.session(sp)
			continue
		}
		s := all[rng.IntN(len(all))]
		switch act := rng.IntN(20); {
		case act < 9:
			text := fmt.Sprintf("word-%04d-%d is said", rng.IntN(10000), step)
			h.say(s.ID, text)
			lives[text], said = sp, append(said, text)
		case act < 10:
			_, err := h.ledger.Commit(h.ctx(), ledger.CommitInput{Session: s.ID, Title: "t"})
			h.must(err)
		case act < 13 && len(said) > 0:
			text := said[rng.IntN(len(said))]
			if at, ok := lives[text]; ok {
				_, err := h.ledger.Erase(context.Background(), h.scope(at), []ledger.Gone{h.tombstone(at, text)})
				h.must(err)
				forget(text)
			}
		case act < 14 && s.LastSeq > 0:
			var text string
			h.must(h.store.View(context.Background(), h.scope(sp), func(tx dhruva.Tx) error {
				row, err := tx.Turn(s.ID, 1)
				text = row.Content
				return err
			}))
			_, err := h.ledger.Erase(context.Background(), h.scope(sp), []ledger.Gone{{Turn: &ledger.Place{Session: s.ID, Seq: 1}}})
			h.must(err)
			if text != "" {
				forget(text)
			}
		case act < 15:
			h.clear(sp, sessions(sp))
			for text, at := range lives {
				if at == sp {
					forget(text)
				}
			}
		case act < 18:
			files = append(files, h.backup(fmt.Sprint("backup-", step)))
		case len(files) > 0:
			file := files[rng.IntN(len(files))]
			_, err := h.restore(file, restoreFlags{})
			if err != nil && strings.Contains(err.Error(), "does not go on") { // an older one was restored in between
				asides, _ := filepath.Glob(h.path + ".replaced-*")
				_, err = h.restore(file, restoreFlags{later: asides})
			}
			if err != nil {
				t.Fatal(err)
			}
			h.holds(gone)
			h.believe(lives)
		}
	}
	slices.Sort(gone) // the store's own log may hold them still; a backup does not
	data, err := os.ReadFile(h.backup("last"))
	h.must(err)
	for _, text := range slices.Compact(gone) {
		if bytes.Contains(data, []byte(text)) {
			t.Errorf("%q is in a backup", text)
		}
	}
	h.holds(nil)
}

// clear ends the generation of a space with all that was said in it.
func (h *history) clear(s dhruva.SpaceID, sessions []dhruva.Session) {
	h.Helper()
	e := h.epoch(s)
	in := ledger.Ending{Generation: e.Generation + 1, Fence: e.Generation, Sessions: map[dhruva.SessionID]int64{}}
	for _, row := range sessions {
		in.Sessions[row.ID] = row.LastSeq
	}
	_, err := h.ledger.End(context.Background(), h.scope(s), in)
	h.must(err)
}

// believe takes what a restore has lost, which is no deletion, out of what stands.
func (h *history) believe(lives map[string]dhruva.SpaceID) {
	data, err := os.ReadFile(h.path)
	h.must(err)
	for text := range lives {
		if !bytes.Contains(data, []byte(text)) {
			delete(lives, text)
		}
	}
}
