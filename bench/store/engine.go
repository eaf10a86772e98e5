package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // the engine beneath, for its own commit

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/pgtest"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// engine is a database that a store may be on.
type engine struct {
	name string
	// create makes an empty one: where it is, a function that commits one row of
	// the engine's own, and how to end it.
	create func(context.Context) (at string, bare func(n int) error, end func(), err error)
}

func engines() []engine { return []engine{{"sqlite", createSQLite}, {"postgres", createPostgres}} }

// bareRow is as long as a row of the store's.
const bareRow = "a row of the engine's own, as long as the row of a session that an update of the store puts is, about one hundred bytes"

func createSQLite(ctx context.Context) (string, func(int) error, func(), error) {
	dir, err := os.MkdirTemp("", "dhruva-bench-")
	if err != nil {
		return "", nil, nil, err
	}
	end := func() { os.RemoveAll(dir) }
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "bare.db")+"?_pragma=journal_mode(wal)&_pragma=synchronous(2)")
	if err != nil {
		end()
		return "", nil, nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "CREATE TABLE bare (n INTEGER PRIMARY KEY, v TEXT)"); err != nil {
		end()
		return "", nil, nil, err
	}
	insert, err := db.PrepareContext(ctx, "INSERT INTO bare VALUES (?, ?)")
	bare := func(n int) error {
		_, err := insert.ExecContext(ctx, n, bareRow)
		return err
	}
	return filepath.Join(dir, "dhruva.db"), bare, func() { db.Close(); end() }, err
}

func createPostgres(ctx context.Context) (string, func(int) error, func(), error) {
	server, err := pgtest.New(pgtest.Options{Durable: true})
	if err != nil {
		return "", nil, nil, err
	}
	at, err := server.Schema()
	if err != nil {
		server.Close()
		return "", nil, nil, err
	}
	c, err := pgx.Connect(ctx, server.Superuser())
	if err == nil {
		_, err = c.Exec(ctx, "CREATE TABLE bare (n bigint PRIMARY KEY, v text)")
	}
	if err != nil {
		server.Close()
		return "", nil, nil, err
	}
	bare := func(n int) error {
		_, err := c.Exec(ctx, "INSERT INTO bare VALUES ($1, $2)", n, bareRow)
		return err
	}
	return at, bare, func() { c.Close(ctx); server.Close() }, nil
}

func (e engine) measure(ctx context.Context, length time.Duration, show func(row)) error {
	at, bare, end, err := e.create(ctx)
	if err != nil {
		return err
	}
	defer end()
	s, err := sqlstore.Open(ctx, at, sqlstore.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	beside, err := sqlstore.Open(ctx, at, sqlstore.Options{})
	if err != nil {
		return err
	}
	defer beside.Close()
	for _, step := range []func() error{
		func() error { return e.alone(ctx, s, bare, length, show) },
		func() error { return e.together(ctx, s, beside, length, show) },
		func() error { return e.exchanges(ctx, s, length, show) },
		func() error { return e.view(ctx, s, show) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// alone is one writer: an update of one row, and a capture, each beside the
// engine's own commit of one row.
func (e engine) alone(ctx context.Context, s *sqlstore.Store, bare func(int) error, length time.Duration, show func(row)) error {
	scope := []dhruva.Scope{dhruva.SpaceScope("bench", "alone")}
	one := func(n int) error {
		return s.Update(ctx, scope, func(tx dhruva.Tx) error {
			return tx.PutSession(dhruva.Session{Tenant: "bench", Space: "alone", ID: "s", LastSeq: int64(n), Title: bareRow[:40]})
		})
	}
	whole := func(n int) error { return capture(ctx, s, scope[0], "captured", fmt.Sprintf("alone-%08d", n)) }
	var own row
	for _, w := range []struct {
		what  string
		write func(int) error
	}{{"the engine's own commit", bare}, {"update of one row", one}, {"capture", whole}} {
		r, err := repeat(w.write, length/2)
		if err != nil {
			return err
		}
		r.Engine, r.What, r.Writers = e.name, w.what, 1
		if own.N == 0 {
			own = r
		}
		r.Note = fmt.Sprintf("%.1f x the engine's own", r.P50/own.P50)
		if r.PerSec = 0; w.what == "capture" {
			r.PerSec = 2000 / r.P50
		}
		show(r)
	}
	return nil
}

// repeat writes again and again.
func repeat(write func(int) error, length time.Duration) (row, error) {
	for n := range 50 { // warm up: statements are prepared
		if err := write(-n - 1); err != nil {
			return row{}, err
		}
	}
	var times []time.Duration
	for began := time.Now(); time.Since(began) < length; {
		at := time.Now()
		if err := write(len(times)); err != nil {
			return row{}, err
		}
		times = append(times, time.Since(at))
	}
	return row{}.summary(times), nil
}

// view reads a session of 1,000 turns.
func (e engine) view(ctx context.Context, s *sqlstore.Store, show func(row)) error {
	scope := dhruva.SpaceScope("bench", "view")
	for n := range 500 {
		if err := capture(ctx, s, scope, "long", fmt.Sprintf("view-%08d", n)); err != nil {
			return err
		}
	}
	var times []time.Duration
	for range 300 {
		began := time.Now()
		err := s.View(ctx, scope, func(tx dhruva.Tx) error {
			turns, err := tx.ListTurns(dhruva.TurnQuery{Session: "long"})
			if err == nil && len(turns) != 1000 {
				err = fmt.Errorf("%d turns", len(turns))
			}
			return err
		})
		if err != nil {
			return err
		}
		times = append(times, time.Since(began))
	}
	show(row{Engine: e.name, What: "view of 1,000 turns"}.summary(times))
	return nil
}
