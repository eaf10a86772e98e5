package sqlstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	digests "hash"

	"github.com/dhruva-memory/dhruva"
)

// Manifest says what a database holds, in a form that is equal wherever the
// rows are equal: on SQLite, on Postgres, and in a backup.
type Manifest struct {
	// Schema is the last migration that was applied.
	Schema string `json:"schema"`
	// Tables are in an order that satisfies foreign keys.
	Tables []TableSum `json:"tables"`
}

// TableSum is the sum of one table: SHA-256 over a canonical encoding of its
// rows in primary-key order (text and bytes by their bytes, integers by value).
//
// The encoding is: the magic, the name of the table, the count of its columns
// and their names, sorted; then for each row its values in the order of those
// names. A value is a byte for its type and its content: 0 NULL; 1 integer, 8
// bytes big-endian; 2 text and 3 bytes, the length as 8 bytes and the content.
// Names are encoded as texts without the type. Where the order of columns
// stands in a schema plays no part.
type TableSum struct {
	Table string      `json:"table"`
	Rows  int64       `json:"rows"`
	Sum   dhruva.Hash `json:"sha256"`
}

// manifestMagic opens the encoding; a change of it is a new magic.
const manifestMagic = "dhruva.manifest.v1\n"

// Rows counts the rows of all tables.
func (m Manifest) Rows() (n int64) {
	for _, t := range m.Tables {
		n += t.Rows
	}
	return n
}

// Diff says in words where two manifests differ; it is empty when they are
// equal.
func (m Manifest) Diff(o Manifest) (out []string) {
	if m.Schema != o.Schema {
		out = append(out, fmt.Sprintf("the schema is %s on one side and %s on the other", m.Schema, o.Schema))
	}
	other := map[string]TableSum{}
	for _, t := range o.Tables {
		other[t.Table] = t
	}
	for _, t := range m.Tables {
		u, ok := other[t.Table]
		delete(other, t.Table)
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("table %s is on one side only", t.Table))
		case t.Rows != u.Rows:
			out = append(out, fmt.Sprintf("table %s: %d rows on one side and %d on the other", t.Table, t.Rows, u.Rows))
		case t.Sum != u.Sum:
			out = append(out, fmt.Sprintf("table %s: the rows differ", t.Table))
		}
	}
	for _, t := range o.Tables {
		if _, ok := other[t.Table]; ok {
			out = append(out, fmt.Sprintf("table %s is on one side only", t.Table))
		}
	}
	return out
}

// Progress is how far something long has come.
type Progress struct {
	// Step is what is being done: count, read, copy, check.
	Step string
	// Table is the one at hand, "" where none is.
	Table string
	// Done of Total rows of the step are behind it; Total 0: it is not known.
	Done, Total int64
}

// reporter tells how a step comes along; its function may be nil.
type reporter struct {
	to func(Progress)
	Progress
	// made is what the first so many migrations make, found out once.
	made map[int][]object
}

func newReporter(to func(Progress)) *reporter {
	return &reporter{to: to, made: map[int][]object{}}
}

// told is how many rows are passed over in silence.
const told = 4096

func (r *reporter) step(step string, total int64) {
	r.Progress = Progress{Step: step, Total: total}
	r.tell()
}

func (r *reporter) table(name string) {
	r.Table = name
	r.tell()
}

func (r *reporter) row() {
	if r.Done++; r.Done%told == 0 {
		r.tell()
	}
}

func (r *reporter) tell() {
	if r.to != nil {
		r.to(r.Progress)
	}
}

// reading is a connection that holds a snapshot of everything.
type reading struct {
	d *dialect
	querier
	// pause is called between pages: it fails when the context has ended, and
	// gives the next page its time.
	pause  func() error
	report *reporter
}

// number reads one.
func number(c querier, query string, args ...any) (n int64, err error) {
	r, err := c.query(query, args...)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for r.Next() {
		if err := r.Scan(&n); err != nil {
			return 0, err
		}
	}
	return n, r.Err()
}

