package dhruva

import "time"

// Outline is a checkpoint without what it says, but for its title: what a graph
// of a lineage needs.
type Outline struct {
	Space     SpaceID
	ID        CheckpointID
	Hash      Hash
	Parents   []Hash
	Branch    string
	CreatedAt time.Time
	Author    string
	Window    Window
	HiddenAt  time.Time
	// Title is that of the first title item, "" when there is none.
	Title string
}

// Parent is the first parent, zero at the root.
func (o Outline) Parent() Hash {
	if len(o.Parents) == 0 {
		return Hash{}
	}
	return o.Parents[0]
}

// Outline is what it is of the checkpoint.
func (c *Checkpoint) Outline() Outline {
	return Outline{Space: c.Space, ID: c.ID, Hash: c.Hash, Parents: list(c.Parents), Branch: c.Branch, CreatedAt: c.CreatedAt,
		Author: c.Author, Window: c.Window, HiddenAt: c.HiddenAt, Title: c.Text(KindTitle)}
}

// OutlineQuery selects the checkpoints of a space, hidden ones too, newest
// (CreatedAt, then Hash) first.
type OutlineQuery struct {
	Space  SpaceID
	Branch string // "" means any
	Page          // After is a hash in hexadecimal
}

// LineageRows are the checkpoints of the scope's spaces without their texts.
type LineageRows interface {
	ListOutlines(OutlineQuery) ([]Outline, error)
	// Ancestry walks first parents: the checkpoint itself, its parent, and so on,
	// at most limit of them (none when that is not positive), hidden ones too. The
	// walk ends at a root, and at a parent that is absent or of another space than
	// the first. (One in a circle, which hashes exclude, goes on to the limit.)
	// A checkpoint that is absent has none.
	Ancestry(from Hash, limit int) ([]Outline, error)
}
