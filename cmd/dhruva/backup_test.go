package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/internal/pgtest"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// cmdErase erases a text from a space for good, as no command does yet: erase
// SPACE TEXT
func cmdErase(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: erase SPACE TEXT")
	}
	dir := ts.Getenv("DHRUVA_DATA")
	keyring, err := auth.ReadKeyring(dir)
	ts.Check(err)
	s, err := sqlstore.Open(context.Background(), filepath.Join(dir, storeFile), sqlstore.Options{})
	ts.Check(err)
	l := ledger.New(s, keyring)
	ctx := dhruva.WithPrincipal(context.Background(), auth.LocalPrincipal())
	sp, err := l.Space(ctx, args[0])
	ts.Check(err)
	var gone []ledger.Gone
	for _, role := range []dhruva.Role{dhruva.RoleUser, dhruva.RoleAssistant} {
		id := dhruva.ContentID(keyring, sp.Tenant, sp.ID, role, args[1])
		gone = append(gone, ledger.Gone{Source: &dhruva.Tombstone{Space: sp.ID, Generation: 1, Source: id, State: "completed", CreatedAt: time.Now()}})
	}
	erased, err := l.Erase(ctx, dhruva.SpaceScope(sp.Tenant, sp.ID), gone)
	ts.Check(err)
	if erased.Sources != 1 {
		ts.Fatalf("erased %+v", erased)
	}
	ts.Check(s.Close())
}

// cmdCut copies a file without its last bytes: cut FROM TO N
func cmdCut(ts *testscript.TestScript, _ bool, args []string) {
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data[:len(data)-n], 0o600))
}

// cmdSQL runs a statement on a SQLite file: sql FILE STATEMENT
func cmdSQL(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.Exec(args[1])
	ts.Check(err)
	ts.Check(db.Close())
}

// cmdHolds wants a text in the bytes of a file, or none of them: holds FILE TEXT...
func cmdHolds(ts *testscript.TestScript, neg bool, args []string) {
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, text := range args[1:] {
		if at := bytes.Index(data, []byte(text)); (at >= 0) == neg {
			ts.Fatalf("%s: %q at %d: %q", args[0], text, at, data[max(at-200, 0):max(at+50, 0)])
		}
	}
}

// cmdMode wants the mode of a file: mode OCTAL FILE
func cmdMode(ts *testscript.TestScript, neg bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := strconv.FormatInt(int64(info.Mode().Perm()), 8); (got == args[0]) == neg {
		ts.Fatalf("%s has mode %s", args[1], got)
	}
}

// program runs a command in a data directory of its own.
func programIn(t *testing.T, dir string) func(want int, args ...string) (stdout, stderr string) {
	return func(want int, args ...string) (string, string) {
		t.Helper()
		var out, errs bytes.Buffer
		env := map[string]string{"DHRUVA_DATA": dir, "HOME": dir}
		if code := run(context.Background(), args, strings.NewReader(""), &out, &errs, func(name string) string { return env[name] }); code != want {
			t.Fatalf("dhruva %s: exit code %d, want %d: %s", strings.Join(args, " "), code, want, errs.String())
		}
		return out.String(), errs.String()
	}
}

// TestMigrateToPostgres and back: the sums are equal on both sides, a target with
// rows is refused, and what comes back is what went.
func TestMigrateToPostgres(t *testing.T) {
	dir := t.TempDir()
	dhruva := programIn(t, dir)
	dhruva(0, "space", "create", "work")
	for _, text := range []string{"The deploy window is on Friday.", "Ünïcödé, 日本, and \"quotes\".", strings.Repeat("long ", 5000)} {
		dhruva(0, "remember", "--space", "work", text)
	}
	there, back := pgtest.URL(t), filepath.Join(t.TempDir(), "dhruva.db")
	first, talk := dhruva(0, "migrate", "--to", there, "--json")
	var out migrated
	if err := json.Unmarshal([]byte(first), &out); err != nil {
		t.Fatal(err)
	}
	turns := 0
	for _, row := range out.Tables {
		if !row.Equal || row.Sum != row.There {
			t.Errorf("%+v", row)
		}
		if row.Table == "turns" {
			turns = int(row.Rows)
		}
	}
	if turns != 3 || len(out.Tables) < 25 || !strings.HasPrefix(out.To, "postgres ") {
		t.Errorf("%d turns in %d tables; %s", turns, len(out.Tables), talk)
	}
	if _, talk := dhruva(5, "migrate", "--to", there); !strings.Contains(talk, "not empty") {
		t.Error(talk)
	}
	second, _ := dhruva(0, "migrate", "--from", there, "--to", back, "--json")
	var again migrated
	if err := json.Unmarshal([]byte(second), &again); err != nil {
		t.Fatal(err)
	}
	for n, row := range again.Tables {
		if row.TableSum != out.Tables[n].TableSum {
			t.Errorf("%+v, want %+v", row.TableSum, out.Tables[n].TableSum)
		}
	}
}

