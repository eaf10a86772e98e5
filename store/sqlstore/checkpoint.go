package sqlstore

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
)

const (
	checkpointColumns = `tenant, space, hash, id, parents, branch, created_at, author, window_session, window_base,
		window_through, generation, hidden_at`
	selectCheckpoints    = "SELECT " + checkpointColumns + " FROM checkpoints WHERE tenant = $1"
	selectCheckpoint     = selectCheckpoints + " AND hash = $2"
	checkpointSpace      = "SELECT space FROM checkpoints WHERE tenant = $1 AND hash = $2"
	selectCheckpointByID = selectCheckpoints + " AND id = $2"
	checkpointsPrefixed  = " AND hash >= $3 AND hash <= $4 ORDER BY hash LIMIT $5"
	prefixedInSpace      = selectCheckpoints + " AND space = $2" + checkpointsPrefixed
	prefixedInAll        = selectCheckpoints + " AND CAST($2 AS TEXT) = ''" + checkpointsPrefixed
	shownOfBranch        = "hidden_at IS NULL AND (CAST($3 AS TEXT) = '' OR branch = $3) AND (CAST($4 AS TEXT) = '' OR window_session = $4)"
	recentCheckpoints    = " AND " + shownOfBranch + " AND (created_at, hash) < ($5, $6) ORDER BY created_at DESC, hash DESC LIMIT $7"
	recentInSpace        = selectCheckpoints + " AND space = $2" + recentCheckpoints
	recentInAll          = selectCheckpoints + " AND CAST($2 AS TEXT) = ''" + recentCheckpoints
	// An item is in those that carried it on. The sign keeps an index away that
	// gives their order, and all the others; the join is an outer one, since its
	// order is kept.
	recentOfItem = "SELECT " + checkpointColumns + ` FROM (SELECT DISTINCT checkpoint FROM checkpoint_items WHERE tenant = $1 AND id = $2) AS i
		LEFT JOIN checkpoints AS c ON c.tenant = $1 AND c.hash = i.checkpoint WHERE ` + shownOfBranch + ` AND (+created_at, hash) < ($5, $6)
		AND (CAST($7 AS TEXT) = '' OR space = $7) ORDER BY +created_at DESC, hash DESC LIMIT $8`
	checkpointSpot   = "SELECT space, created_at FROM checkpoints WHERE tenant = $1 AND hash = $2"
	insertCheckpoint = "INSERT INTO checkpoints (" + checkpointColumns + `, parent, title)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT DO NOTHING`
	hideCheckpoint = "UPDATE checkpoints SET hidden_at = $1 WHERE tenant = $2 AND space = $3 AND hash = $4 AND hidden_at IS NULL"

	branchColumns  = "space, name, head, disposition, updated_at"
	selectBranches = "SELECT " + branchColumns + " FROM branches WHERE tenant = $1 AND space = $2"
	selectBranch   = selectBranches + " AND name = $3"
	listBranches   = selectBranches + " ORDER BY name"
	insertBranch   = "INSERT INTO branches (tenant, " + branchColumns + ") VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING"
	deleteBranch   = "DELETE FROM branches WHERE tenant = $1 AND space = $2 AND name = $3 AND head = $4"
	// One ON CONFLICT ... WHERE for both would insert when it expects a head and
	// there is no row.
	updateBranch = "UPDATE branches SET head = $1, disposition = $2, updated_at = $3 WHERE tenant = $4 AND space = $5 AND name = $6 AND head = $7"
)

func scanCheckpoint(r scanner) (row dhruva.Checkpoint, err error) {
	return row, r.Scan(&row.Tenant, &row.Space, hash{&row.Hash}, &row.ID, hashes{&row.Parents}, &row.Branch,
		micros{&row.CreatedAt}, &row.Author, &row.Window.Session, &row.Window.Base, &row.Window.Through, &row.Generation, micros{&row.HiddenAt})
}

func (t *tx) checkpoint(query string, key any) (dhruva.Checkpoint, error) {
	rows, err := t.withItems(collect(t, "checkpoint", scanCheckpoint, query, string(t.reach.Tenant), key))
	if err != nil {
		return dhruva.Checkpoint{}, err
	}
	if len(rows) == 0 {
		return absent[dhruva.Checkpoint]("checkpoint")
	}
	return rows[0], nil
}

func (t *tx) Checkpoint(h dhruva.Hash) (dhruva.Checkpoint, error) {
	return t.checkpoint(selectCheckpoint, digest(h))
}

func (t *tx) CheckpointByID(id dhruva.CheckpointID) (dhruva.Checkpoint, error) {
	return t.checkpoint(selectCheckpointByID, string(id))
}

func byHash(a, b dhruva.Checkpoint) int { return bytes.Compare(a.Hash[:], b.Hash[:]) }

// prefixRange is the lowest and the highest hash that begin with a prefix.
func prefixRange(prefix string) (low, high []byte, ok bool) {
	const digits = 2 * len(dhruva.Hash{})
	if len(prefix) > digits || strings.Trim(prefix, "0123456789abcdef") != "" {
		return nil, nil, false
	}
	low, _ = hex.DecodeString(prefix + strings.Repeat("0", digits-len(prefix)))
	high, _ = hex.DecodeString(prefix + strings.Repeat("f", digits-len(prefix)))
	return low, high, true
}

