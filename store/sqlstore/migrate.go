package sqlstore

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
)

const (
	createMigrations = `CREATE TABLE IF NOT EXISTS migrations (
  number     INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  applied_at INTEGER NOT NULL
)`
	selectMigrations = "SELECT name FROM migrations ORDER BY number"
	insertMigration  = "INSERT INTO migrations (number, name, applied_at) VALUES ($1, $2, $3)"
)

// migrate brings the schema up to the program's, each migration in a
// transaction of its own. Another process may be doing the same.
func migrate(ctx context.Context, c *conn) error {
	names, err := fs.Glob(c.d.schema, "*.sql") // sorted
	if err != nil {
		return err
	}
	for {
		more, err := migrateOne(ctx, c, names)
		if err != nil || !more {
			return err
		}
	}
}

// migrateOne applies the next migration, if there is one.
func migrateOne(ctx context.Context, c *conn, names []string) (more bool, err error) {
	if done, err := applied(ctx, c); err == nil && len(done) == len(names) { // the usual case takes no lock
		return false, compatible(done, names)
	}
	if _, err := c.sql.ExecContext(ctx, c.d.begin); err != nil {
		return false, c.d.classify(err)
	}
	defer func() {
		if err != nil {
			c.sql.ExecContext(context.Background(), "ROLLBACK")
		}
	}()
	if _, err := c.sql.ExecContext(ctx, createMigrations); err != nil {
		return false, c.d.classify(err)
	}
	done, err := applied(ctx, c)
	if err != nil {
		return false, c.d.classify(err)
	}
	if err := compatible(done, names); err != nil {
		return false, err
	}
	if len(done) < len(names) {
		if err := apply(ctx, c, len(done), names[len(done)]); err != nil {
			return false, err
		}
	}
	_, err = c.sql.ExecContext(ctx, "COMMIT")
	return len(done) < len(names), c.d.classify(err)
}

func applied(ctx context.Context, c *conn) ([]string, error) {
	rows, err := c.sql.QueryContext(ctx, selectMigrations)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
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

func apply(ctx context.Context, c *conn, number int, name string) error {
	text, err := fs.ReadFile(c.d.schema, name)
	if err != nil {
		return err
	}
	if _, err := c.sql.ExecContext(ctx, string(text)); err != nil {
		return fmt.Errorf("migration %s: %w", strings.TrimSuffix(name, ".sql"), c.d.classify(err))
	}
	_, err = c.sql.ExecContext(ctx, insertMigration, number+1, name, time.Now().UnixMicro())
	return c.d.classify(err)
}
