package recall

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// space is the derived state of one space: its index, what each reference of
// the index stands for, and how far the feed has been followed.
type space struct {
	scope dhruva.Scope
	// passed is applied for who does not wait while the feed is followed; -1 until
	// there is an index.
	passed atomic.Int64

	mu         sync.RWMutex // guards all below; held exclusively while following
	index      *Index
	entries    map[string]entry
	generation int64
	applied    int64
	loaded     bool
}

// entry is what the index believes of a source. The gate checks it against the
// authoritative rows; nothing is answered on its word.
type entry struct {
	scope      dhruva.Scope
	generation int64
	source     dhruva.SourceID
	digest     dhruva.Hash
}

// pageSize is how many rows are read at a time while following.
const pageSize = 1000

// space returns the derived state of a scope, made on first use.
func (e *Engine) space(s dhruva.Scope) *space {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.spaces == nil {
		e.spaces = map[dhruva.Scope]*space{}
	}
	sp := e.spaces[s]
	if sp == nil {
		sp = &space{scope: s}
		sp.passed.Store(-1)
		e.spaces[s] = sp
	}
	return sp
}

// forget gives up the derived state of a space that is gone.
func (e *Engine) forget(s dhruva.Scope) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.spaces, s)
}

// Progress is how far the index of a space has followed its feed: everything up
// to Seq is in it.
type Progress struct {
	Scope dhruva.Scope
	Seq   int64
}

// Followed is the progress of every space that the engine holds an index of, by
// scope. What is being followed at the moment counts as it was before.
func (e *Engine) Followed() []Progress {
	e.mu.Lock()
	spaces := slices.Collect(maps.Values(e.spaces))
	e.mu.Unlock()
	var out []Progress
	for _, sp := range spaces {
		if seq := sp.passed.Load(); seq >= 0 {
			out = append(out, Progress{sp.scope, seq})
		}
	}
	slices.SortFunc(out, func(a, b Progress) int { return a.Scope.Compare(b.Scope) })
	return out
}

// Follow brings the index of a space that the engine holds up to the head of its
// feed, so that its cursor does not hold back the feed while nobody asks. A space
// that it does not hold is left alone, one that is gone is given up.
func (e *Engine) Follow(ctx context.Context, s dhruva.Scope) error {
	e.mu.Lock()
	held := e.spaces[s] != nil
	e.mu.Unlock()
	if !held {
		return nil
	}
	_, err := e.follow(ctx, s)
	if errors.Is(err, dhruva.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("recall: follow %s: %w", s, err)
	}
	return nil
}

// follow brings a space's index up to the head of its feed at the time of the
// call and returns it.
func (e *Engine) follow(ctx context.Context, s dhruva.Scope) (*space, error) {
	var epoch dhruva.Epoch
	err := e.Store.View(ctx, s, func(tx dhruva.Tx) error {
		sp, err := tx.Space(s.Space())
		if err == nil && !sp.DeletedAt.IsZero() {
			err = dhruva.ErrNotFound
		}
		if err == nil {
			epoch, err = tx.Epoch(s.Space())
		}
		return err
	})
	if errors.Is(err, dhruva.ErrNotFound) {
		e.forget(s)
	}
	if err != nil {
		return nil, err
	}
	sp := e.space(s)
	if sp.current(epoch) {
		return sp, nil
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if !sp.loaded || sp.generation != epoch.Generation {
		err = sp.load(ctx, e.Store)
	} else {
		err = sp.apply(ctx, e.Store)
	}
	switch {
	case err == nil:
		sp.passed.Store(sp.applied)
	case !sp.loaded: // it was given up half-way
		sp.passed.Store(-1)
	}
	return sp, err
}

func (s *space) current(epoch dhruva.Epoch) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.loaded && s.generation == epoch.Generation && s.applied >= epoch.Head
}

// size is how many passages the index holds.
func (s *space) size() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.index.Len()
}