func (t *tx) CheckpointsByPrefix(prefix string, limit int) ([]dhruva.Checkpoint, error) {
	low, high, ok := prefixRange(prefix)
	if !ok || limit <= 0 {
		return nil, nil
	}
	return t.withItems(gather(t, "", limit, byHash, func(s dhruva.SpaceID) ([]dhruva.Checkpoint, error) {
		query := prefixedInSpace
		if s == "" {
			query = prefixedInAll
		}
		return collect(t, "checkpoints", scanCheckpoint, query, string(t.reach.Tenant), string(s), low, high, limit)
	}))
}

// PutCheckpoint: hash and id are each unique within the tenant.
func (t *tx) PutCheckpoint(row dhruva.Checkpoint) error {
	if err := row.Validate(); err != nil {
		return invalid("checkpoint", err)
	}
	if err := t.allow("checkpoint", t.reach.Covers(row.Tenant, row.Space), 1+len(row.Items)); err != nil {
		return err
	}
	row = row.Canonical()
	n, err := t.exec("put checkpoint", insertCheckpoint, string(row.Tenant), string(row.Space), digest(row.Hash), string(row.ID),
		asJSON(row.Parents), row.Branch, row.CreatedAt.UnixMicro(), row.Author, string(row.Window.Session),
		row.Window.Base, row.Window.Through, row.Generation, optional(row.HiddenAt), digest(row.Parent()), row.Text(dhruva.KindTitle))
	if err != nil {
		return err
	}
	if n == 0 {
		return conflict("checkpoint")
	}
	return t.putItems(row)
}

// newestCheckpoint orders by descending (CreatedAt, Hash).
func newestCheckpoint(a, b dhruva.Checkpoint) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), byHash(b, a))
}

func (t *tx) ListCheckpoints(q dhruva.CheckpointQuery) ([]dhruva.Checkpoint, error) {
	before, h, ok, err := t.beforeHash(checkpointSpot, q.After)
	if !ok {
		return nil, err
	}
	return t.withItems(gather(t, q.Space, q.Size(), newestCheckpoint, func(s dhruva.SpaceID) ([]dhruva.Checkpoint, error) {
		query, args := recentInSpace, []any{string(t.reach.Tenant), string(s), q.Branch, string(q.Session), before, digest(h)}
		switch {
		case q.Item != "":
			query, args[1] = recentOfItem, string(q.Item)
			args = append(args, string(s))
		case s == "":
			query = recentInAll
		}
		return collect(t, "checkpoints", scanCheckpoint, query, append(args, q.Size())...)
	}))
}

// HideCheckpoint leaves one that is hidden as it is.
func (t *tx) HideCheckpoint(h dhruva.Hash, at time.Time) error {
	if err := dhruva.ValidTime("checkpoint", at); err != nil {
		return invalid("checkpoint", err)
	}
	if err := t.allow("checkpoint", t.reach.Tenant != "", 0); err != nil {
		return err
	}
	space, err := one(t, "checkpoint", scanSpaceID, checkpointSpace, string(t.reach.Tenant), digest(h))
	if err != nil {
		return err
	}
	if err := t.allow("checkpoint", t.reach.Holds(space), 1); err != nil {
		return err
	}
	return t.send("hide checkpoint", hideCheckpoint, at.UnixMicro(), string(t.reach.Tenant), string(space), digest(h))
}

func scanBranch(r scanner) (row dhruva.Branch, err error) {
	return row, r.Scan(&row.Space, &row.Name, hash{&row.Head}, &row.Disposition, micros{&row.UpdatedAt})
}

func (t *tx) Branch(s dhruva.SpaceID, name string) (dhruva.Branch, error) {
	if !t.reach.Holds(s) {
		return absent[dhruva.Branch]("branch")
	}
	return one(t, "branch", scanBranch, selectBranch, string(t.reach.Tenant), string(s), name)
}

func (t *tx) ListBranches(s dhruva.SpaceID) ([]dhruva.Branch, error) {
	if !t.reach.Holds(s) {
		return nil, nil
	}
	return collect(t, "branches", scanBranch, listBranches, string(t.reach.Tenant), string(s))
}

func (t *tx) SwapBranch(row dhruva.Branch, old dhruva.Hash) error {
	if err := row.Validate(); err != nil {
		return invalid("branch", err)
	}
	if err := t.allow("branch", t.reach.Holds(row.Space), 1); err != nil {
		return err
	}
	n, err := t.swap(row, old)
	if err == nil && n == 0 {
		return conflict("branch")
	}
	return err
}

func (t *tx) swap(row dhruva.Branch, old dhruva.Hash) (int64, error) {
	tenant, space, head, at := string(t.reach.Tenant), string(row.Space), digest(row.Head), row.UpdatedAt.UnixMicro()
	if old.IsZero() {
		return t.exec("put branch", insertBranch, tenant, space, row.Name, head, row.Disposition, at)
	}
	return t.exec("put branch", updateBranch, head, row.Disposition, at, tenant, space, row.Name, digest(old))
}

func (t *tx) DropBranch(s dhruva.SpaceID, name string, old dhruva.Hash) error {
	if err := t.allow("branch", t.reach.Holds(s), 1); err != nil {
		return err
	}
	n, err := t.exec("drop branch", deleteBranch, string(t.reach.Tenant), string(s), name, digest(old))
	if err == nil && n == 0 {
		return conflict("branch")
	}
	return err
}