// TestPostgresRecovery is docs/operate.md's way to heed what was deleted after a
// Postgres database was recovered to an earlier time.
func TestPostgresRecovery(t *testing.T) {
	h := newHistory(t)
	ctx := context.Background()
	sp := h.space("work")
	s := h.session(sp)
	h.say(s, "the canary that is deleted")
	h.say(s, "what is to be kept")
	recovered, present, empty := pgtest.URL(t), pgtest.URL(t), pgtest.URL(t)
	h.must(h.store.Close())
	command := programIn(t, h.dir)
	command(0, "migrate", "--to", recovered)
	command(0, "migrate", "--to", present)

	live, err := sqlstore.Open(ctx, present, sqlstore.Options{})
	h.must(err)
	_, err = ledger.New(live, h.keyring).Erase(ctx, h.scope(sp), []ledger.Gone{h.tombstoneOf(sp, 1, "the canary that is deleted")})
	h.must(err)
	h.must(live.Close())

	work := t.TempDir()
	at := func(name string) string { return filepath.Join(work, name) }
	command(0, "migrate", "--from", recovered, "--to", at("old.db"))
	command(0, "migrate", "--from", present, "--to", at("now.db"))
	command(0, "backup", at("old.bak"), "--store", "sqlite://"+at("old.db"))
	command(0, "backup", at("now.bak"), "--store", "sqlite://"+at("now.db"))
	out, _ := command(0, "restore", at("old.bak"), "--store", "sqlite://"+at("new.db"), "--tombstones", at("now.bak"))
	if !strings.Contains(out, "deleted or revoked since, and so again: 1 source, 1 turn") {
		t.Error(out)
	}
	command(0, "migrate", "--from", at("new.db"), "--to", empty)

	h.path = empty
	h.open()
	h.must(h.store.View(ctx, h.scope(sp), func(tx dhruva.Tx) error {
		turns, err := tx.ListTurns(dhruva.TurnQuery{Session: s})
		var texts []string
		for _, row := range turns {
			texts = append(texts, row.Content)
		}
		if got := strings.Join(texts, "|"); got != "|noted, and thank you|what is to be kept|noted, and thank you" {
			t.Errorf("turns: %q", got)
		}
		return err
	}))
}

// TestMeter draws what it is told, and nothing where nobody looks.
func TestMeter(t *testing.T) {
	for at, want := range map[sqlstore.Progress]string{
		{Step: "read", Table: "turns", Done: 1, Total: 2}: "[============            ]  50% reading 2 rows  turns",
		{Step: "copy", Done: 5, Total: 4}:                 "[========================] 100% writing 4 rows  ",
		{Step: "check"}:                                   "checking pages",
		{Step: "count"}:                                   "counting rows",
		{Step: "read", Done: 0, Total: 1_234_567}:         "[                        ]   0% reading 1,234,567 rows  ",
	} {
		if got := drawn(at); got != want {
			t.Errorf("%+v: %q, want %q", at, got, want)
		}
	}
	var w bytes.Buffer
	m := &meter{w: &w}
	m.show(sqlstore.Progress{Step: "read", Total: 10})
	m.show(sqlstore.Progress{Step: "read", Total: longRows})
	m.show(sqlstore.Progress{Step: "read", Total: longRows, Done: 5})
	m.end()
	if w.String() != "reading 50,000 rows\n" {
		t.Errorf("%q", w.String())
	}
	(&meter{}).show(sqlstore.Progress{Step: "read", Total: longRows})
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 5 << 30: "5.0 GiB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
}