// load builds the index from the rows of one snapshot.
func (s *space) load(ctx context.Context, store dhruva.Store) error {
	return store.View(ctx, s.scope, func(tx dhruva.Tx) error {
		epoch, err := tx.Epoch(s.scope.Space())
		if err != nil {
			return err
		}
		s.index, s.entries, s.loaded = New(), map[string]entry{}, false
		q := dhruva.SourceQuery{Space: s.scope.Space(), Generation: epoch.Generation, State: dhruva.SourceReady, Page: dhruva.Page{Limit: pageSize}}
		for {
			page, err := tx.ListSources(q)
			if err != nil {
				return err
			}
			for _, src := range page {
				if err := s.put(tx, src); err != nil {
					return err
				}
			}
			if len(page) < q.Size() {
				break
			}
			q.After = string(page[len(page)-1].ID)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		s.generation, s.applied, s.loaded = epoch.Generation, epoch.Head, true
		return nil
	})
}

// apply follows the feed's tail. Rows may be newer than their change; what is
// read is the present state, so that applying twice is the same as once. Where
// the feed does not reach back to, the index is built anew from the rows, and
// goes on from the head that was read with them.
func (s *space) apply(ctx context.Context, store dhruva.Store) error {
	var touched []dhruva.SourceID
	last, seen, rebuild := s.applied, map[string]bool{}, false
	for c, err := range store.Changes(ctx, s.scope, s.applied) {
		if errors.Is(err, dhruva.ErrCompacted) {
			return s.load(ctx, store)
		}
		if err != nil {
			return err
		}
		last = c.Seq
		rebuild = rebuild || c.Kind == dhruva.ChangeGeneration
		if (c.Kind == dhruva.ChangeSource || c.Kind == dhruva.ChangeSourceGone) && !seen[c.Ref] {
			seen[c.Ref] = true
			touched = append(touched, dhruva.SourceID(c.Ref))
		}
	}
	if rebuild {
		return s.load(ctx, store)
	}
	for len(touched) > 0 {
		n := min(len(touched), pageSize)
		if err := s.refresh(ctx, store, touched[:n]); err != nil {
			return err
		}
		touched = touched[n:]
	}
	s.applied = last
	return nil
}

// refresh makes the index agree with the rows of some sources.
func (s *space) refresh(ctx context.Context, store dhruva.Store, ids []dhruva.SourceID) error {
	return store.View(ctx, s.scope, func(tx dhruva.Tx) error {
		for _, id := range ids {
			src, err := tx.Source(s.scope.Space(), s.generation, id)
			switch {
			case errors.Is(err, dhruva.ErrNotFound) || err == nil && src.State != dhruva.SourceReady:
				s.drop(string(id))
			case err != nil:
				return err
			default:
				if err := s.put(tx, src); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// put indexes a source's text where it was first said.
func (s *space) put(tx dhruva.Tx, src dhruva.Source) error {
	text, ref, err := dhruva.SourceText(tx, src)
	if errors.Is(err, dhruva.ErrNotFound) {
		s.drop(string(src.ID))
		return nil
	}
	if err != nil {
		return err
	}
	d := Doc{Ref: string(src.ID), Role: roleOf(src), Time: src.EventTime, Text: text}
	if ref.Session != "" {
		turn, err := tx.Turn(ref.Session, ref.Seq)
		if err != nil {
			return err
		}
		d.Group, d.Pos, d.Speaker = string(ref.Session), ref.Seq, turn.Speaker
		if turn.Speaker != "" {
			d.Role = NoRole
		}
	} else {
		d.Group = "checkpoint " + ref.Checkpoint.String() + " " + string(ref.Item) // items are not each other's context
	}
	s.index.Add(d)
	s.entries[d.Ref] = entry{scope: s.scope, generation: src.Generation, source: src.ID, digest: src.Digest}
	return nil
}

func (s *space) drop(ref string) {
	s.index.Remove(ref)
	delete(s.entries, ref)
}

// candidate is a hit with what the index believes of it.
type candidate struct {
	Hit
	entry
	weights *Features
	label   string // "" or what to say of all hits of this query
}

// why names the legs of the hit, and its label.
func (c candidate) why() []dhruva.Reason {
	why := reasons(&c.Legs, c.weights)
	if c.label != "" {
		why = append(why, dhruva.Reason{Name: c.label})
	}
	return why
}

// labelOther marks evidence that is somebody else's statement than the one the
// query names (the attribution gate of the recipe).
const labelOther = "stated_by_another"

func (s *space) search(ask Ask, n int, now time.Time) []candidate {
	s.mu.RLock()
	defer s.mu.RUnlock()
	q := Query{Text: ask.Text, K: n, Now: now}
	if ask.Allow != nil {
		q.Visible = func(ref string) bool { return ask.Allow[dhruva.SourceID(ref)] }
	}
	res := s.index.Evaluate(q)
	label := ""
	if res.Attribution.Known && res.Attribution.Margin < 0 {
		label = labelOther
	}
	var out []candidate
	for _, h := range res.Hits {
		out = append(out, candidate{h, s.entries[h.Ref], res.Profile.weights(), label})
	}
	return out
}

func roleOf(src dhruva.Source) Role {
	switch src.Role {
	case dhruva.RoleUser:
		return User
	case dhruva.RoleAssistant:
		return Responder
	}
	return Other
}
