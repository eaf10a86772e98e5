package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// ContextRequest asks which state a model is given in a session.
type ContextRequest struct {
	// Depth is how many checkpoints: 1 or 3; 0 is the mount's depth, or 1.
	Depth int
	// Mount is the compatible API's explicit pair; nil means the server's mount.
	Mount *Pair
}

// Pair mounts a checkpoint for one request. Both or neither: a checkpoint
// without a base is taken only in a session without turns, where a base of -1
// counts as 0 too.
type Pair struct {
	Checkpoint string
	Base       *int64
}

// Context is the state a model is given.
type Context struct {
	Session dhruva.Session
	Mode    dhruva.Mode
	// Badge is the mode as people see it: "HEAD · 1a2b3c4".
	Badge string
	// Checkpoints stand oldest first.
	Checkpoints []dhruva.Checkpoint
	// Window is closed: Through is the last turn there was, and Turns are the
	// turns in it, ascending, without those whose text was purged.
	Window dhruva.Window
	Base   int64
	Turns  []dhruva.Turn
	// LeftOut says in words what is not there although one may expect it.
	LeftOut string
	// Began is captured in the same snapshot, for AppendExchange.
	Began Began
}

// Resolve chooses the state for a session: an explicit pair, else the session's
// mount, else its fork, else the head of its branch; a FRESH session has only
// its own turns. It is the one such function: chat, preview, draft and Commit
// use it. A wrong pair is an error, never another mode. Needs state:read.
func (l *Ledger) Resolve(ctx context.Context, id dhruva.SessionID, req ContextRequest) (out Context, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return out, wrap("resolve", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		b, err := begin(tx, p, id)
		if err != nil {
			return err
		}
		if out, err = resolve(tx, p, b.Session, req); err != nil {
			return err
		}
		out.Began = b
		return out.load(tx)
	})
	if err != nil {
		return Context{}, wrap("resolve", err)
	}
	return out, nil
}

// resolve is everything of a context but its turns.
func resolve(tx dhruva.Tx, p dhruva.Principal, s dhruva.Session, req ContextRequest) (Context, error) {
	c := Context{Session: s, Window: dhruva.Window{Session: s.ID, Through: s.LastSeq}}
	if req.Depth != 0 && req.Depth != 1 && req.Depth != 3 {
		return c, fmt.Errorf("%w: depth %d, want 1 or 3", dhruva.ErrInvalid, req.Depth)
	}
	mount, err := mountOf(tx, p, s, req)
	if err != nil {
		return c, err
	}
	depth := req.Depth
	if depth == 0 && mount != nil {
		depth = mount.Depth
	}
	depth = max(depth, 1)
	switch {
	case s.Fresh:
		c.Mode, c.Badge = dhruva.ModeFresh, string(dhruva.ModeFresh)
	case mount != nil:
		err = c.mounted(tx, *mount, depth)
	default:
		err = c.head(tx, depth)
	}
	c.Base = c.Window.Base
	return c, err
}

// mountOf is the mount that holds for a request, nil when there is none.
func mountOf(tx dhruva.Tx, p dhruva.Principal, s dhruva.Session, req ContextRequest) (*dhruva.Mount, error) {
	if req.Mount == nil || req.Mount.Checkpoint == "" && req.Mount.Base == nil {
		return s.Mount, nil
	}
	if s.Fresh {
		return nil, fmt.Errorf("%w: a FRESH session has no space to mount from; attach it first", dhruva.ErrInvalid)
	}
	if req.Mount.Checkpoint == "" {
		return nil, fmt.Errorf("%w: a history base without a checkpoint", dhruva.ErrInvalid)
	}
	base, err := pairBase(s, req.Mount.Base)
	if err != nil {
		return nil, err
	}
	c, err := checkpointIn(tx, p, s.Space, req.Mount.Checkpoint)
	if err != nil {
		return nil, err
	}
	return &dhruva.Mount{Checkpoint: c.Hash, Depth: 1, Base: base}, nil
}

func pairBase(s dhruva.Session, base *int64) (int64, error) {
	if s.LastSeq == 0 && (base == nil || *base == -1) {
		return 0, nil
	}
	if base == nil {
		return 0, fmt.Errorf("%w: a mounted checkpoint needs its history base", dhruva.ErrInvalid)
	}
	if *base < 0 || *base > s.LastSeq {
		return 0, fmt.Errorf("%w: history base %d is not within 0 and %d", dhruva.ErrInvalid, *base, s.LastSeq)
	}
	return *base, nil
}

