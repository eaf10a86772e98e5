package sqlstore

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Options tune a store. The zero value is good.
type Options struct {
	// BatchUpdates is the most updates that share one commit. Nothing is waited
	// for: a commit takes what has queued up behind the one before. 0 means 256
	// on SQLite, 60 on Postgres.
	BatchUpdates int
	// Readers is the most views that run at once, each on a connection of its
	// own. 0 means 4 on SQLite, 12 on Postgres.
	Readers int
	// Writers is the most updates of different scopes that run at once on
	// Postgres. 0 means 8. SQLite has one.
	Writers int
	// WriteTimeout bounds every update, from its call to its commit, and Open. 0
	// means 30 seconds.
	WriteTimeout time.Duration
	// PollInterval is how often other processes are noticed where they do not
	// tell: on SQLite, and on Postgres where nothing can listen. 0 means 20
	// milliseconds. SweepInterval is how often they are noticed all the same
	// where they do. 0 means 10 seconds. Nobody is looked for while nobody
	// follows Hints.
	PollInterval, SweepInterval time.Duration
	// NotifyInterval is the least time between two messages to other processes
	// on Postgres. 0 means 5 milliseconds.
	NotifyInterval time.Duration
	// ListenURL is where a store listens whose own URL is that of a pooler.
	ListenURL string
	// BusyTimeout is how long to wait for another process on an SQLite file. 0
	// means 5 seconds.
	BusyTimeout time.Duration
	// CacheKiB is SQLite's page cache of each connection. 0 means 2,048.
	CacheKiB int
	// Log is told when the schema of a store is brought up to date; nil: nobody.
	Log *slog.Logger
	// passing: the store is a copy that is used once, and has no snapshot made
	// before it is brought up to date.
	passing bool
}

const defaultTimeout = 30 * time.Second

func (o Options) orDefaults(d *dialect) Options {
	o = Options{
		BatchUpdates: positive(o.BatchUpdates, d.batch),
		Readers:      positive(o.Readers, d.readers),
		Writers:      positive(o.Writers, d.writers),
		WriteTimeout: positive(o.WriteTimeout, defaultTimeout),

		PollInterval:   positive(o.PollInterval, 20*time.Millisecond),
		SweepInterval:  positive(o.SweepInterval, 10*time.Second),
		NotifyInterval: positive(o.NotifyInterval, 5*time.Millisecond),
	}
	if d.alone {
		o.Writers = 1
	}
	return o
}

func positive[T ~int | ~int64](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// Store keeps rows in a database.
type Store struct {
	d       *dialect
	options Options
	writers *pool
	readers *pool // the same as writers when there is a single connection

	mu       sync.Mutex
	shutting bool             // no lane is started any more
	lanes    map[string]*lane // by laneKey
	running  sync.WaitGroup   // the lanes, and who watches other processes
	hints    hints
	telling  sync.WaitGroup // who tells them
	noRoom   atomic.Bool    // the last write found none

	life    context.Context // ends with Close
	closing <-chan struct{} // closed then
	quiet   chan struct{}   // closed when the last update has ended
	close   func() error
}

var _ dhruva.Store = (*Store)(nil)

// Open opens a store, makes it if there is none, and brings its schema up to
// date. at is the path of an SQLite file; ":memory:", a private database that
// is forgotten by Close; or the URL of a PostgreSQL database
// (postgres://user@host/database), whose password appears in no error.
func Open(ctx context.Context, at string, o Options) (*Store, error) {
	d, err := dialectOf(at, o)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: open: %w", err)
	}
	d.before = beforeMigration(ctx, d, at, o)
	s, err := open(ctx, d, o)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: open %s: %w", d.name, err)
	}
	return s, nil
}

func dialectOf(at string, o Options) (*dialect, error) {
	if isPostgres(at) {
		return postgresDialect(at, o)
	}
	return sqliteDialect(at, o)
}

