package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Options of a server.
type Options struct {
	// Durable turns fsync on, for kill tests and benchmarks. Without it a server
	// is fast, and a killed one keeps what the operating system keeps.
	Durable bool
	// Settings are added to the server's, name and value.
	Settings map[string]string
}

// The roles of a server. Role owns the schemas that URL gives out.
const (
	superuser = "dhruva_super"
	Role      = "dhruva"
)

// port names the socket file; nothing listens on it by TCP.
const port = "5432"

// patience bounds what waits for the server.
const patience = time.Minute

// Server is a private server.
type Server struct {
	options Options
	bin     string
	dir     string
	owner   owner
	keep    io.Closer // its end tells the keeper
	kept    *exec.Cmd
	schemas atomic.Int64

	mu   sync.Mutex
	proc *process // nil while it is not running

	free chan string // schemas that Reused may give out again
}

var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// URL is that of a new, empty schema on the server of this test process, which
// is started on first use and is fast rather than durable.
func URL(t testing.TB) string {
	t.Helper()
	return sharedServer(t).URL(t)
}

// Reused is that of a schema on the same server in which every table but the
// migrations is empty. An earlier test may have made the tables: to make them
// takes far longer than to empty them. The test must have closed what it opened
// there when it ends.
func Reused(t testing.TB) string {
	t.Helper()
	at, back := Borrow(t)
	t.Cleanup(back)
	return at
}

// Borrow is Reused for a part of a test: back gives the schema back.
func Borrow(t testing.TB) (at string, back func()) {
	t.Helper()
	at, back, err := sharedServer(t).borrow()
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return at, back
}

func sharedServer(t testing.TB) *Server {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = New(Options{}) })
	if shared.err != nil {
		t.Fatalf("pgtest: %v", shared.err)
	}
	return shared.server
}

