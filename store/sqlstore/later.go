package sqlstore

import (
	"time"

	"github.com/dhruva-memory/dhruva"
)

// later are the roles that are still to be written here.
type later interface {
	dhruva.LineageRows
	dhruva.HeadMoveRows
	dhruva.NoteRows
	dhruva.ClaimRows
	dhruva.WorktreeRows
	dhruva.DocumentRows
	laterMethods
}

type laterMethods interface {
	Seams(s dhruva.SessionID, after, through int64) ([]dhruva.Seam, error)
	HideCheckpoint(dhruva.Hash, time.Time) error
	DropBranch(dhruva.SpaceID, string, dhruva.Hash) error
}
