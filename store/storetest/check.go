package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// maxFindings is how many broken invariants Check reports.
const maxFindings = 20

// Check reports every invariant that is broken in the given scopes, nil when
// none is. A Tenant scope stands for the tenant and all its spaces that have a
// live session or are listed. The store may be in use.
//
// For each space:
//
//  1. Turns of a session are numbered 1 to LastSeq without gaps; a turn's parent
//     and BeganAfter come before it; its space is its session's. Its tip is one of
//     them, or 0. Its seams are what its turns say.
//  2. Checkpoints, hidden ones too, verify against their hash, their parents are
//     present in the space, and they are found by id. Outlines and walks are what
//     they say.
//  3. A branch's head is a checkpoint of the space that is not hidden.
//  4. A source's references name existing turns and items, and a turn's sources
//     exist and name it in turn.
//  5. No source stands at or below the fence or above the generation;
//     checkpoints at or below the fence hold no text.
//  6. No ready source has a tombstone.
//  7. The change feed runs from the epoch's tail + 1 to its head without gaps.
//  8. Records, vectors and replayed evidence are of sources that stand in their
//     generation, which is above the fence and not above the space's; there are
//     none of a source whose tombstone is no longer pending. A replay is found by
//     each of its keys.
//  9. A leased job has an owner, a lease, a claim and its number; another one
//     has no lease; claims are never more than their numbers.
//  10. A cursor lies within the feed: from the tail to the head.
//  11. A leaf of a receipt attests it as it is: it has ended, and has not changed
//     since. (One of before there was a log has no leaf.)
//  12. Head moves are numbered from 1 without gaps; what one takes back is an
//     earlier one.
//  13. A note whose text was taken away has none. Where a note or a claim names a
//     checkpoint that exists, it is of the space. Claims and worktrees are in one
//     of their states; an open worktree was not closed.
//
// For a tenant:
//
//  14. The leaves that have a place stand at 1 to the size of the audit head
//     without gaps, and no leaf is both placed and pending.
func Check(ctx context.Context, s dhruva.Store, scopes ...dhruva.Scope) error {
	return errors.Join(inspect(ctx, s, scopes...).findings...)
}

// inspect is Check, with what it found apart.
func inspect(ctx context.Context, s dhruva.Store, scopes ...dhruva.Scope) *checker {
	c := &checker{ctx: ctx, store: s}
	for _, scope := range scopes {
		switch scope.Level() {
		case dhruva.LevelSpace:
			c.space(scope)
		case dhruva.LevelTenant:
			c.view(scope, c.log)
			for _, id := range c.spaces(scope) {
				c.space(dhruva.SpaceScope(scope.Tenant(), id))
			}
		default:
			c.found("%s: cannot be checked as a whole", scope)
		}
	}
	return c
}

// checker collects findings. During a view, tx and epoch are set.
type checker struct {
	ctx      context.Context
	store    dhruva.Store
	scope    dhruva.Scope
	tx       dhruva.Tx
	epoch    dhruva.Epoch
	findings []error
	// broken are those of the findings that no caller can bring about: promises
	// of the store itself.
	broken []error
	// buried are the sources whose tombstone is not pending, by generation.
	buried map[int64]map[dhruva.SourceID]bool
	// mentions are the checkpoints that notes and claims of the space name.
	mentions []mention
}

// found says errors by their kind, so that two stores say the same.
func (c *checker) found(format string, args ...any) error {
	for n, a := range args {
		if err, ok := a.(error); ok {
			args[n] = class(err)
		}
	}
	err := fmt.Errorf("%s: "+format, append([]any{c.scope}, args...)...)
	if len(c.findings) < maxFindings {
		c.findings = append(c.findings, err)
	}
	return err
}

// broke is found, of what the store has promised.
func (c *checker) broke(format string, args ...any) {
	if err := c.found(format, args...); len(c.broken) < maxFindings {
		c.broken = append(c.broken, err)
	}
}

// ok reports a failed read, which is a finding too.
func (c *checker) ok(err error, what string) bool {
	if err != nil {
		c.broke("%s: %v", what, err)
	}
	return err == nil
}

// spaces are the ids of a tenant's spaces that can be found.
func (c *checker) spaces(scope dhruva.Scope) (out []dhruva.SpaceID) {
	seen := map[dhruva.SpaceID]bool{}
	add := func(id dhruva.SpaceID) {
		if !seen[id] {
			seen[id], out = true, append(out, id)
		}
	}
	c.view(scope, func() {
		for _, row := range pages(c, "spaces", func(s dhruva.Space) string { return string(s.ID) }, c.tx.ListSpaces) {
			add(row.ID)
		}
		for _, row := range pages(c, "sessions", sessionName, func(p dhruva.Page) ([]dhruva.Session, error) {
			return c.tx.ListSessions(dhruva.SessionQuery{Page: p})
		}) {
			add(row.Space)
		}
	})
	return out
}

func (c *checker) view(scope dhruva.Scope, fn func()) {
	c.scope = scope
	c.ok(c.store.View(c.ctx, scope, func(tx dhruva.Tx) error {
		c.tx = tx
		fn()
		return nil
	}), "view")
	c.tx = nil
}

