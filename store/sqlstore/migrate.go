package sqlstore

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
)

const (
	createMigrations = `CREATE TABLE IF NOT EXISTS migrations (
  number     BIGINT PRIMARY KEY,
  name       TEXT NOT NULL,
  applied_at BIGINT NOT NULL
)`
	selectMigrations = "SELECT name FROM migrations ORDER BY number"
	insertMigration  = "INSERT INTO migrations (number, name, applied_at) VALUES ($1, $2, $3)"
)

// migrate brings the schema up to the program's, each migration in a
// transaction of its own. Another process may be doing the same.
func migrate(d *dialect, c conn) error {
	names, err := fs.Glob(d.schema, "*.sql") // sorted
	if err != nil {
		return err
	}
	for anew, more := false, true; more; {
		if more, err = migrateOne(d, c, names, &anew); err != nil {
			return err
		}
	}
	return nil
}

// migrateOne applies the next migration, if there is one. anew: there was no store
// when we came, so that nothing of it could be wanted back.
func migrateOne(d *dialect, c conn, names []string, anew *bool) (more bool, err error) {
	done, err := applied(d, c)
	if err == nil && len(done) == len(names) { // the usual case takes no lock
		return false, firstOf(compatible(done, names), allTables(d, c))
	}
	*anew = *anew || err == nil && len(done) == 0
	kept := func(err error) error { return err }
	if err == nil && !*anew && compatible(done, names) == nil && d.before != nil {
		if kept, err = d.before(names[len(done)]); err != nil {
			return false, err
		}
	}
	more, err = migrateNext(d, c, names)
	return more, kept(err)
}

// migrateNext is the transaction of a migration.
func migrateNext(d *dialect, c conn, names []string) (more bool, err error) {
	if err := c.begin(nil); err != nil {
		return false, err
	}
	defer func() {
		if err != nil {
			c.rollback()
		}
	}()
	if d.lockSchema != "" {
		if err := c.script(d.lockSchema); err != nil {
			return false, err
		}
	}
	done, err := applied(d, c)
	if err != nil {
		return false, err
	}
	if err := compatible(done, names); err != nil {
		return false, err
	}
	if len(done) < len(names) {
		if err := apply(d, c, len(done), names[len(done)]); err != nil {
			return false, err
		}
	}
	return len(done) < len(names), c.commit()
}

// applied lists the migrations that were applied: none when there is no table
// at all. Where there are tables but no migrations of ours, they are another
// program's.
func applied(d *dialect, c conn) ([]string, error) {
	tables, err := texts(c, d.tables)
	if err != nil {
		return nil, err
	}
	ours := false
	for _, name := range tables {
		ours = ours || name == "migrations"
	}
	switch {
	case len(tables) == 0:
		return nil, nil
	case !ours:
		return nil, fmt.Errorf("%w: it holds tables of another program, %s the first; a store needs an empty database or schema of its own", dhruva.ErrInvalid, tables[0])
	}
	names, err := texts(c, selectMigrations)
	if err != nil && !c.lost() {
		return nil, fmt.Errorf("%w: it was made by another program: its table of migrations is not ours: %w", dhruva.ErrInvalid, err)
	}
	if err == nil && len(names) == 0 && len(tables) > 1 { // both come in one transaction
		return nil, fmt.Errorf("%w: it is damaged: its table of migrations is empty, and there are other tables", dhruva.ErrInvalid)
	}
	return names, err
}

// made finds the tables that a migration makes.
var made = regexp.MustCompile(`(?m)^CREATE TABLE (\w+)`)

// allTables refuses a store of which a table is gone: it would be found out by one
// request after another.
func allTables(d *dialect, c conn) error {
	there, err := texts(c, d.tables)
	if err != nil {
		return err
	}
	names, err := fs.Glob(d.schema, "*.sql")
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := fs.ReadFile(d.schema, name)
		if err != nil {
			return err
		}
		for _, table := range made.FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(there, table[1]) {
				return fmt.Errorf("%w: it is damaged: its table %s is gone", dhruva.ErrInvalid, table[1])
			}
		}
	}
	return nil
}

// texts reads a column of texts.
func texts(c querier, query string, args ...any) (out []string, err error) {
	r, err := c.query(query, args...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for r.Next() {
		var name string
		if err := r.Scan(&name); err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, r.Err()
}

// compatible: what was applied must be the beginning of what we know.
func compatible(done, names []string) error {
	for n, name := range done {
		if n >= len(names) {
			return fmt.Errorf("%w: the store is newer than this program: it has migration %s, the last one known here is %s",
				dhruva.ErrInvalid, name, names[len(names)-1])
		}
		if name != names[n] {
			return fmt.Errorf("%w: the store was made by another program: it has migration %s where %s is expected",
				dhruva.ErrInvalid, name, names[n])
		}
	}
	return nil
}

func apply(d *dialect, c conn, number int, name string) error {
	text, err := fs.ReadFile(d.schema, name)
	if err != nil {
		return err
	}
	if number == 0 {
		if err := c.script(createMigrations); err != nil {
			return err
		}
	}
	if err := c.script(string(text)); err != nil {
		return fmt.Errorf("migration %s: %w", strings.TrimSuffix(name, ".sql"), err)
	}
	_, err = c.exec(insertMigration, number+1, name, time.Now().UnixMicro())
	return err
}