// Start starts a server of the test's own, and stops it at the test's end.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// New makes a server and starts it. Close ends it; so does the end of the
// process.
func New(o Options) (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	who, err := serverOwner()
	if err != nil {
		return nil, err
	}
	// Not in the test's own directory: socket paths are limited to about 100 bytes.
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, bin: bin, dir: dir, owner: who, free: make(chan string, maxFree)}
	if err := s.make(); err != nil {
		s.Close()
		os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

func (s *Server) make() error {
	if err := s.keeper(); err != nil {
		return err
	}
	if err := s.owner.own(s.dir); err != nil {
		return err
	}
	args := []string{"-D", s.data(), "-U", superuser, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"}
	if err := s.owner.run(s.dir, filepath.Join(s.bin, "initdb"), args...); err != nil {
		return err
	}
	if err := s.start(); err != nil {
		return err
	}
	return s.sql("CREATE ROLE " + Role + " LOGIN NOSUPERUSER NOBYPASSRLS")
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }
func (s *Server) log() string  { return filepath.Join(s.dir, "log") }

// settings are the server's, for speed where nothing is lost by it.
func (s *Server) settings() []string {
	onOff := map[bool]string{true: "on", false: "off"}[s.options.Durable]
	all := map[string]string{
		"listen_addresses": "", "port": port, "unix_socket_directories": s.dir, "unix_socket_permissions": "0700",
		"fsync": onOff, "synchronous_commit": onOff, "full_page_writes": onOff,
		"max_connections": "200", "shared_buffers": "64MB", "max_wal_size": "1GB", "dynamic_shared_memory_type": "mmap",
		"max_worker_processes": "0", "max_wal_senders": "0", "wal_level": "minimal",
		"logging_collector": "off", "log_min_messages": "warning",
	}
	for name, value := range s.options.Settings {
		all[name] = value
	}
	var args []string
	for name, value := range all {
		args = append(args, "-c", name+"="+value)
	}
	return args
}

// Dir is the directory of the server: its socket and its data.
func (s *Server) Dir() string { return s.dir }

// URL is that of a new, empty schema.
func (s *Server) URL(t testing.TB) string {
	t.Helper()
	u, err := s.Schema()
	if err != nil {
		t.Fatalf("pgtest: schema: %v", err)
	}
	return u
}

// Schema makes a new, empty schema and returns its URL.
func (s *Server) Schema() (string, error) {
	name := s.next()
	return s.url(Role, name), s.sql("CREATE SCHEMA " + name + " AUTHORIZATION " + Role)
}

// maxFree is how many schemas wait to be used again.
const maxFree = 64

func (s *Server) borrow() (at string, back func(), err error) {
	var name string
	select {
	case name = <-s.free:
		err = s.empty(name)
	default:
		name = s.next()
		err = s.sql("CREATE SCHEMA " + name + " AUTHORIZATION " + Role)
	}
	return s.url(Role, name), func() {
		select {
		case s.free <- name:
		default:
		}
	}, err
}

// empty deletes all rows, without looking at foreign keys.
func (s *Server) empty(schema string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := pgx.Connect(ctx, s.Superuser())
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	rows, err := c.Query(ctx, "SELECT tablename::text FROM pg_tables WHERE schemaname = $1 AND tablename <> 'migrations'", schema)
	if err != nil {
		return err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	script := "SET session_replication_role = replica;"
	for _, table := range tables {
		script += "DELETE FROM " + pgx.Identifier{schema, table}.Sanitize() + ";"
	}
	_, err = c.PgConn().Exec(ctx, script).ReadAll()
	return err
}

func (s *Server) next() string { return "s" + strconv.FormatInt(s.schemas.Add(1), 10) }

// Superuser is the URL of a role that may do everything, with no schema but
// the public one.
func (s *Server) Superuser() string { return s.url(superuser, "public") }

func (s *Server) url(role, schema string) string {
	q := url.Values{"host": {s.dir}, "port": {port}, "search_path": {schema}, "sslmode": {"disable"}}
	return (&url.URL{Scheme: "postgres", User: url.User(role), Path: "/postgres", RawQuery: q.Encode()}).String()
}

// sql runs a statement as superuser.
func (s *Server) sql(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := pgx.Connect(ctx, s.Superuser())
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, statement)
	return err
}

// Start starts the server again on its data, and waits until it answers.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatalf("pgtest: start: %v", err)
	}
}

func (s *Server) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		return errors.New("the server is running")
	}
	cmd := exec.Command(filepath.Join(s.bin, "postgres"), append([]string{"-D", s.data()}, s.settings()...)...)
	cmd.Dir, cmd.Env = s.dir, environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner.credential, Setpgid: true}
	out, err := os.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if s.proc, err = begin(cmd); err != nil {
		return err
	}
	return s.answers()
}

// answers waits for the server to take connections.
func (s *Server) answers() error {
	for deadline := time.Now().Add(patience); ; {
		err := s.sql("SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-s.proc.ended:
			s.proc = nil
			return fmt.Errorf("the server ended: %s", s.lastLines())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the server does not answer: %w: %s", err, s.lastLines())
		}
	}
}

func (s *Server) lastLines() string {
	text, err := os.ReadFile(s.log())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-2000):]))
}

// Log is what the server has logged.
func (s *Server) Log() string {
	text, err := os.ReadFile(s.log())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Kill ends the server and its children as a crash does: by SIGKILL, at once.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		s.proc.kill()
		s.proc = nil
	}
}

// Freeze stops the server and its children where they are, until Thaw: nothing
// answers, and nothing is closed.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw lets a frozen server go on.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		s.proc.signal(sig)
	}
}

// Stop ends the server in order; Start starts it again.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		s.proc.stop()
		s.proc = nil
	}
}

// Close stops the server and removes its directory.
func (s *Server) Close() {
	s.Stop()
	if s.keep != nil {
		s.keep.Close()
		s.kept.Wait()
	}
}
