package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// object is a table or an index as the database keeps it.
type object struct{ kind, name, sql string }

// objects are those of the main database that migrations make, tables first.
func objects(c querier) ([]object, error) {
	r, err := c.query(`SELECT type, name, sql FROM main.sqlite_schema
		WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\'
			AND NOT (type = 'table' AND name IN ('migrations', 'backup_manifest')) ORDER BY type DESC, name`)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out []object
	for r.Next() {
		var o object
		var text sql.NullString
		if err := r.Scan(&o.kind, &o.name, &text); err != nil {
			return nil, err
		}
		o.sql = text.String
		out = append(out, o)
	}
	return out, r.Err()
}

// in is the statement that makes the object in an attached database. SQLite
// keeps statements with their first words in one form.
func (o object) in(database string) (string, error) {
	for _, begin := range []string{"CREATE TABLE ", "CREATE UNIQUE INDEX ", "CREATE INDEX "} {
		if rest, ok := strings.CutPrefix(o.sql, begin); ok {
			return begin + database + "." + rest, nil
		}
	}
	return "", fmt.Errorf("%w: %s %s is made by no statement of ours", dhruva.ErrInvalid, o.kind, o.name)
}

// recognized answers the migrations of a file that a program of ours made, of
// this version or an older one: its tables and indexes are, word by word, those
// that the migrations make. So a file of somebody else's brings nothing along
// that would act.
func recognized(ctx context.Context, c reading) ([]string, error) {
	have, err := objects(c)
	if err != nil {
		return nil, err
	}
	columns, err := texts(c, "SELECT name FROM pragma_table_info('migrations', 'main')")
	if err != nil {
		return nil, err
	}
	if !slices.Equal(columns, []string{"number", "name", "applied_at"}) {
		return nil, fmt.Errorf("%w: it is a SQLite database of another program", dhruva.ErrInvalid)
	}
	done, err := texts(c, selectMigrations)
	if err != nil {
		return nil, err
	}
	schema, names, err := sqliteMigrations()
	if err != nil {
		return nil, err
	}
	if err := compatible(done, names); err != nil {
		return nil, err
	}
	if len(done) == 0 {
		return nil, fmt.Errorf("%w: no migration was applied to it", dhruva.ErrInvalid)
	}
	want, ok := c.report.made[len(done)]
	if !ok {
		if want, err = expected(ctx, schema, done); err != nil {
			return nil, err
		}
		c.report.made[len(done)] = want
	}
	if !slices.Equal(have, want) {
		return nil, fmt.Errorf("%w: its tables and indexes are not those of migration %s", dhruva.ErrInvalid, done[len(done)-1])
	}
	return done, nil
}

// sqliteMigrations are the migrations of this program and their names, sorted.
func sqliteMigrations() (fs.FS, []string, error) {
	schema, err := fs.Sub(migrations, "migrations/sqlite")
	if err != nil {
		return nil, nil, err
	}
	names, err := fs.Glob(schema, "*.sql")
	return schema, names, err
}

// expected are the objects that migrations make.
func expected(ctx context.Context, schema fs.FS, names []string) ([]object, error) {
	db, err := sql.Open("sqlite", memory)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for _, name := range names {
		text, err := fs.ReadFile(schema, name)
		if err != nil {
			return nil, err
		}
		if _, err := c.ExecContext(ctx, string(text)); err != nil {
			return nil, fmt.Errorf("migration %s: %w", name, err)
		}
	}
	return objects(sqlQuerier{ctx, c})
}