// pages reads a list to its end.
func pages[T any](c *checker, what string, key func(T) string, list func(dhruva.Page) ([]T, error)) (out []T) {
	for p := (dhruva.Page{Limit: 1000}); ; {
		rows, err := list(p)
		if !c.ok(err, what) || len(rows) == 0 {
			return out
		}
		out = append(out, rows...)
		last := key(rows[len(rows)-1])
		if last == p.After {
			c.broke("%s: the page after %q ends with it", what, last)
			return out
		}
		p.After = last
	}
}

func (c *checker) space(scope dhruva.Scope) {
	c.epoch, c.mentions = dhruva.Epoch{}, nil
	c.view(scope, func() {
		var err error
		if c.epoch, err = c.tx.Epoch(scope.Space()); !c.ok(err, "epoch") {
			return
		}
		if c.epoch.Tail < 0 || c.epoch.Tail > c.epoch.Head {
			c.broke("the tail is %d, the head %d", c.epoch.Tail, c.epoch.Head)
		}
		c.sessions()
		c.checkpoints()
		c.branches()
		c.moves()
		c.notes()
		c.claims()
		c.worktrees()
		c.documents()
		c.tombstones()
		c.sources()
		c.records()
		c.vectors()
		c.replays()
		c.jobs()
		c.cursors()
		c.receipts(scope.Space())
	})
	c.feed(c.epoch.Tail, c.epoch.Head)
	c.strangers(scope)
}

// generations are those in which there may be something, and one more.
func (c *checker) generations() (out []int64) {
	for g := int64(0); g <= c.epoch.Generation+1; g++ {
		out = append(out, g)
	}
	return out
}

// stands reports whether rows of a generation may be.
func (c *checker) stands(g int64) bool { return g > c.epoch.Fence && g <= c.epoch.Generation }

func (c *checker) sessions() {
	for _, s := range pages(c, "sessions", sessionName, func(p dhruva.Page) ([]dhruva.Session, error) {
		return c.tx.ListSessions(dhruva.SessionQuery{Space: c.scope.Space(), Page: p})
	}) {
		turns, err := c.tx.ListTurns(dhruva.TurnQuery{Session: s.ID})
		if !c.ok(err, "turns") {
			return
		}
		if int64(len(turns)) != s.LastSeq {
			c.found("session %s: %d turns, LastSeq %d", s.ID, len(turns), s.LastSeq)
		}
		if s.Tip < 0 || s.Tip > s.LastSeq {
			c.found("session %s: the tip is %d, LastSeq %d", s.ID, s.Tip, s.LastSeq)
		}
		c.seams(s, turns)
		for n, t := range turns {
			c.turn(s, t, int64(n+1))
		}
	}
}

func (c *checker) turn(s dhruva.Session, t dhruva.Turn, want int64) {
	if t.Seq != want {
		c.found("session %s: turn %d stands where %d is expected", s.ID, t.Seq, want)
	}
	if t.Parent < 0 || t.Parent >= t.Seq || t.BeganAfter < 0 || t.BeganAfter >= t.Seq {
		c.found("session %s: turn %d has parent %d and began after %d", s.ID, t.Seq, t.Parent, t.BeganAfter)
	}
	if t.Space != s.Space || t.Tenant != s.Tenant {
		c.broke("session %s: turn %d is in %s/%s", s.ID, t.Seq, t.Tenant, t.Space)
	}
	ids, err := c.tx.SourcesOfTurn(c.scope.Space(), c.epoch.Generation, t.Session, t.Seq)
	c.ok(err, "sources of turn")
	for _, id := range ids {
		if _, err := c.tx.Source(c.scope.Space(), c.epoch.Generation, id); err != nil {
			c.found("session %s: turn %d is referred to by source %s: %v", s.ID, t.Seq, id, err)
		}
	}
}

func (c *checker) checkpoints() {
	shown := map[dhruva.Hash]bool{}
	for _, row := range pages(c, "checkpoints", hashName, func(p dhruva.Page) ([]dhruva.Checkpoint, error) {
		return c.tx.ListCheckpoints(dhruva.CheckpointQuery{Space: c.scope.Space(), Page: p})
	}) {
		shown[row.Hash] = true
		c.checkpoint(row)
	}
	c.outlines(shown)
}

func (c *checker) checkpoint(row dhruva.Checkpoint) {
	if err := dhruva.VerifyCheckpoint(&row); err != nil {
		c.found("%s", err.Error())
	}
	for _, p := range row.Parents {
		if _, err := c.tx.Checkpoint(p); err != nil {
			c.found("checkpoint %s: parent %s: %v", row.Hash.Short(), p.Short(), err)
		}
	}
	if same, err := c.tx.CheckpointByID(row.ID); err != nil || same.Hash != row.Hash {
		c.broke("checkpoint %s: by id %s: %s, %v", row.Hash.Short(), row.ID, same.Hash.Short(), err)
	}
	c.fenced(row)
}