// counted counts the rows of all tables.
func (r reading) counted(tables []table) (total int64, err error) {
	r.report.step("count", 0)
	for _, t := range tables {
		n, err := number(r, t.count())
		if err == nil {
			err = r.pause()
		}
		if err != nil {
			return 0, fmt.Errorf("table %s: %w", t.name, err)
		}
		total += n
	}
	return total, nil
}

// manifest counts the rows, so that there is a total, and sums them up.
func (r reading) manifest(tables []table) (m Manifest, err error) {
	done, err := texts(r, selectMigrations)
	if err != nil {
		return m, err
	}
	if len(done) == 0 {
		return m, fmt.Errorf("%w: no migration was applied", dhruva.ErrInvalid)
	}
	total, err := r.counted(tables)
	if err != nil {
		return m, err
	}
	m.Schema = done[len(done)-1]
	r.report.step("read", total)
	for _, t := range tables {
		r.report.table(t.name)
		s, err := r.sum(t)
		if err != nil {
			return m, fmt.Errorf("table %s: %w", t.name, err)
		}
		m.Tables = append(m.Tables, s)
	}
	return m, nil
}

func (r reading) sum(t table) (TableSum, error) {
	out, enc := TableSum{Table: t.name}, newRowEncoder(t)
	err := t.each(r, r.pause, func(row []any) error {
		out.Rows++
		r.report.row()
		return enc.row(row)
	})
	enc.h.Sum(out.Sum[:0])
	return out, err
}

// rowEncoder hashes the canonical encoding of a table.
type rowEncoder struct {
	h   digests.Hash
	buf bytes.Buffer
}

func newRowEncoder(t table) *rowEncoder {
	e := &rowEncoder{h: sha256.New()}
	e.buf.WriteString(manifestMagic)
	e.text(t.name)
	e.integer(int64(len(t.columns)))
	for _, name := range t.columns {
		e.text(name)
	}
	e.flush()
	return e
}

func (e *rowEncoder) integer(n int64) {
	e.buf.Write(binary.BigEndian.AppendUint64(e.buf.AvailableBuffer(), uint64(n)))
}

func (e *rowEncoder) text(s string) {
	e.integer(int64(len(s)))
	e.buf.WriteString(s)
}

func (e *rowEncoder) flush() {
	e.h.Write(e.buf.Bytes())
	e.buf.Reset()
}

// The types of values.
const (
	valueNull = iota
	valueInteger
	valueText
	valueBytes
)

func (e *rowEncoder) row(values []any) error {
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			e.buf.WriteByte(valueNull)
		case int64:
			e.buf.WriteByte(valueInteger)
			e.integer(v)
		case string:
			e.buf.WriteByte(valueText)
			e.text(v)
		case []byte:
			e.buf.WriteByte(valueBytes)
			e.integer(int64(len(v)))
			e.buf.Write(v)
		default:
			return fmt.Errorf("%w: a column holds %T", dhruva.ErrInvalid, v)
		}
	}
	e.flush()
	return nil
}

// Manifest reads every row of every table, in one snapshot, and sums it up.
func (s *Store) Manifest(ctx context.Context, progress func(Progress)) (m Manifest, err error) {
	err = s.reading(ctx, progress, func(r reading) error {
		tables, err := introspected(s.d, r)
		if err != nil {
			return err
		}
		m, err = r.manifest(tables)
		return err
	})
	if err != nil {
		return Manifest{}, fmt.Errorf("sqlstore: manifest: %w", err)
	}
	return m, nil
}

// reading runs fn on a connection that holds a snapshot of everything.
func (s *Store) reading(ctx context.Context, progress func(Progress), fn func(reading) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	c, err := s.readers.take(ctx, s.closing)
	if err != nil {
		return err
	}
	defer func() { s.readers.give(c) }()
	pause := func() error {
		if err := s.usable(ctx); err != nil {
			return err
		}
		c.bound(ctx)
		return nil
	}
	if err := firstOf(pause(), c.snapshot(nil)); err != nil {
		return err
	}
	defer c.rollback()
	if s.d.everything != "" {
		if _, err := texts(c, s.d.everything); err != nil {
			return err
		}
	}
	return fn(reading{s.d, c, pause, newReporter(progress)})
}