// mounted: the checkpoint, its nearest ancestors, and turns after the boundary.
func (c *Context) mounted(tx dhruva.Tx, m dhruva.Mount, depth int) (err error) {
	c.Mode, c.Window.Base = dhruva.ModeMounted, m.Base
	c.Badge = badge(c.Mode, m.Checkpoint)
	c.Checkpoints, err = ancestors(tx, c.Session.Space, m.Checkpoint, depth)
	if len(c.Checkpoints) == 0 && err == nil {
		err = missing("checkpoint", m.Checkpoint.String())
	}
	return err
}

// head: the head of the session's branch; a fork that has none of its own yet
// follows its source, and stays a fork when the source is gone.
func (c *Context) head(tx dhruva.Tx, depth int) error {
	c.Mode = dhruva.ModeHead
	if !c.Session.ForkedFrom.IsZero() || c.Session.ForkedSession != "" {
		c.Mode = dhruva.ModeForked
	}
	at, err := headOf(tx, c.Session)
	if err != nil {
		return err
	}
	c.Badge = badge(c.Mode, at)
	if c.Checkpoints, err = ancestors(tx, c.Session.Space, at, depth); err != nil {
		return err
	}
	c.bound()
	return nil
}

// headOf is the head of a session's branch, else the source of its fork.
func headOf(tx dhruva.Tx, s dhruva.Session) (dhruva.Hash, error) {
	b, err := tx.Branch(s.Space, s.Branch)
	if errors.Is(err, dhruva.ErrNotFound) {
		return s.ForkedFrom, nil
	}
	return b.Head, err
}

// bound sets the window's base: the end of the newest of the checkpoints that
// was saved from this session. One saved by another session bounds nothing,
// because this session's turns are not in it.
func (c *Context) bound() {
	var foreign []string
	for i := len(c.Checkpoints) - 1; i >= 0; i-- {
		at := c.Checkpoints[i]
		if at.Hash == c.Session.ForkedFrom { // it and its ancestors are older than this session
			break
		}
		if at.Window.Session == c.Session.ID {
			c.Window.Base = at.Window.Through
			break
		}
		foreign = append(foreign, at.Hash.Short())
	}
	if len(foreign) > 0 && c.Session.LastSeq > c.Window.Base {
		c.note("checkpoint %s was saved by another session and does not bound this one's turns", strings.Join(foreign, ", "))
	}
}

func badge(m dhruva.Mode, h dhruva.Hash) string { return string(m) + " · " + h.Short() }

// Badge is the mode of a context that was used, as people see it.
func Badge(c dhruva.ContextUsed) string {
	if c.Mode == dhruva.ModeFresh {
		return string(c.Mode)
	}
	if len(c.Checkpoints) == 0 {
		return badge(c.Mode, dhruva.Hash{})
	}
	return badge(c.Mode, c.Checkpoints[len(c.Checkpoints)-1]) // they stand oldest first
}

func (c *Context) note(format string, args ...any) {
	if c.LeftOut != "" {
		c.LeftOut += "; "
	}
	c.LeftOut += fmt.Sprintf(format, args...)
}

// load reads the turns of the window.
func (c *Context) load(tx dhruva.Tx) error {
	rows, err := tx.ListTurns(dhruva.TurnQuery{Session: c.Session.ID, After: c.Window.Base, Through: c.Window.Through})
	if err != nil || c.Window.Through == 0 { // a Through of 0 would mean no bound
		return err
	}
	late, purged := 0, 0
	for _, t := range rows {
		switch {
		case t.Role != dhruva.RoleUser && t.Role != dhruva.RoleAssistant:
		case !c.Window.Contains(t):
			late++
		case t.Redacted:
			purged++
		default:
			c.Turns = append(c.Turns, t)
		}
	}
	if late > 0 {
		c.note("%d turns belong to requests that began before the boundary", late)
	}
	if purged > 0 {
		c.note("%d turns were purged", purged)
	}
	return nil
}

// ancestors walks first parents from a checkpoint, itself included, up to n of
// them, and returns them oldest first. The walk ends at the root, at a parent
// that is gone or of another space, and where it would turn in a circle. The
// zero hash has none.
func ancestors(tx dhruva.Tx, space dhruva.SpaceID, from dhruva.Hash, n int) ([]dhruva.Checkpoint, error) {
	var out []dhruva.Checkpoint
	seen := map[dhruva.Hash]bool{}
	for at := from; len(out) < n && !at.IsZero() && !seen[at]; {
		seen[at] = true
		c, err := tx.Checkpoint(at)
		if errors.Is(err, dhruva.ErrNotFound) || err == nil && c.Space != space {
			break
		}
		if err != nil {
			return nil, err
		}
		out, at = append(out, c), c.Parent()
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out, nil
}
