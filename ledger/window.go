package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// ContextRequest asks which state a model is given in a session.
type ContextRequest struct {
	// Depth is how many checkpoints: 1 or 3; 0 is the mount's depth, or 1.
	Depth int
	// Mount is the compatible API's explicit pair; nil means the server's mount.
	Mount *Pair
	// At is the turn that the new message is to follow, 0 for a new beginning; nil
	// is the session's tip. It is what Exchange.Parent will be.
	At *int64
	// Regenerate is an answer that is to be made again: the context is what its
	// question followed, and Question is that. It is what Exchange.Regenerate will
	// be. While something is mounted, the question of an answer that is not in the
	// window belongs to what the mount set aside: ErrConflict.
	Regenerate int64
	// MaxTurns and MaxTokens (by dhruva.Estimate, with dhruva.MessageOverhead for
	// each turn) bound the turns that are given: the newest are. 0: no bound.
	MaxTurns, MaxTokens int
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
	// Window is closed: Through is the end of the conversation's path, the tip.
	// What it holds are the turns on that path that are in it, without those whose
	// text was purged. Turns are the newest of them that the request's bounds
	// admit, ascending; Cut is how many older ones they left out.
	Window dhruva.Window
	Base   int64
	Turns  []dhruva.Turn
	Cut    int
	// Question is the message whose answer is to be made again.
	Question *dhruva.Turn
	// LeftOut says in words what is not there although one may expect it.
	LeftOut string
	// Began is captured in the same snapshot, for AppendExchange.
	Began Began

	shown shown
	saved bool // the window begins at the end of a checkpoint that was saved here
}

// Holds reports whether a turn of the session is in the window, also one that
// the bounds cut.
func (c *Context) Holds(seq int64) bool { return c.shown.holds(seq) }

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
		return out.load(tx, req)
	})
	if err != nil {
		return Context{}, wrap("resolve", err)
	}
	return out, nil
}

