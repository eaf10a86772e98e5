package sqlstore

import (
	"errors"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Full reports whether the last update that had something to write failed because
// there was no room for it. The next one that is written ends that.
func (s *Store) Full() bool { return s.noRoom.Load() }

// noted keeps whether there is room. An update that wrote nothing says nothing
// about it.
func (s *Store) noted(u *update, err error) error {
	switch {
	case err == nil && u.wrote: // its lane has answered
		s.noRoom.Store(false)
	case withoutRoom(err):
		s.noRoom.Store(true)
	}
	return err
}

// pgDiskFull is the SQLSTATE of a server without room.
const pgDiskFull = "53100"

// withoutRoom: a disk is full, or a quota, here or where the server is.
func withoutRoom(err error) bool {
	var pg *pgError
	if errors.As(err, &pg) {
		return pg.code == pgDiskFull
	}
	var lite *sqlite.Error
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.As(err, &lite) && lite.Code()&0xff == sqlite3.SQLITE_FULL
}
