package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// CommitInput is a checkpoint to be saved.
type CommitInput struct {
	// Session is whose window it was drawn from; "" means none.
	Session dhruva.SessionID
	// Space may be "" when there is a session; else they must agree.
	Space dhruva.SpaceID
	// Branch "" is the session's branch, else main.
	Branch string
	// Parents, when given, must be checkpoints of the space, and the first must
	// be the head of the branch, if the branch exists.
	Parents []string

	Title, Objective, Summary                                         string
	Decisions, Assumptions, Tasks, OpenQuestions, Entities, Artifacts []ItemInput

	// Author "" is the principal's name.
	Author string
	// NewBranch: the branch must not exist yet.
	NewBranch bool
	// Redactions, when given, is set to how many secrets were replaced.
	Redactions *int
	// ByModel: a model saves this on its own, through a tool. Its texts are then
	// of the class of what an assistant says.
	ByModel bool

	date string // names a new branch
}

// Commit saves a checkpoint and moves its branch's head to it, in one Update.
//
// Its window is the session's chat window. Its parent is, in this order: what
// the caller says; the mounted checkpoint; the head of the branch, which on a
// fork begins as the fork's source. A session that has mounted something else
// than its branch's head saves to a new branch: the one named, else
// mounted-<hash7>. A head that is not the stated parent is ErrConflict.
//
// Objective, summary and items become sources: user_committed when a principal
// with memory:attest saves and not a model on its own, else assistant_visible.
// Needs state:write; without memory:write no sources are made.
func (l *Ledger) Commit(ctx context.Context, in CommitInput) (dhruva.Checkpoint, error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return dhruva.Checkpoint{}, wrap("commit", err)
	}
	c, err := l.commit(ctx, p, in)
	return c, wrap("commit", err)
}

func (l *Ledger) commit(ctx context.Context, p dhruva.Principal, in CommitInput) (out dhruva.Checkpoint, err error) {
	d, err := l.draftCheckpoint(ctx, p, &in)
	if err != nil {
		return out, err
	}
	err = l.update(ctx, p, d.Space, func(tx dhruva.Tx) error {
		out, err = l.save(tx, p, in, d)
		return err
	})
	if err != nil {
		return dhruva.Checkpoint{}, err
	}
	if in.Redactions != nil {
		*in.Redactions = d.secrets
	}
	return out, nil
}

// draft is what of a checkpoint is made before the Update.
type draft struct {
	dhruva.Checkpoint
	fresh   []dhruva.ItemID
	secrets int // that were replaced
}

func (l *Ledger) draftCheckpoint(ctx context.Context, p dhruva.Principal, in *CommitInput) (d draft, err error) {
	if in.Title, err = label("title", in.Title, maxTitle, false); err != nil {
		return d, err
	}
	if in.Author, err = oneLine("author", l.hide(in.Author), true); err != nil {
		return d, err
	}
	if in.Author == "" {
		in.Author = firstText(p.Name, string(p.ID))
	}
	if in.Branch, err = l.plainBranch(in.Branch); err != nil {
		return d, err
	}
	items, err := in.drafted(l.limits())
	if err != nil {
		return d, err
	}
	secrets, err := l.redactItems(items)
	if err != nil {
		return d, err
	}
	space, err := l.spaceOf(ctx, p, in)
	if err != nil {
		return d, err
	}
	d.Checkpoint = dhruva.Checkpoint{
		Tenant: p.Tenant, Space: space, ID: dhruva.CheckpointID(dhruva.NewID()), CreatedAt: l.now(), Author: in.Author, Items: items,
	}
	d.secrets = secrets
	in.date = d.CreatedAt.Format(time.DateOnly)
	for range items {
		d.fresh = append(d.fresh, dhruva.ItemID(dhruva.NewID()))
	}
	return d, nil
}