// resolve is everything of a context but its turns.
func resolve(tx dhruva.Tx, p dhruva.Principal, s dhruva.Session, req ContextRequest) (Context, error) {
	c := Context{Session: s, Window: dhruva.Window{Session: s.ID}}
	if err := c.follow(tx, req); err != nil {
		return c, err
	}
	if req.Depth != 0 && req.Depth != 1 && req.Depth != 3 {
		return c, fmt.Errorf("%w: depth %d, want 1 or 3", dhruva.ErrInvalid, req.Depth)
	}
	mount, err := mountOf(tx, p, s, req)
	if err != nil {
		return c, err
	}
	if err := answerable(c.Question, mount); err != nil {
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
		err = fmt.Errorf("%w: checkpoint %s, which is mounted here, was deleted; unmount it to go on", dhruva.ErrNotFound, m.Checkpoint.Short())
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
	if c.Checkpoints, err = ancestors(tx, c.Session.Space, at, depth); err != nil {
		return err
	}
	if len(c.Checkpoints) == 0 && !at.IsZero() {
		c.note("checkpoint %s was deleted", at.Short())
		at = dhruva.Hash{}
	}
	c.Badge = badge(c.Mode, at)
	if c.Window.Base, err = forkBase(tx, c.Session); err != nil {
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
// was saved from this session, and never less than where a fork began. One saved by another session bounds nothing,
// because this session's turns are not in it.
func (c *Context) bound() {
	var foreign []string
	for i := len(c.Checkpoints) - 1; i >= 0; i-- {
		at := c.Checkpoints[i]
		if at.Hash == c.Session.ForkedFrom { // it and its ancestors are older than this session
			break
		}
		if at.Window.Session == c.Session.ID {
			c.Window.Base, c.saved = max(c.Window.Base, at.Window.Through), true
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

// follow finds the end of the path: what the new message is to follow.
func (c *Context) follow(tx dhruva.Tx, req ContextRequest) error {
	s := c.Session
	switch {
	case req.MaxTurns < 0 || req.MaxTokens < 0:
		return fmt.Errorf("%w: bounds of %d turns and %d tokens", dhruva.ErrInvalid, req.MaxTurns, req.MaxTokens)
	case req.At != nil && req.Regenerate != 0:
		return fmt.Errorf("%w: a message follows a turn, or an answer is made again; not both", dhruva.ErrInvalid)
	case req.Regenerate != 0:
		q, err := questionOf(tx, s, req.Regenerate)
		c.Question, c.Window.Through = &q, q.Parent
		return err
	case req.At == nil:
		c.Window.Through = tipOf(s)
		return nil
	}
	c.Window.Through = *req.At
	return followable(s, *req.At)
}

// followable refuses a turn that is not there as the parent of a new one.
func followable(s dhruva.Session, seq int64) error {
	if seq < 0 || seq > s.LastSeq {
		return noTurn(seq)
	}
	return nil
}

// questionOf is what an answer answers.
func questionOf(tx dhruva.Tx, s dhruva.Session, answer int64) (dhruva.Turn, error) {
	a, err := turnOf(tx, s.ID, answer)
	if err != nil {
		return a, err
	}
	if a.Role != dhruva.RoleAssistant || a.Parent == 0 {
		return a, fmt.Errorf("%w: turn %d is not the answer to a message", dhruva.ErrInvalid, answer)
	}
	q, err := turnOf(tx, s.ID, a.Parent)
	switch {
	case err != nil:
	case q.Role != dhruva.RoleUser:
		err = fmt.Errorf("%w: turn %d is not the answer to a message", dhruva.ErrInvalid, answer)
	case q.Redacted:
		err = fmt.Errorf("%w: the message of turn %d was purged", dhruva.ErrConflict, answer)
	}
	return q, err
}

// answerable refuses to ask a question again that a mount has set aside.
func answerable(q *dhruva.Turn, m *dhruva.Mount) error {
	if q == nil || m == nil || (dhruva.Window{Session: q.Session, Base: m.Base}).Contains(*q) {
		return nil
	}
	return fmt.Errorf("%w: turn %d came before the mount; unmount to have it answered again", dhruva.ErrConflict, q.Seq)
}

// load reads the turns of the window.
func (c *Context) load(tx dhruva.Tx, req ContextRequest) (err error) {
	if c.shown, err = shownIn(tx, c.Window); err != nil {
		return err
	}
	if c.Turns, err = c.shown.newest(tx, req.MaxTurns, req.MaxTokens); err != nil {
		return err
	}
	c.Cut = c.shown.count() - len(c.Turns)
	if c.saved && !c.shown.straight {
		apart, err := unsaved(tx, c.Window)
		if err != nil {
			return err
		}
		if apart > 0 {
			c.note("%d turns are older than the newest checkpoint and not in it: it was saved on another path of the session", apart)
		}
	}
	if c.shown.late > 0 {
		c.note("%d turns belong to requests that began before the boundary", c.shown.late)
	}
	if c.shown.purged > 0 {
		c.note("%d turns were purged", c.shown.purged)
	}
	return nil
}

// shown is what a window shows of a session's turns: those on the path to its end
// that it contains, by their numbers.
type shown struct {
	session dhruva.SessionID
	base    int64
	path    []stretch      // the newest first
	left    map[int64]bool // on the path, and not shown
	late    int            // of them: their requests began before the boundary
	purged  int
	// straight: the path comes from the base.
	straight bool
}

// shownIn finds what a window shows. Its Through of 0 is a session without turns.
func shownIn(tx dhruva.Tx, w dhruva.Window) (shown, error) {
	v := shown{session: w.Session, base: w.Base, left: map[int64]bool{}}
	if w.Through <= w.Base {
		return v, nil
	}
	seams, err := tx.Seams(w.Session, w.Base, w.Through)
	if err != nil {
		return v, err
	}
	broken := breaks(seams)
	v.path = pathOf(broken, w.Through, w.Base)
	v.straight = v.path[len(v.path)-1].from == w.Base+1 && (len(broken) == 0 || broken[0].Seq != w.Base+1)
	for _, s := range seams {
		v.leave(s)
	}
	// The turn right after the boundary may have begun before it and be no seam.
	if first := w.Base + 1; w.Base > 0 && on(v.path, first) && !v.left[first] {
		t, err := tx.Turn(w.Session, first)
		if err != nil {
			return v, err
		}
		v.leave(dhruva.Seam{Seq: t.Seq, BeganAfter: t.BeganAfter, Role: t.Role, Redacted: t.Redacted})
	}
	return v, nil
}

// unsaved counts the turns on the path to a window's end that lie before its base
// and are not on the path to the base: a checkpoint that ends there does not hold
// them, and the window neither.
func unsaved(tx dhruva.Tx, w dhruva.Window) (int, error) {
	if w.Base == 0 || w.Through == 0 || w.Through == w.Base {
		return 0, nil
	}
	seams, err := tx.Seams(w.Session, 0, max(w.Base, w.Through))
	if err != nil {
		return 0, err
	}
	broken := breaks(seams)
	ours, saved := pathOf(broken, w.Through, 0), pathOf(broken, w.Base, 0)
	n := 0
	for at := below(ours, w.Base+1); at > 0 && !on(saved, at); at = below(ours, at) {
		n++
	}
	return n, nil
}

// leave leaves a turn out that is not to be shown.
func (v *shown) leave(s dhruva.Seam) {
	switch {
	case !on(v.path, s.Seq):
		return
	case s.Role != dhruva.RoleUser && s.Role != dhruva.RoleAssistant:
	case s.BeganAfter < v.base:
		v.late++
	case s.Redacted:
		v.purged++
	default:
		return
	}
	v.left[s.Seq] = true
}

func (v *shown) holds(seq int64) bool { return on(v.path, seq) && !v.left[seq] }

func (v *shown) count() int {
	n := -len(v.left)
	for _, s := range v.path {
		n += int(s.through - s.from + 1)
	}
	return n
}

// newest reads the latest turns that are shown, as many as the bounds admit, and
// returns them ascending. It ends at the first one that the tokens do not suffice
// for, so that nothing is missing between two that are there.
func (v *shown) newest(tx dhruva.Tx, most, tokens int) ([]dhruva.Turn, error) {
	out, bounded := []dhruva.Turn(nil), tokens > 0
	for at := v.end(); at > 0 && (most == 0 || len(out) < most); {
		q := dhruva.TurnQuery{Session: v.session, After: v.base, Through: at, Newest: true, Limit: v.batch(most-len(out), most > 0, bounded)}
		rows, err := tx.ListTurns(q)
		if err != nil {
			return nil, err
		}
		at = 0
		for _, t := range rows {
			at = below(v.path, t.Seq)
			if !v.holds(t.Seq) {
				continue
			}
			tokens -= dhruva.Estimate(t.Content) + dhruva.MessageOverhead
			if bounded && tokens < 0 || most > 0 && len(out) == most {
				at = 0
				break
			}
			out = append(out, t)
		}
	}
	slices.Reverse(out)
	return out, nil
}

func (v *shown) end() int64 {
	if len(v.path) == 0 {
		return 0
	}
	return v.path[0].through
}

// batch is how many rows are read at once.
func (v *shown) batch(wanted int, counted, weighed bool) int {
	switch {
	case counted:
		return min(wanted+8, 1000)
	case weighed:
		return 64
	}
	return 1000
}

// ancestors walks first parents from a checkpoint, itself included, up to n of
// them, and returns them oldest first. The walk ends at the root, at a parent
// that is gone, hidden or of another space, and where it would turn in a circle. The
// zero hash has none.
func ancestors(tx dhruva.Tx, space dhruva.SpaceID, from dhruva.Hash, n int) ([]dhruva.Checkpoint, error) {
	var out []dhruva.Checkpoint
	seen := map[dhruva.Hash]bool{}
	for at := from; len(out) < n && !at.IsZero() && !seen[at]; {
		seen[at] = true
		c, err := tx.Checkpoint(at)
		if errors.Is(err, dhruva.ErrNotFound) || err == nil && (c.Space != space || !c.HiddenAt.IsZero()) {
			break
		}
		if err != nil {
			return nil, err
		}
		out, at = append(out, c), c.Parent()
	}
	slices.Reverse(out)
	return out, nil
}
