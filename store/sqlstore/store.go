package sqlstore

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Options tune a store. The zero value is good.
type Options struct {
	// BatchUpdates is the most updates that share one commit. Nothing is waited
	// for: a commit takes what has queued up behind the one before. 0 means 256.
	BatchUpdates int
	// Readers is the most views that run at once on a file. 0 means 4.
	Readers int
	// WriteTimeout bounds every update, from its call to its commit, and Open. 0
	// means 30 seconds.
	WriteTimeout time.Duration
	// BusyTimeout is how long to wait for another process. 0 means 5 seconds.
	BusyTimeout time.Duration
	// CacheKiB is the page cache of each connection. 0 means 2,048.
	CacheKiB int
}

func (o Options) orDefaults() Options {
	return Options{
		BatchUpdates: positive(o.BatchUpdates, 256),
		Readers:      positive(o.Readers, 4),
		WriteTimeout: positive(o.WriteTimeout, 30*time.Second),
		BusyTimeout:  positive(o.BusyTimeout, 5*time.Second),
		CacheKiB:     positive(o.CacheKiB, 2048),
	}
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
	writers *pool // of one
	readers *pool // the same as writers when there is a single connection

	queue   chan *update  // unbuffered: an update is taken when the writer is ready for it
	closing chan struct{} // closed by Close
	stopped chan struct{} // closed when the writer has ended
	close   func() error
}

var _ dhruva.Store = (*Store)(nil)

// Open opens the database file at path, makes it if there is none, and brings
// its schema up to date. The path ":memory:" is a private database that is
// forgotten by Close.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	o = o.orDefaults()
	d, err := sqliteDialect(path, o)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: open %s: %w", path, err)
	}
	s, err := open(ctx, d, o)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: open %s: %w", path, err)
	}
	return s, nil
}

func open(ctx context.Context, d *dialect, o Options) (*Store, error) {
	ctx, cancel := context.WithTimeout(ctx, o.WriteTimeout)
	defer cancel()
	s := &Store{d: d, options: o, queue: make(chan *update), closing: make(chan struct{}), stopped: make(chan struct{})}
	s.close = sync.OnceValue(s.shut)
	var err error
	if s.writers, err = newPool(d, d.write, 1); err != nil {
		return nil, err
	}
	s.readers = s.writers
	if !d.single {
		if s.readers, err = newPool(d, d.read, o.Readers); err != nil {
			return nil, err
		}
	}
	if err := s.prepare(ctx); err != nil {
		close(s.stopped) // there is no writer yet
		s.close()
		return nil, err
	}
	go s.write()
	return s, nil
}

// prepare migrates on the writer's connection.
func (s *Store) prepare(ctx context.Context) error {
	c, err := s.writers.take(ctx, s.closing)
	if err != nil {
		return err
	}
	defer s.writers.give(c, false)
	return migrate(ctx, c)
}

// Close waits for the commit and the views that are running, refuses what is
// queued, and closes the database. A second Close does nothing.
func (s *Store) Close() error { return s.close() }

func (s *Store) shut() error {
	close(s.closing)
	<-s.stopped
	var err error
	if s.readers != nil && s.readers != s.writers {
		err = s.readers.close()
	}
	err = firstOf(err, s.writers.close()) // the last one out moves the log into the file
	if err != nil {
		return fmt.Errorf("sqlstore: close: %w", s.d.classify(err))
	}
	return nil
}

// View runs fn over a snapshot.
func (s *Store) View(ctx context.Context, scope dhruva.Scope, fn func(dhruva.Tx) error) error {
	scopes, err := dhruva.SortScopes([]dhruva.Scope{scope})
	if err != nil {
		return fmt.Errorf("sqlstore: view: %w", err)
	}
	if err := s.view(ctx, scopes, fn); err != nil {
		return err
	}
	return nil
}

func (s *Store) view(ctx context.Context, scopes []dhruva.Scope, fn func(dhruva.Tx) error) error {
	if err := s.usable(ctx); err != nil {
		return fmt.Errorf("sqlstore: view: %w", err)
	}
	c, err := s.readers.take(ctx, s.closing)
	if err != nil {
		return fmt.Errorf("sqlstore: view: %w", err)
	}
	broken := true
	defer func() { s.readers.give(c, broken) }()
	if _, err := c.exec(s.d.beginRead); err != nil {
		return fmt.Errorf("sqlstore: view: %w", err)
	}
	t := newTx(ctx, c, scopes)
	t.readOnly = true
	defer func() { // also when fn panics
		t.end()
		_, err := c.exec("ROLLBACK")
		broken = err != nil
	}()
	return fn(t)
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
	head, err := s.head(ctx, scope, after)
	return func(yield func(dhruva.Change, error) bool) {
		for at := max(after, 0); err == nil && at < head; {
			var chunk []dhruva.Change
			if chunk, err = s.changes(ctx, scope, at, head); err != nil {
				break
			}
			if len(chunk) == 0 {
				err = fmt.Errorf("the feed of %s ends at %d before its head %d", scope, at, head)
				break
			}
			for _, c := range chunk {
				if !yield(c, nil) {
					return
				}
			}
			at = chunk[len(chunk)-1].Seq
		}
		if err != nil {
			yield(dhruva.Change{}, fmt.Errorf("sqlstore: changes: %w", err))
		}
	}
}

func (s *Store) head(ctx context.Context, scope dhruva.Scope, after int64) (head int64, err error) {
	if scope.Level() != dhruva.LevelSpace {
		return 0, fmt.Errorf("%w: changes of scope %s, want a space", dhruva.ErrInvalid, scope)
	}
	err = s.view(ctx, []dhruva.Scope{scope}, func(row dhruva.Tx) error {
		e, err := kept(row, scope, after)
		head = e.Head
		return err
	})
	return head, err
}

// kept is the epoch of a space whose feed holds everything after a number.
func kept(row dhruva.Tx, scope dhruva.Scope, after int64) (dhruva.Epoch, error) {
	e, err := row.Epoch(scope.Space())
	if err == nil && max(after, 0) < e.Tail {
		err = fmt.Errorf("%w: the feed of %s begins after %d", dhruva.ErrCompacted, scope, e.Tail)
	}
	return e, err
}

func (s *Store) changes(ctx context.Context, scope dhruva.Scope, after, head int64) (out []dhruva.Change, err error) {
	err = s.view(ctx, []dhruva.Scope{scope}, func(row dhruva.Tx) error {
		if _, err := kept(row, scope, after); err != nil {
			return err
		}
		out, err = collect(row.(*tx), "changes", scanChange, selectChanges, string(scope.Tenant()), string(scope.Space()), after, head, changesChunk)
		return err
	})
	return out, err
}

func scanChange(r scanner) (c dhruva.Change, err error) {
	return c, r.Scan(&c.Seq, &c.Kind, &c.Ref, micros{&c.At})
}

// Integrity asks the database to check itself, page by page, and reports what
// it finds. It reads everything.
func (s *Store) Integrity(ctx context.Context) error {
	return s.view(ctx, []dhruva.Scope{dhruva.SystemScope()}, func(row dhruva.Tx) error {
		for _, query := range s.d.check {
			found, err := collect(row.(*tx), "integrity", func(r scanner) (line string, err error) { return line, r.Scan(&line) }, query)
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
