package main

import (
	"context"
	"fmt"
	"os"

	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// lowRoom is how much should be free where the store is: the log beside it takes
// up to 64 MiB, a backup as much as the store.
const lowRoom = 256 << 20

// probeSize is how much is written to see that it can be: a quota is seen by
// nothing else.
const probeSize = 64 << 10

// roomCheck says how much is free on the file system of a data directory, and
// whether a write finds room.
func roomCheck(dir string) finding {
	const check = "room"
	free, known := freeBytes(dir)
	detail := "how much is free cannot be asked here; a write found room"
	if known {
		detail = size(free) + " free on the file system of " + dir
	}
	err := probe(dir)
	switch {
	case noRoom(err):
		return finding{check, "problem", "the file system of " + dir + " is full: nothing can be written", "free space there (" + detail + "), then see `dhruva doctor` again"}
	case err != nil:
		return finding{check, "problem", "nothing can be written in " + dir + ": " + err.Error(), accessFix(dir)}
	case known && free < lowRoom:
		return finding{check, "warning", detail, fmt.Sprintf("free space there: below %s writes will soon be refused", size(lowRoom))}
	}
	return finding{check, "ok", detail, ""}
}

// probe writes a small file, and removes it.
func probe(dir string) error {
	f, err := os.CreateTemp(dir, ".dhruva-doctor-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(make([]byte, probeSize))
	return firstError(err, f.Sync(), f.Close())
}

// exemptWords say what is wrong with a role that row-level security does not hold
// for.
func exemptWords(role string) string {
	return "the role " + role + " is a superuser or has BYPASSRLS: row-level security, which keeps tenants apart in the database, is off for it"
}

// exemptFix is what to do about it.
const exemptFix = "use a role of its own, NOSUPERUSER NOBYPASSRLS, that owns the schema; docs/operate.md says how"

// warnExempt tells of such a role. A database that cannot be asked is for others to
// tell.
func warnExempt(ctx context.Context, at string, warn func(string)) {
	if role, err := sqlstore.Exempt(ctx, at); err == nil && role != "" {
		warn(exemptWords(role))
	}
}