// spaceOf is where a checkpoint goes.
func (l *Ledger) spaceOf(ctx context.Context, p dhruva.Principal, in *CommitInput) (dhruva.SpaceID, error) {
	if in.Session == "" {
		if in.Space == "" {
			return "", fmt.Errorf("%w: neither a session nor a space", dhruva.ErrInvalid)
		}
		return in.Space, nil
	}
	s, err := l.locate(ctx, p, in.Session)
	switch {
	case err != nil:
		return "", err
	case s.Fresh && in.Space == "":
		return "", fmt.Errorf("%w: a FRESH session has no space; attach it first", dhruva.ErrInvalid)
	case in.Space != "" && in.Space != s.Space:
		return "", missing("session", string(in.Session))
	}
	return s.Space, nil
}

// save runs inside the Update.
func (l *Ledger) save(tx dhruva.Tx, p dhruva.Principal, in CommitInput, d draft) (dhruva.Checkpoint, error) {
	c := d.Canonical() // fn may run again
	redacted(tx, d.secrets)
	if err := notHome(tx, p, c.Space); err != nil {
		return c, err
	}
	e, err := tx.Epoch(c.Space)
	if err != nil {
		return c, err
	}
	c.Generation = e.Generation
	at, err := place(tx, p, in, c.Space)
	if err != nil {
		return c, err
	}
	c.Parents, c.Branch, c.Window = at.parents, at.branch, at.window
	if err := cited(c.Items, c.Window); err != nil {
		return c, err
	}
	inherit(c.Items, at.parent, d.fresh)
	for i := range c.Items {
		c.Items[i].Digest = dhruva.DigestItem(c.Items[i])
	}
	c.Hash = dhruva.HashCheckpoint(&c)
	if err := l.putOnBranch(tx, p, c, at, MovedByCommit); err != nil {
		return c, err
	}
	return c, l.commitSources(tx, p, in, &c)
}

// putOnBranch stores a checkpoint and moves its branch to it.
func (l *Ledger) putOnBranch(tx dhruva.Tx, p dhruva.Principal, c dhruva.Checkpoint, at placed, act string) error {
	if err := tx.PutCheckpoint(c); err != nil {
		return err
	}
	if _, err := moveHead(tx, headMoving{p.Tenant, p.ID, act, 0, c.CreatedAt}, at.moved(c), at.head); err != nil {
		return err
	}
	_, err := tx.AppendChange(c.Space, dhruva.Change{Kind: dhruva.ChangeCheckpoint, Ref: c.Hash.String(), At: c.CreatedAt})
	return err
}