func open(ctx context.Context, d *dialect, o Options) (*Store, error) {
	o = o.orDefaults(d)
	ctx, cancel := context.WithTimeout(ctx, o.WriteTimeout)
	defer cancel()
	life, end := context.WithCancel(context.Background())
	s := &Store{d: d, options: o, lanes: map[string]*lane{}, life: life, closing: life.Done(), quiet: make(chan struct{})}
	s.hints.followers = map[*dirty]bool{}
	s.close = sync.OnceValue(func() error { return s.shut(end) })
	s.writers = newPool(o.Writers, d.write)
	s.readers = s.writers
	if d.read != nil {
		s.readers = newPool(o.Readers, d.read)
	}
	if err := s.prepare(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// prepare migrates on a writer's connection.
func (s *Store) prepare(ctx context.Context) error {
	c, err := s.writers.take(ctx, s.closing)
	if err != nil {
		return err
	}
	defer s.writers.give(c)
	c.bound(ctx)
	if err := migrate(s.d, c); err != nil || s.d.start == nil {
		return err
	}
	return s.d.start(s, c)
}

// Close waits for the commits and the views that are running, refuses what is
// queued, and closes the database. A second Close does nothing.
func (s *Store) Close() error { return s.close() }

func (s *Store) shut(end func()) error {
	s.mu.Lock()
	s.shutting = true
	s.mu.Unlock()
	end()
	s.running.Wait()
	close(s.quiet)
	s.telling.Wait()
	var err error
	if s.readers != s.writers {
		err = s.readers.close()
	}
	err = firstOf(err, s.writers.close()) // the last one out moves SQLite's log into the file
	if err = firstOf(err, s.d.close()); err != nil {
		return fmt.Errorf("sqlstore: close: %w", err)
	}
	return nil
}

// View runs fn over a snapshot.
func (s *Store) View(ctx context.Context, scope dhruva.Scope, fn func(dhruva.Tx) error) error {
	scopes, err := dhruva.SortScopes([]dhruva.Scope{scope})
	if err != nil {
		return fmt.Errorf("sqlstore: view: %w", err)
	}
	for {
		again, err := s.view(ctx, scopes, fn)
		if !again {
			return err
		}
	}
}

// view runs fn once. It is to be run again when its connection turns out to
// have been lost before.
func (s *Store) view(ctx context.Context, scopes []dhruva.Scope, fn func(dhruva.Tx) error) (again bool, err error) {
	if err := s.usable(ctx); err != nil {
		return false, fmt.Errorf("sqlstore: view: %w", err)
	}
	c, err := s.readers.take(ctx, s.closing)
	if err != nil {
		return false, fmt.Errorf("sqlstore: view: %w", err)
	}
	defer func() { s.readers.give(c) }()
	c.bound(ctx)
	if err := c.snapshot(scopes); err != nil {
		return c.stale(), fmt.Errorf("sqlstore: view: %w", err)
	}
	t := newTx(ctx, s.d, c, scopes)
	t.readOnly = true
	defer func() { // also when fn panics
		t.end()
		c.rollback()
	}()
	err = fn(t)
	if t.spoiled != nil && c.stale() {
		return true, nil
	}
	return false, firstOf(err, t.spoiled)
}

// read is View of one scope, for the store's own use.
func (s *Store) read(ctx context.Context, scope dhruva.Scope, fn func(*tx) error) error {
	return s.View(ctx, scope, func(row dhruva.Tx) error { return fn(row.(*tx)) })
}

func (s *Store) usable(ctx context.Context) error {
	select {
	case <-s.closing:
		return errClosed
	default:
		return ended(ctx)
	}
}

// changesChunk is how many changes are read at a time.
const changesChunk = 512

const (
	selectChanges = "SELECT seq, kind, ref, at FROM changes WHERE tenant = $1 AND space = $2 AND seq > $3 AND seq <= $4 ORDER BY seq LIMIT $5"
)

// Changes yields the changes up to the head at the time of the call. No
// connection is held while the consumer works; what is compacted away meanwhile
// is ErrCompacted, too.
func (s *Store) Changes(ctx context.Context, scope dhruva.Scope, after int64) iter.Seq2[dhruva.Change, error] {
	at := max(after, 0)
	chunk, head, err := s.changes(ctx, scope, at, math.MaxInt64)
	return func(yield func(dhruva.Change, error) bool) {
		for err == nil {
			for _, c := range chunk {
				if !yield(c, nil) {
					return
				}
				at = c.Seq
			}
			if at >= head {
				return
			}
			chunk, _, err = s.changes(ctx, scope, at, head)
		}
		yield(dhruva.Change{}, fmt.Errorf("sqlstore: changes: %w", err))
	}
}

// changes reads the next changes up to a number, and the head.
func (s *Store) changes(ctx context.Context, scope dhruva.Scope, after, through int64) (out []dhruva.Change, head int64, err error) {
	if scope.Level() != dhruva.LevelSpace {
		return nil, 0, fmt.Errorf("%w: changes of scope %s, want a space", dhruva.ErrInvalid, scope)
	}
	err = s.read(ctx, scope, func(t *tx) error {
		e, err := t.Epoch(scope.Space())
		if err != nil || after >= e.Head {
			head = e.Head
			return err
		}
		if after < e.Tail {
			return fmt.Errorf("%w: the feed of %s begins after %d", dhruva.ErrCompacted, scope, e.Tail)
		}
		head = e.Head
		out, err = collect(t, "changes", scanChange, selectChanges, string(scope.Tenant()), string(scope.Space()), after, min(through, head), changesChunk)
		if err == nil && len(out) == 0 {
			err = fmt.Errorf("the feed of %s ends at %d before its head %d", scope, after, head)
		}
		return err
	})
	return out, head, err
}

func scanChange(r scanner) (c dhruva.Change, err error) {
	return c, r.Scan(&c.Seq, &c.Kind, &c.Ref, micros{&c.At})
}

// Integrity asks the database to check itself, page by page, and reports what
// it finds. It reads everything.
func (s *Store) Integrity(ctx context.Context) error {
	return s.read(ctx, dhruva.SystemScope(), func(t *tx) error {
		for _, query := range s.d.check {
			found, err := collect(t, "integrity", func(r scanner) (line string, err error) { return line, r.Scan(&line) }, query)
			if err != nil {
				return err
			}
			for _, line := range found {
				if line != "ok" {
					return fmt.Errorf("sqlstore: integrity: %d findings, the first: %s", len(found), line)
				}
			}
		}
		return nil
	})
}
