package sqlstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// said puts turns, with a source each, into a session of a space.
func said(s *Store, texts ...string) error {
	return s.Update(context.Background(), []dhruva.Scope{dhruva.SpaceScope("t", "s")}, func(tx dhruva.Tx) error {
		row, err := tx.Session("session")
		if errors.Is(err, dhruva.ErrNotFound) {
			row, err = dhruva.Session{Tenant: "t", Space: "s", ID: "session"}, nil
		}
		for _, text := range texts {
			row.LastSeq++
			id := dhruva.SourceID("source of " + text[:min(len(text), 100)])
			_, change := tx.AppendChange("s", dhruva.Change{Kind: dhruva.ChangeSource, Ref: string(id)})
			err = errors.Join(err, change,
				tx.AppendTurn(dhruva.Turn{Tenant: "t", Space: "s", Session: "session", Seq: row.LastSeq, Content: text}),
				tx.PutSource(dhruva.Source{Tenant: "t", Space: "s", Generation: 1, ID: id, State: dhruva.SourceReady}),
				tx.AddReference(dhruva.Reference{Space: "s", Generation: 1, Source: id, Session: "session", Seq: row.LastSeq}))
		}
		return errors.Join(err, tx.PutSession(row))
	})
}

// saying are the texts of a store's turns.
func saying(t *testing.T, path string) (out []string) {
	t.Helper()
	s, err := Open(context.Background(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := storetest.Check(context.Background(), s, dhruva.TenantScope("t")); err != nil {
		t.Error(err)
	}
	if err := s.Integrity(context.Background()); err != nil {
		t.Error(err)
	}
	err = s.View(context.Background(), dhruva.TenantScope("t"), func(tx dhruva.Tx) error {
		rows, err := tx.ListTurns(dhruva.TurnQuery{Session: "session"})
		for _, row := range rows {
			out = append(out, row.Content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// restorable makes directories with a backup that says "one" and a store that
// says "one" and "two". The store's process was killed: its log is beside it.
func restorable(t *testing.T) (in func(*testing.T) (path, file string)) {
	t.Helper()
	first := t.TempDir()
	from := filepath.Join(first, "dhruva.db")
	s := openTest(t, from)
	contents := map[string][]byte{}
	for n, text := range []string{"one", "two"} {
		if err := said(s, text); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			if _, err := Backup(context.Background(), from, filepath.Join(first, "backup"), BackupOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"dhruva.db", "dhruva.db-wal", "backup"} {
		data, err := os.ReadFile(filepath.Join(first, name))
		if err != nil {
			t.Fatal(err)
		}
		contents[name] = data
	}
	return func(t *testing.T) (path, file string) {
		t.Helper()
		dir := t.TempDir()
		for name, data := range contents {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return filepath.Join(dir, "dhruva.db"), filepath.Join(dir, "backup")
	}
}

// heed is a Heed that writes, and wants the present store where there is one.
func heed(present bool) func(context.Context, Consulted) error {
	return func(ctx context.Context, c Consulted) error {
		if present != (c.Present != nil) {
			return fmt.Errorf("present %v, unreadable %v", c.Present != nil, c.Unreadable)
		}
		return said(c.Restored, "heeded")
	}
}

func wantSaid(t *testing.T, path string, want ...string) {
	t.Helper()
	if got := saying(t, path); !slices.Equal(got, want) {
		t.Errorf("%s says %q, want %q", filepath.Base(path), got, want)
	}
}

// names are the files of the store's directory.
func names(t *testing.T, path string) (out []string) {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		out = append(out, f.Name())
	}
	return out
}

// TestRestore puts the backup in place, and the store that was there, with what
// was only in its log, aside.
func TestRestore(t *testing.T) {
	path, file := restorable(t)(t)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Restore(context.Background(), file, path, RestoreOptions{Heed: heed(true), Now: func() time.Time { return time.Unix(1e9, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	if out.Aside != path+".replaced-20010909T014640Z" || out.Manifest.Rows() == 0 {
		t.Errorf("%+v", out)
	}
	if got, want := names(t, path), []string{"backup", "dhruva.db", "dhruva.db.replaced-20010909T014640Z"}; !slices.Equal(got, want) {
		t.Errorf("files: %q", got)
	}
	wantSaid(t, path, "one", "heeded")
	wantSaid(t, out.Aside, "one", "two")
	for _, name := range []string{path, out.Aside} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the backup was changed: %v", err)
	}
	again, err := Restore(context.Background(), file, path, RestoreOptions{Now: func() time.Time { return time.Unix(1e9, 0) }})
	if err != nil || again.Aside != out.Aside+"-2" {
		t.Errorf("again: %+v, %v", again, err)
	}
	wantSaid(t, again.Aside, "one", "heeded")
}

// TestRestoreWhereThereIsNone: into a directory without a store, and beside the
// log of one that is gone.
func TestRestoreWhereThereIsNone(t *testing.T) {
	path, file := restorable(t)(t)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	out, err := Restore(context.Background(), file, path, RestoreOptions{Heed: heed(false)})
	if err != nil {
		t.Fatal(err)
	}
	wantSaid(t, path, "one", "heeded")
	if _, err := os.Stat(out.Aside + "-wal"); err != nil {
		t.Errorf("the lone log: %v", err)
	}
	other := filepath.Join(t.TempDir(), "dhruva.db")
	if out, err = Restore(context.Background(), file, other, RestoreOptions{}); err != nil || out.Aside != "" {
		t.Errorf("%+v, %v", out, err)
	}
	wantSaid(t, other, "one")
}

// TestRestoreOverDamage: a store that cannot be read is moved aside with its log,
// and Heed learns why it was not consulted.
func TestRestoreOverDamage(t *testing.T) {
	for name, data := range map[string][]byte{"junk": bytes.Repeat([]byte("no database"), 1000), "empty": nil, "a page": []byte("SQLite format 3\x00 and no more")} {
		t.Run(name, func(t *testing.T) {
			path, file := restorable(t)(t)
			if err := errors.Join(os.WriteFile(path, data, 0o600), os.WriteFile(path+"-wal", []byte("no log"), 0o600)); err != nil {
				t.Fatal(err)
			}
			var why error
			out, err := Restore(context.Background(), file, path, RestoreOptions{Heed: func(_ context.Context, c Consulted) error {
				why = c.Unreadable
				return nil
			}})
			if err != nil || why == nil {
				t.Fatalf("%v, unreadable %v", err, why)
			}
			wantSaid(t, path, "one")
			if got, err := os.ReadFile(out.Aside); err != nil || !bytes.Equal(got, data) && name != "empty" { // which is an empty database to SQLite
				t.Errorf("aside: %d bytes, %v", len(got), err)
			}
		})
	}
}

// TestRestoreRefuses: what cannot be restored changes nothing.
func TestRestoreRefuses(t *testing.T) {
	path, file := restorable(t)(t)
	untouched := func(t *testing.T, before []string) {
		t.Helper()
		wantSaid(t, path, "one", "two")
		if after := names(t, path); !slices.Equal(after, before) {
			t.Errorf("files: %q, before %q", after, before)
		}
	}
	wantSaid(t, path, "one", "two") // and the log is in the file now
	before := names(t, path)
	refuses := func(name, from string, o RestoreOptions, is error, says string) {
		t.Run(name, func(t *testing.T) {
			_, err := Restore(context.Background(), from, path, o)
			if !errors.Is(err, is) || !strings.Contains(err.Error(), says) {
				t.Errorf("%v, want %v with %q", err, is, says)
			}
			untouched(t, before)
		})
	}
	cut := filepath.Join(t.TempDir(), "cut")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cut, data[:len(data)-5000], 0o600); err != nil {
		t.Fatal(err)
	}
	refuses("cut", cut, RestoreOptions{}, dhruva.ErrInvalid, "cut short")
	refuses("none", cut+"x", RestoreOptions{}, dhruva.ErrNotFound, "no file")
	refuses("itself", path, RestoreOptions{}, dhruva.ErrInvalid, "the store itself")
	refuses("a cut later one", file, RestoreOptions{Later: []string{cut}}, dhruva.ErrInvalid, "cut short")
	refuses("itself as a later one", file, RestoreOptions{Later: []string{file}}, dhruva.ErrInvalid, "is not later than")
	unheeded := errors.New("unheeded")
	refuses("heed", file, RestoreOptions{Heed: func(context.Context, Consulted) error { return unheeded }}, unheeded, "")
	s := openTest(t, path)
	t.Run("in use", func(t *testing.T) {
		_, err := Restore(context.Background(), file, path, RestoreOptions{})
		if !errors.Is(err, dhruva.ErrConflict) || !strings.Contains(err.Error(), "another process has") {
			t.Errorf("%v", err)
		}
		if err := said(s, "three"); err != nil {
			t.Error(err)
		}
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantSaid(t, path, "one", "two", "three")
}

// variants are what can be at the store's place when a restore begins.
var variants = map[string]func(path string) error{
	"store": func(string) error { return nil },
	"none":  func(path string) error { return errors.Join(os.Remove(path), os.Remove(path+"-wal")) },
	"log":   os.Remove,
	"damaged": func(path string) error {
		junk := bytes.Repeat([]byte("no database"), 1000)
		return errors.Join(os.WriteFile(path, junk, 0o600), os.WriteFile(path+"-wal", junk, 0o600))
	},
}

// steps runs a restore to its end and lists its steps.
func steps(t *testing.T, in func(*testing.T) (path, file string), variant string) (out []string) {
	t.Helper()
	path, file := in(t)
	if err := variants[variant](path); err != nil {
		t.Fatal(err)
	}
	_, err := Restore(context.Background(), file, path, RestoreOptions{Heed: heed(variant == "store"), at: func(step string) error {
		out = append(out, step)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRestoreFailsAtEveryStep: before the last step the old store is there, and
// the same files; after it the new one is.
func TestRestoreFailsAtEveryStep(t *testing.T) {
	in := restorable(t)
	for variant, begin := range variants {
		all := steps(t, in, variant)
		if len(all) < 8 {
			t.Fatalf("%s: steps %q", variant, all)
		}
		for n, step := range all {
			if raced := slices.Contains(racedSteps[variant], step); testkit.Raced && !raced ||
				variant != "store" && !testkit.Campaign() && n < slices.Index(all, "sync") { // what is at the store's place plays no part yet
				continue
			}
			t.Run(variant+"/"+step, func(t *testing.T) {
				t.Parallel() // it waits for the disk
				path, file := in(t)
				if err := begin(path); err != nil {
					t.Fatal(err)
				}
				fault, count := errors.New("fault"), 0
				before := names(t, path)
				_, err := Restore(context.Background(), file, path, RestoreOptions{Heed: heed(variant == "store"), at: func(string) error {
					if count++; count > n {
						return fault
					}
					return nil
				}})
				if !errors.Is(err, fault) {
					t.Fatal(err)
				}
				wantEither(t, variant, path, step == "named", before)
			})
		}
	}
}

// wantEither wants the old store or the restored one, whole, and nothing lost.
func wantEither(t *testing.T, variant, path string, restored bool, before []string) {
	t.Helper()
	asides, _ := filepath.Glob(path + ".replaced-*Z")
	if restored {
		wantSaid(t, path, "one", "heeded")
		if variant == "store" && len(asides) == 1 {
			wantSaid(t, asides[0], "one", "two")
		} else if variant == "store" || variant == "damaged" && len(asides) != 1 {
			t.Errorf("aside: %q", asides)
		}
		return
	}
	after := slices.DeleteFunc(names(t, path), func(name string) bool { return name == "dhruva.db-shm" })
	if variant == "store" { // its log may be in the file already
		after = append(after, "dhruva.db-wal")
		slices.Sort(after)
		after = slices.Compact(after)
	}
	if before != nil && !slices.Equal(after, before) {
		t.Errorf("files: %q, before %q", after, before)
	}
	switch variant {
	case "store":
		wantSaid(t, path, "one", "two")
	case "damaged":
		if data, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(data, []byte("no database")) {
			t.Errorf("the damaged store is gone: %v", err)
		}
	default:
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("something is there: %v", err)
		}
	}
}

// racedSteps are those that are taken under the race detector, where SQLite is
// many times slower; `make test` takes the others without it.
var racedSteps = map[string][]string{"store": {"heed", "rename", "named"}, "damaged": {"bare-wal"}}

// kills are the steps before which something has changed; a campaign takes all.
var kills = map[string][]string{
	"store":   {"heed", "rewrite", "sync", "aside", "aside-wal", "rename", "named"},
	"none":    {"rename", "named"},
	"log":     {"aside-journal", "bare-journal", "named"},
	"damaged": {"aside-wal", "aside-journal", "bare-wal", "bare-journal", "rename", "named"},
}

// TestRestoreKilledAtEveryStep: the process ends by SIGKILL.
func TestRestoreKilledAtEveryStep(t *testing.T) {
	in := restorable(t)
	for variant, begin := range variants {
		for _, step := range steps(t, in, variant) {
			if testkit.Raced && !slices.Contains(racedSteps[variant], step) || !testkit.Campaign() && !slices.Contains(kills[variant], step) {
				continue
			}
			t.Run(variant+"/"+step, func(t *testing.T) {
				t.Parallel() // it waits for the disk
				path, file := in(t)
				if err := begin(path); err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(os.Args[0], "-test.run=^TestRestoreChild$")
				cmd.Env = append(os.Environ(), "DHRUVA_RESTORE_CHILD="+strings.Join([]string{variant, step, file, path}, "\n"))
				out, err := cmd.CombinedOutput()
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.Success() || strings.Contains(string(out), "--- FAIL") {
					t.Fatalf("the child ended with %v: %s", err, out)
				}
				if variant == "damaged" && strings.HasPrefix(step, "bare") {
					wantDamagedKept(t, path)
				}
				wantEither(t, variant, path, step == "named", nil)
				// The next one takes it from there, and leaves nothing of it behind.
				if _, err := Restore(context.Background(), file, path, RestoreOptions{}); err != nil {
					t.Fatal(err)
				}
				wantSaid(t, path, "one")
				for _, name := range names(t, path) {
					if strings.Contains(name, ".restoring-") || strings.Contains(name, ".consulted-") {
						t.Errorf("left behind: %s", name)
					}
				}
			})
		}
	}
}

// wantDamagedKept: the files of the damaged store are all aside before any of
// them is taken away.
func wantDamagedKept(t *testing.T, path string) {
	t.Helper()
	asides, _ := filepath.Glob(path + ".replaced-*")
	if len(asides) != 2 {
		t.Errorf("aside: %q", asides)
	}
}

// TestRestoreChild is the process that is killed.
func TestRestoreChild(t *testing.T) {
	args := strings.Split(os.Getenv("DHRUVA_RESTORE_CHILD"), "\n")
	if len(args) != 4 {
		t.Skip("this is the process of another test")
	}
	_, err := Restore(context.Background(), args[2], args[3], RestoreOptions{Heed: heed(args[0] == "store"), at: func(step string) error {
		if step == args[1] {
			me, _ := os.FindProcess(os.Getpid())
			me.Signal(syscall.SIGKILL)
			select {}
		}
		return nil
	}})
	t.Errorf("restored: %v", err)
}

// TestRestoredFeedsBeginAnew: no follower of the old history takes the new one
// for its own, even when the same backup is restored again and again.
func TestRestoredFeedsBeginAnew(t *testing.T) {
	path, file := restorable(t)(t)
	last := int64(2) // what a follower of the first history has seen
	for range 3 {
		if _, err := Restore(context.Background(), file, path, RestoreOptions{}); err != nil {
			t.Fatal(err)
		}
		s := openTest(t, path)
		scope := dhruva.SpaceScope("t", "s")
		var e dhruva.Epoch
		err := s.View(context.Background(), scope, func(tx dhruva.Tx) (err error) {
			e, err = tx.Epoch("s")
			return err
		})
		if err != nil || e.Head <= last || e.Tail != e.Head {
			t.Fatalf("epoch %+v after %d, %v", e, last, err)
		}
		for _, err := range s.Changes(context.Background(), scope, last) {
			if !errors.Is(err, dhruva.ErrCompacted) {
				t.Errorf("the old follower: %v", err)
			}
		}
		if err := said(s, "more"); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		last = e.Head + 1
	}
}