// commitSources makes the sources of a checkpoint: all items but the title.
func (l *Ledger) commitSources(tx dhruva.Tx, p dhruva.Principal, in CommitInput, c *dhruva.Checkpoint) error {
	if !p.May(dhruva.MemoryWrite) {
		return nil
	}
	role, class := dhruva.RoleUser, dhruva.ClassUserCommitted
	if in.ByModel || !p.May(dhruva.MemoryAttest) {
		role, class = dhruva.RoleAssistant, dhruva.ClassAssistantVisible
	}
	for _, i := range c.Items {
		if i.Kind == dhruva.KindTitle {
			continue
		}
		_, _, err := l.capture(tx, p, said{
			space: c.Space, generation: c.Generation, role: role, class: class, text: i.Text, event: c.CreatedAt, now: c.CreatedAt,
			ref: dhruva.Reference{Checkpoint: c.Hash, Item: i.ID},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// placed is where in the lineage a checkpoint goes.
type placed struct {
	window  dhruva.Window
	parents []dhruva.Hash
	parent  *dhruva.Checkpoint // the first
	branch  string
	head    dhruva.Hash // of the branch now; zero when it is new
	row     dhruva.Branch
}

// moved is the branch after the save.
func (at placed) moved(c dhruva.Checkpoint) dhruva.Branch {
	b := at.row
	b.Space, b.Name, b.Head = c.Space, at.branch, c.Hash
	return b
}

// place finds window, parents and branch.
func place(tx dhruva.Tx, p dhruva.Principal, in CommitInput, space dhruva.SpaceID) (at placed, err error) {
	s := dhruva.Session{Space: space, Branch: dhruva.MainBranch}
	if in.Session != "" {
		if s, err = liveSession(tx, p, in.Session); err != nil {
			return at, err
		}
		ctx, err := resolve(tx, p, s, ContextRequest{})
		if err != nil {
			return at, err
		}
		at.window = ctx.Window
	}
	if at.parents, err = stated(tx, p, in, space); err != nil {
		return at, err
	}
	if len(at.parents) == 0 && s.Mount != nil {
		at.parents = []dhruva.Hash{s.Mount.Checkpoint}
		err = at.detach(tx, in, s)
	} else {
		err = at.onBranch(tx, in, s)
	}
	if err != nil || len(at.parents) == 0 {
		return at, err
	}
	parent, err := tx.Checkpoint(at.parents[0])
	if err == nil && !parent.HiddenAt.IsZero() {
		err = dhruva.ErrNotFound
	}
	at.parent = &parent
	return at, notFound(err, "checkpoint", at.parents[0].String())
}

// stated are the parents that the caller names.
func stated(tx dhruva.Tx, p dhruva.Principal, in CommitInput, space dhruva.SpaceID) ([]dhruva.Hash, error) {
	var out []dhruva.Hash
	if len(in.Parents) > 2 {
		return nil, fmt.Errorf("%w: %d parents", dhruva.ErrInvalid, len(in.Parents))
	}
	for _, ref := range in.Parents {
		c, err := checkpointIn(tx, p, space, ref)
		if err != nil {
			return nil, err
		}
		out = append(out, c.Hash)
	}
	if len(out) == 2 && out[0] == out[1] {
		return nil, fmt.Errorf("%w: both parents are %s", dhruva.ErrInvalid, out[0].Short())
	}
	return out, nil
}

// detach: saving while mounted. Only when the mounted checkpoint is the head of
// the branch in question does that branch move.
func (at *placed) detach(tx dhruva.Tx, in CommitInput, s dhruva.Session) error {
	if in.Branch == "" && !in.NewBranch {
		if err := at.on(tx, s.Space, s.Branch); err != nil || at.head == at.parents[0] {
			return err
		}
	}
	if in.Branch == "" {
		free, err := freeBranch(tx, s.Space, "mounted-"+at.parents[0].Short())
		if err != nil {
			return err
		}
		return at.on(tx, s.Space, free)
	}
	return at.onBranch(tx, in, s)
}

// onBranch: the branch named, else the session's.
func (at *placed) onBranch(tx dhruva.Tx, in CommitInput, s dhruva.Session) error {
	name := firstText(in.Branch, s.Branch, dhruva.MainBranch)
	if in.NewBranch && in.Branch == "" {
		free, err := freeBranch(tx, s.Space, "branch-"+in.date)
		if err != nil {
			return err
		}
		name = free
	}
	if err := at.on(tx, s.Space, name); err != nil {
		return err
	}
	switch {
	case in.NewBranch && !at.head.IsZero():
		return fmt.Errorf("%w: branch %q exists", dhruva.ErrConflict, name)
	case len(at.parents) > 0 && !at.head.IsZero() && at.parents[0] != at.head:
		return fmt.Errorf("%w: branch %q is at %s, not at the stated parent %s", dhruva.ErrConflict, name, at.head.Short(), at.parents[0].Short())
	case len(at.parents) == 0:
		return at.follow(tx, in, s)
	}
	return nil
}

// follow: without a stated parent it is the head of the branch; a new branch
// grows from the head of the session's branch, which on a fork begins as the
// fork's source. Without a session a new branch begins at a root.
func (at *placed) follow(tx dhruva.Tx, in CommitInput, s dhruva.Session) error {
	from := at.head
	if from.IsZero() && s.ID != "" {
		var err error
		if from, err = headOf(tx, s); err != nil {
			return err
		}
	}
	if !from.IsZero() {
		at.parents = []dhruva.Hash{from}
	}
	return nil
}

// on looks a branch up; it may be absent.
func (at *placed) on(tx dhruva.Tx, space dhruva.SpaceID, name string) error {
	b, err := tx.Branch(space, name)
	if err != nil && !errors.Is(err, dhruva.ErrNotFound) {
		return err
	}
	at.branch, at.head, at.row = name, b.Head, b
	return nil
}

func firstText(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}
