package dhruva

import "time"

// Cursor is how far a follower of a space's feed has come: everything up to
// Seq is in what it derived. Changes are kept until every cursor has passed.
type Cursor struct {
	Tenant TenantID
	Space  SpaceID
	// Node is the follower.
	Node NodeID
	Seq  int64
	At   time.Time
}

// CursorRows are the cursors of the scope's spaces.
type CursorRows interface {
	// PutCursor inserts or replaces.
	PutCursor(Cursor) error
	// Cursors lists all cursors of a space, by node.
	Cursors(SpaceID) ([]Cursor, error)
	// DropCursor removes a cursor. What is absent is left alone.
	DropCursor(SpaceID, NodeID) error
}

// Validate is as said in row.go.
func (c Cursor) Validate() error {
	return firstError(validKey("cursor", string(c.Tenant), string(c.Space), string(c.Node)), validTime("cursor", c.At))
}

// Canonical is as said in row.go.
func (c Cursor) Canonical() Cursor {
	c.At = Micros(c.At)
	return c
}
