package sqlstore

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// What is done to whole tables (manifests, backups, copies to another engine)
// is generic: the tables are those that the database says it has, so that none
// is ever forgotten. Their names go into statements, therefore each of them is
// checked to be a plain word.

// Tables that say something about the file and hold none of its content.
const (
	migrationsTable = "migrations"
	manifestTable   = "backup_manifest"
)

// table is a table as introspected.
type table struct {
	name string
	// columns are sorted by name: an order that no migration and no engine
	// changes.
	columns []string
	// key are the columns of the primary key, in its order.
	key []string
	// parents are the tables that its foreign keys refer to.
	parents []string
}

// querier is a connection: one of a store's, or a SQLite file's own.
type querier interface {
	query(query string, args ...any) (rows, error)
}

// introspected are the tables of a database, parents before children.
func introspected(d *dialect, c querier) ([]table, error) {
	names, err := texts(c, d.tables)
	if err != nil {
		return nil, err
	}
	var out []table
	for _, name := range names {
		if name == migrationsTable || name == manifestTable {
			continue
		}
		t := table{name: name}
		if err := t.readColumns(d, c); err != nil {
			return nil, err
		}
		if t.parents, err = texts(c, d.parents, name); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return ordered(out)
}

func (t *table) readColumns(d *dialect, c querier) error {
	r, err := c.query(d.columns, t.name)
	if err != nil {
		return err
	}
	defer r.Close()
	places := map[int]string{}
	for r.Next() {
		var name string
		var place int
		if err := r.Scan(&name, &place); err != nil {
			return err
		}
		t.columns = append(t.columns, name)
		if place > 0 {
			places[place] = name
		}
	}
	for n := range len(places) {
		t.key = append(t.key, places[n+1])
	}
	return r.Err()
}

// ordered checks the tables and puts parents before children, else by name.
func ordered(tables []table) ([]table, error) {
	byName := map[string]table{}
	for _, t := range tables {
		slices.Sort(t.columns)
		slices.Sort(t.parents)
		if err := t.check(); err != nil {
			return nil, err
		}
		byName[t.name] = t
	}
	slices.SortFunc(tables, func(a, b table) int { return strings.Compare(a.name, b.name) })
	var out []table
	placed, within := map[string]bool{}, map[string]bool{}
	var place func(t table) error
	place = func(t table) error {
		if placed[t.name] {
			return nil
		}
		if within[t.name] {
			return fmt.Errorf("%w: the foreign keys of table %s go round in a circle", dhruva.ErrInvalid, t.name)
		}
		within[t.name] = true
		for _, p := range t.parents {
			parent, ok := byName[p]
			if !ok {
				return fmt.Errorf("%w: table %s refers to %s, which is not there", dhruva.ErrInvalid, t.name, p)
			}
			if p != t.name {
				if err := place(parent); err != nil {
					return err
				}
			}
		}
		placed[t.name], out = true, append(out, t)
		return nil
	}
	for _, t := range tables {
		if err := place(t); err != nil {
			return nil, err
		}
	}
	return out, nil
}

var word = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

func (t table) check() error {
	for _, name := range append([]string{t.name}, t.columns...) {
		if !word.MatchString(name) {
			return fmt.Errorf("%w: %q is no name of a table or column of ours", dhruva.ErrInvalid, name)
		}
	}
	if len(t.key) == 0 {
		return fmt.Errorf("%w: table %s has no primary key", dhruva.ErrInvalid, t.name)
	}
	return nil
}

// quoted are names for a statement. Each was checked to be a word; the quotes are
// for those that are keywords too.
func quoted(names ...string) string { return `"` + strings.Join(names, `", "`) + `"` }

// count counts the rows.
func (t table) count() string { return "SELECT count(*) FROM " + quoted(t.name) }

// pageRows is how many rows are read at a time: nothing that is waited for is
// long, whatever the size of a table.
const pageRows = 1000

// page reads the next rows in the order of the primary key: from the first one
// on, or behind the one that the parameters name.
func (t table) page(first bool) string {
	text, key := "SELECT "+quoted(t.columns...)+" FROM "+quoted(t.name), quoted(t.key...)
	if !first {
		text += " WHERE (" + key + ") > (" + numbered(len(t.key)) + ")"
	}
	return text + " ORDER BY " + key + " LIMIT " + strconv.Itoa(pageRows)
}

// numbered are n parameters.
func numbered(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = "$" + strconv.Itoa(i+1)
	}
	return strings.Join(out, ", ")
}

// each reads a table row by row, in the order of its primary key and of its
// sorted columns; between two pages it calls pause. The row is only valid during
// the call.
func (t table) each(c querier, pause func() error, fn func([]any) error) error {
	at := make([]any, len(t.key))
	for n := pageRows; n == pageRows; {
		var err error
		if n, err = t.readPage(c, at, fn); err != nil {
			return err
		}
		if err := pause(); err != nil {
			return err
		}
	}
	return nil
}

// readPage reads the rows behind the key at (all NULL: from the first one on),
// moves it to the last of them, and counts them.
func (t table) readPage(c querier, at []any, fn func([]any) error) (n int, err error) {
	query, args := t.page(true), []any(nil)
	if at[0] != nil {
		query, args = t.page(false), at
	}
	r, err := c.query(query, args...)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	row, into := make([]any, len(t.columns)), make([]any, len(t.columns))
	for i := range row {
		into[i] = cell{&row[i]}
	}
	for ; r.Next(); n++ {
		if err := r.Scan(into...); err != nil {
			return n, err
		}
		if err := fn(row); err != nil {
			return n, err
		}
		for i, name := range t.key {
			place, _ := slices.BinarySearch(t.columns, name)
			at[i] = row[place]
		}
	}
	return n, r.Err()
}

// cell reads a value as it is: nil, an integer, a text or bytes.
type cell struct{ v *any }

// Scan implements sql.Scanner.
func (c cell) Scan(v any) error {
	switch b := v.(type) {
	case nil, int64, string:
		*c.v = v
	case []byte:
		*c.v = append([]byte{}, b...) // it is lent
	default:
		return fmt.Errorf("%w: a column holds %T", dhruva.ErrInvalid, v)
	}
	return nil
}
