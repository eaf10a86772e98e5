package sqlstore

import (
	"context"
	"fmt"
)

// Damaged reports whether an error says that a store's or a backup's file is not
// what it must be, and not that it cannot be had at the moment.
func Damaged(err error) bool { return broken(err) }

const pgExempt = "SELECT rolname::text FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolbypassrls)"

// Exempt names the role that a store's URL uses when row-level security does not
// hold for it: a superuser, or one with BYPASSRLS. What keeps the rows of tenants
// apart in the database is then off, and only the statements do. It is "" for any
// other role, and for a file.
func Exempt(ctx context.Context, at string) (role string, err error) {
	if !isPostgres(at) {
		return "", nil
	}
	p, err := parsePostgres(at)
	if err != nil {
		return "", fmt.Errorf("sqlstore: exempt: %w", err)
	}
	p.timeout = defaultTimeout
	c, err := p.dial(ctx)
	if err != nil {
		return "", fmt.Errorf("sqlstore: exempt: %w", err)
	}
	defer c.close()
	found, err := texts(c, pgExempt)
	if err != nil {
		return "", fmt.Errorf("sqlstore: exempt: %w", err)
	}
	if len(found) == 0 {
		return "", nil
	}
	return found[0], nil
}
