package pgtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

func ask[T any](t *testing.T, c *pgx.Conn, query string) (v T) {
	t.Helper()
	if err := c.QueryRow(context.Background(), query).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSchemasAreEmptyAndApart(t *testing.T) {
	a, b := connect(t, URL(t)), connect(t, URL(t))
	if _, err := a.Exec(context.Background(), "CREATE TABLE x (n int)"); err != nil {
		t.Fatal(err)
	}
	if n := ask[int](t, b, "SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace"); n != 0 {
		t.Errorf("%d relations in a new schema", n)
	}
	if exempt := ask[bool](t, b, "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"); exempt {
		t.Error("the role is exempt from row-level security")
	}
}

// TestReusedIsEmpty: of the tables that an earlier test made only the migrations
// keep their rows.
func TestReusedIsEmpty(t *testing.T) {
	var first string
	t.Run("first", func(t *testing.T) {
		first = Reused(t)
		c := connect(t, first)
		if _, err := c.Exec(context.Background(), "CREATE TABLE x AS SELECT 1 AS n; CREATE TABLE migrations AS SELECT 1 AS n"); err != nil {
			t.Fatal(err)
		}
	})
	if again := Reused(t); again != first {
		t.Fatalf("%s was not used again, %s is another", first, again)
	}
	if n := ask[int](t, connect(t, first), "SELECT 10 * (SELECT count(*) FROM x) + (SELECT count(*) FROM migrations)"); n != 1 {
		t.Errorf("rows: %d", n)
	}
	if other := Reused(t); other == first {
		t.Error("one schema for two")
	}
}

// TestKillAndStart: what was committed before a crash is there after it.
func TestKillAndStart(t *testing.T) {
	s := Start(t, Options{Durable: true})
	url := s.URL(t)
	c := connect(t, url)
	if _, err := c.Exec(context.Background(), "CREATE TABLE x AS SELECT 1 AS n"); err != nil {
		t.Fatal(err)
	}
	if got := ask[string](t, c, "SELECT current_setting('fsync') || current_setting('synchronous_commit')"); got != "onon" {
		t.Errorf("fsync and synchronous_commit: %s", got)
	}
	s.Kill()
	if err := c.Ping(context.Background()); err == nil {
		t.Error("a killed server answers")
	}
	s.Start(t)
	if n := ask[int](t, connect(t, url), "SELECT n FROM x"); n != 1 {
		t.Errorf("read %d", n)
	}
	s.Stop()
	s.Start(t)
	if n := ask[int](t, connect(t, url), "SELECT n FROM x"); n != 1 {
		t.Errorf("read %d", n)
	}
	s.Close()
	if _, err := os.Stat(s.Dir()); !os.IsNotExist(err) {
		t.Errorf("the directory after Close: %v", err)
	}
}

const childMark = "DHRUVA_PGTEST_CHILD"

// TestChild is not a test: it is the process that the next test kills.
func TestChild(t *testing.T) {
	if os.Getenv(childMark) == "" {
		return
	}
	URL(t)
	os.Stdout.WriteString("\ndir=" + shared.server.dir + "\n")
	select {}
}

// TestNothingIsLeftBehind when a test process is killed: no directory, no
// server.
func TestNothingIsLeftBehind(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run", "^TestChild$", "-test.v")
	cmd.Env = append(os.Environ(), childMark+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var dir string
	for text, buffer := "", make([]byte, 1024); dir == ""; {
		n, err := out.Read(buffer)
		if err != nil {
			t.Fatalf("the child ended: %v: %s", err, text)
		}
		text += string(buffer[:n])
		if _, after, ok := strings.Cut(text, "dir="); ok && strings.Contains(after, "\n") {
			dir, _, _ = strings.Cut(after, "\n")
		}
	}
	pid, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	late, look := time.After(patience), time.NewTicker(10*time.Millisecond)
	defer look.Stop()
	for {
		_, err := os.Stat(dir)
		_, running := os.Stat(filepath.Join("/proc", strings.SplitN(string(pid), "\n", 2)[0]))
		if os.IsNotExist(err) && os.IsNotExist(running) {
			return
		}
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("left behind: directory %v, process %v", err, running)
		}
	}
}

func TestNewest(t *testing.T) {
	root := t.TempDir()
	for _, v := range []string{"9", "15", "16", "x", "17"} {
		dir := filepath.Join(root, v, "bin")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"initdb", "postgres"} {
			if v == "17" && name == "postgres" {
				continue // not whole
			}
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	found, err := filepath.Glob(filepath.Join(root, "*", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	if got := newest(found); got != filepath.Join(root, "16", "bin") {
		t.Errorf("newest is %q", got)
	}
	if got := newest(nil); got != "" {
		t.Errorf("newest of none is %q", got)
	}
}
