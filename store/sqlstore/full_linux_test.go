package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// fullDisk is the variable that makes this test binary a process with a disk of
// its own: "tmpfs" or "limit".
const fullDisk = "DHRUVA_FULL_DISK"

// onSmallDisk runs a test again in a process of its own, in which a directory is a
// file system of limited size: a tmpfs in name spaces of its own, which go with
// the process; where that is not permitted, the process may write files up to a
// size only, which fails at the same place.
func onSmallDisk(t *testing.T, test func(*testing.T, disk)) {
	t.Helper()
	switch os.Getenv(fullDisk) {
	case "tmpfs":
		test(t, newTmpfs(t))
		return
	case "limit":
		test(t, newLimit(t))
		return
	}
	spaces := &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	for _, try := range []struct {
		kind string
		attr *syscall.SysProcAttr
	}{{"tmpfs", spaces}, {"tmpfs", &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}}, {"limit", nil}} {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), fullDisk+"="+try.kind)
		cmd.SysProcAttr = try.attr
		out, err := cmd.CombinedOutput()
		var start *fs.PathError
		if errors.As(err, &start) || strings.Contains(string(out), cannotMount) {
			t.Logf("%s: %v", try.kind, err)
			continue
		}
		t.Logf("on %s: %s", try.kind, out)
		if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("%s: %v", try.kind, err)
		}
		return
	}
	t.Error("no way to a full disk")
}

const cannotMount = "a tmpfs cannot be mounted"

// disk is a directory in which there is little room, until there is more.
type disk struct {
	dir string
	// room sets how many KiB fit.
	room func(kib int)
	// exact: it is the disk that is full, not the file that is too long.
	exact bool
}

func newTmpfs(t *testing.T) disk {
	t.Helper()
	dir := t.TempDir()
	mount := func(flags uintptr, kib int) error {
		return syscall.Mount("tmpfs", dir, "tmpfs", flags, fmt.Sprintf("size=%dk,mode=0700", kib))
	}
	if err := errors.Join(syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""), mount(0, 1024)); err != nil {
		t.Fatalf("%s: %v", cannotMount, err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return disk{dir: dir, exact: true, room: func(kib int) {
		if err := mount(syscall.MS_REMOUNT, kib); err != nil {
			t.Fatal(err)
		}
	}}
}

func newLimit(t *testing.T) disk {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	return disk{dir: t.TempDir(), room: func(kib int) {
		var l syscall.Rlimit
		err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l)
		l.Cur = uint64(kib) << 10
		if err = errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l)); err != nil {
			t.Fatal(err)
		}
	}}
}

// fill writes until the disk is full, and answers what was acknowledged.
func fill(t *testing.T, s *Store, most int) (texts []string) {
	t.Helper()
	for n := range most {
		text := fmt.Sprintf("text %d %s", n, strings.Repeat("x", 2000))
		err := said(s, text)
		if errors.Is(err, dhruva.ErrUnavailable) {
			return texts
		}
		if err != nil {
			t.Fatalf("at %d: %v", n, err)
		}
		texts = append(texts, text)
	}
	t.Fatalf("%d texts fit", most)
	return nil
}