// fenced: a closed generation's checkpoints are stubs.
func (c *checker) fenced(row dhruva.Checkpoint) {
	if row.Generation > c.epoch.Generation {
		c.found("checkpoint %s: generation %d, the space's is %d", row.Hash.Short(), row.Generation, c.epoch.Generation)
	}
	for _, i := range row.Items {
		if c.epoch.Fence > 0 && row.Generation <= c.epoch.Fence && !i.Redacted {
			c.found("checkpoint %s: %s %s has text below the fence %d", row.Hash.Short(), i.Kind, i.ID, c.epoch.Fence)
		}
	}
}

func (c *checker) branches() {
	rows, err := c.tx.ListBranches(c.scope.Space())
	c.ok(err, "branches")
	for _, b := range rows {
		if head, err := c.tx.Checkpoint(b.Head); err != nil || head.Space != b.Space {
			c.found("branch %q: head %s: %v", b.Name, b.Head.Short(), err)
		} else if !head.HiddenAt.IsZero() {
			c.found("branch %q: head %s is hidden", b.Name, b.Head.Short())
		}
	}
}

func (c *checker) sources() {
	for _, g := range c.generations() {
		rows := pages(c, "sources", sourceName, func(p dhruva.Page) ([]dhruva.Source, error) {
			return c.tx.ListSources(dhruva.SourceQuery{Space: c.scope.Space(), Generation: g, Page: p})
		})
		if n, err := c.tx.CountSources(c.scope.Space(), g); err != nil || n != len(rows) {
			c.broke("generation %d: %d sources listed, %d counted, %v", g, len(rows), n, err)
		}
		if len(rows) > 0 && !c.stands(g) {
			c.found("generation %d: %d sources, fence %d, generation %d", g, len(rows), c.epoch.Fence, c.epoch.Generation)
		}
		for _, row := range rows {
			c.source(row)
		}
	}
}

func (c *checker) source(row dhruva.Source) {
	_, err := c.tx.Tombstone(row.Space, row.Generation, row.ID)
	if err == nil && row.State == dhruva.SourceReady {
		c.found("source %s: ready beside a tombstone", row.ID)
	} else if err != nil && !errors.Is(err, dhruva.ErrNotFound) {
		c.found("source %s: tombstone: %v", row.ID, err)
	}
	refs, err := c.tx.References(row.Space, row.Generation, row.ID)
	c.ok(err, "references")
	for _, r := range refs {
		c.reference(row, r)
	}
}

// reference: its place exists, and leads back.
func (c *checker) reference(row dhruva.Source, r dhruva.Reference) {
	if r.Session == "" {
		c.item(row, r)
		return
	}
	if _, err := c.tx.Turn(r.Session, r.Seq); err != nil {
		c.found("source %s: refers to session %s, turn %d: %v", row.ID, r.Session, r.Seq, err)
		return
	}
	ids, err := c.tx.SourcesOfTurn(r.Space, r.Generation, r.Session, r.Seq)
	if c.ok(err, "sources of turn") && !slices.Contains(ids, r.Source) {
		c.broke("source %s: refers to session %s, turn %d, which does not lead back", row.ID, r.Session, r.Seq)
	}
}

func (c *checker) item(row dhruva.Source, r dhruva.Reference) {
	checkpoint, err := c.tx.Checkpoint(r.Checkpoint)
	if err != nil {
		c.found("source %s: refers to checkpoint %s: %v", row.ID, r.Checkpoint.Short(), err)
	} else if !slices.ContainsFunc(checkpoint.Items, func(i dhruva.Item) bool { return i.ID == r.Item }) {
		c.found("source %s: refers to checkpoint %s, item %q: none", row.ID, r.Checkpoint.Short(), r.Item)
	}
}

// feed is read outside the view, so it may be longer than the head read there,
// and may have been compacted meanwhile.
func (c *checker) feed(tail, head int64) {
	last := tail
	for change, err := range c.store.Changes(c.ctx, c.scope, tail) {
		if errors.Is(err, dhruva.ErrCompacted) && c.compacted(tail) {
			return
		}
		if !c.ok(err, "changes") {
			return
		}
		if change.Seq != last+1 {
			c.broke("feed: change %d follows %d", change.Seq, last)
		}
		last = change.Seq
	}
	if last < head {
		c.broke("feed ends at %d, the head is %d", last, head)
	}
	c.view(c.scope, func() {
		if e, err := c.tx.Epoch(c.scope.Space()); c.ok(err, "epoch") && last > e.Head {
			c.broke("feed ends at %d, beyond the head %d", last, e.Head)
		}
	})
	for _, err := range c.store.Changes(c.ctx, c.scope, tail-1) {
		if tail > 0 && !errors.Is(err, dhruva.ErrCompacted) {
			c.broke("feed: after %d there is more than the tail %d tells: %v", tail-1, tail, err)
		}
		break
	}
}

// compacted reports whether the tail has moved since.
func (c *checker) compacted(tail int64) (moved bool) {
	c.view(c.scope, func() {
		e, err := c.tx.Epoch(c.scope.Space())
		moved = c.ok(err, "epoch") && e.Tail > tail
	})
	return moved
}
