package sqlstore

import (
	"context"
	"fmt"
)

// watchSQLite notices other processes by the number that SQLite changes, for one
// connection, with every commit of another. It is asked on the writer's
// connection, whose own commits do not change it.
func watchSQLite(ctx context.Context, s *Store) {
	s.poll(ctx, s.options.PollInterval, s.dataVersion)
}

// dataVersion names the connection, too: the numbers of two say nothing about
// each other.
func (s *Store) dataVersion(ctx context.Context) (string, error) {
	c, err := s.writers.take(ctx, s.closing)
	if err != nil {
		return "", err
	}
	defer s.writers.give(c)
	n, err := c.(*sqliteConn).dataVersion()
	return fmt.Sprintf("%p %d", c, n), err
}