// wantTexts wants exactly these turns, read through the store that is open.
func wantTexts(t *testing.T, s *Store, want []string) {
	t.Helper()
	err := s.View(context.Background(), dhruva.TenantScope("t"), func(tx dhruva.Tx) error {
		rows, err := tx.ListTurns(dhruva.TurnQuery{Session: "session"})
		if len(rows) != len(want) {
			t.Errorf("%d turns, want %d", len(rows), len(want))
		}
		for n, row := range rows {
			if n < len(want) && row.Content != want[n] {
				t.Errorf("turn %d: %.20q, want %.20q", n, row.Content, want[n])
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestFullDisk: an update that finds no room is ErrUnavailable; reads go on; what
// was acknowledged is there and nothing else; and when there is room again the
// same store goes on.
func TestFullDisk(t *testing.T) {
	onSmallDisk(t, func(t *testing.T, d disk) {
		path := filepath.Join(d.dir, "dhruva.db")
		d.room(testkit.Count(3072, 4096, 4096))
		s, err := Open(context.Background(), path, Options{WriteTimeout: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { s.Close() }()
		texts := fill(t, s, 5000)
		if len(texts) < 20 {
			t.Fatalf("only %d texts fit", len(texts))
		}
		wantTexts(t, s, texts)
		if d.exact && !s.Full() { // a limit of file sizes is another error
			t.Error("the store does not say that it is full")
		}
		for range 3 {
			if !d.exact { // the log may have been begun anew, and be short again
				break
			}
			if err := said(s, "one more "+strings.Repeat("y", 100_000)); !errors.Is(err, dhruva.ErrUnavailable) {
				t.Errorf("on a full disk: %v", err)
			}
			wantTexts(t, s, texts)
		}
		if d.exact {
			backupOnFullDisk(t, d, path)
		}
		elsewhere := filepath.Join(t.TempDir(), "backup")
		if d.exact { // a limit is for all files
			if _, err := Backup(context.Background(), path, elsewhere, BackupOptions{}); err != nil {
				t.Errorf("backup to another disk: %v", err)
			} else {
				wantSaid(t, elsewhere, texts...)
			}
		}
		d.room(64 << 10)
		if err := said(s, "there is room again"); err != nil {
			t.Fatalf("with room: %v", err)
		}
		if s.Full() {
			t.Error("with room the store says that it is full")
		}
		texts = append(texts, "there is room again")
		wantTexts(t, s, texts)
		if err := errors.Join(storetest.Check(context.Background(), s, dhruva.TenantScope("t")), s.Integrity(context.Background()), s.Close()); err != nil {
			t.Error(err)
		}
		wantSaid(t, path, texts...)
	})
}

// backupOnFullDisk fails, says why, and leaves no file.
func backupOnFullDisk(t *testing.T, d disk, path string) {
	t.Helper()
	before := names(t, path)
	_, err := Backup(context.Background(), path, filepath.Join(d.dir, "backup"), BackupOptions{})
	if !errors.Is(err, dhruva.ErrUnavailable) || !strings.Contains(err.Error(), "full") {
		t.Errorf("backup: %v", err)
	}
	if after := names(t, path); strings.Join(after, " ") != strings.Join(before, " ") {
		t.Errorf("files: %q, before %q", after, before)
	}
}

// TestBackupToFullDisk: wherever the room ends, no file of a backup is left, the
// store goes on, and with room the backup is made.
func TestBackupToFullDisk(t *testing.T) {
	onSmallDisk(t, func(t *testing.T, d disk) {
		if !d.exact {
			t.Log("a limit of file sizes is the store's, too")
			return
		}
		path, to := filepath.Join(t.TempDir(), "dhruva.db"), filepath.Join(d.dir, "backup")
		s := openTest(t, path)
		var texts []string
		for n := range 200 {
			texts = append(texts, fmt.Sprintf("text %d %s", n, strings.Repeat("x", 2000)))
		}
		if err := said(s, texts...); err != nil {
			t.Fatal(err)
		}
		for kib := 64; kib < 600; kib += testkit.Count(300, 64, 16) {
			d.room(kib)
			_, err := Backup(context.Background(), path, to, BackupOptions{})
			if !errors.Is(err, dhruva.ErrUnavailable) || !strings.Contains(err.Error(), "full") {
				t.Fatalf("with %d KiB: %v", kib, err)
			}
			if left := names(t, to); len(left) > 0 {
				t.Errorf("with %d KiB: left %q", kib, left)
			}
		}
		d.room(8192)
		if _, err := Backup(context.Background(), path, to, BackupOptions{}); err != nil {
			t.Fatal(err)
		}
		wantSaid(t, to, texts...)
		wantTexts(t, s, texts)
	})
}

// TestRestoreOnFullDisk: wherever the room ends, the old store is in place and
// nothing else; with room it is restored.
func TestRestoreOnFullDisk(t *testing.T) {
	onSmallDisk(t, func(t *testing.T, d disk) {
		if !d.exact {
			t.Log("a limit of file sizes is the store's, too")
			return
		}
		d.room(8192)
		path, file := filepath.Join(d.dir, "dhruva.db"), filepath.Join(t.TempDir(), "backup")
		s := openTest(t, path)
		var texts []string
		for n := range 200 {
			texts = append(texts, fmt.Sprintf("text %d %s", n, strings.Repeat("x", 2000)))
		}
		if err := said(s, texts...); err != nil {
			t.Fatal(err)
		}
		if _, err := Backup(context.Background(), path, file, BackupOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(said(s, "after the backup"), s.Close()); err != nil {
			t.Fatal(err)
		}
		stat, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		fits := 0
		for kib := int(stat.Size()>>10) + 64; fits == 0; kib += testkit.Count(2000, 400, 100) {
			d.room(kib)
			_, err := Restore(context.Background(), file, path, RestoreOptions{Heed: heed(true)})
			left := names(t, path)
			switch {
			case err == nil:
				fits = kib
			case !errors.Is(err, dhruva.ErrUnavailable) || !strings.Contains(err.Error(), "full"):
				t.Fatalf("with %d KiB: %v", kib, err)
			case len(left) != 1 || left[0] != "dhruva.db":
				t.Errorf("with %d KiB: left %q", kib, left)
			}
		}
		t.Logf("a store of %d KiB is restored with %d KiB", stat.Size()>>10, fits)
		d.room(32 << 10)
		asides, _ := filepath.Glob(path + ".replaced-*")
		if len(asides) != 1 {
			t.Fatalf("aside: %q", asides)
		}
		wantSaid(t, path, append(texts[:len(texts):len(texts)], "heeded")...)
		wantSaid(t, asides[0], append(texts[:len(texts):len(texts)], "after the backup")...)
	})
}
