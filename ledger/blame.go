package ledger

import (
	"context"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// Origin tells where an item of a checkpoint comes from.
type Origin struct {
	Item dhruva.Item
	// First is the checkpoint of the ancestry, over all parents, in which the item's
	// id first appeared; Since the one in which it got its present text and
	// attributes.
	First, Since dhruva.Outline
	// Cited is the checkpoint whose cites are shown: Since, or First when that has
	// none. Cites are turns of its window's session; none: it is uncited.
	Cited dhruva.Outline
	Cites []dhruva.Cite
	// Turns are those turns, as far as they may be read.
	Turns []dhruva.Turn
}

// Blame tells the origin of an item of a checkpoint, or of each of its items when
// item is "", in the checkpoint's order. Ancestors that were deleted are not looked
// at, and nothing beyond them. An item that is not there is ErrNotFound. Needs
// state:read.
func (l *Ledger) Blame(ctx context.Context, ref string, item dhruva.ItemID) (out []Origin, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return nil, wrap("blame", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		out = nil
		c, err := checkpointIn(tx, p, "", ref)
		if err != nil {
			return err
		}
		out, err = blame(tx, p, c, item)
		return err
	})
	if err != nil {
		return nil, wrap("blame", err)
	}
	return out, nil
}

func blame(tx dhruva.Tx, p dhruva.Principal, c dhruva.Checkpoint, item dhruva.ItemID) ([]Origin, error) {
	asked := slices.DeleteFunc(slices.Clone(c.Items), func(i dhruva.Item) bool { return item != "" && i.ID != item })
	if len(asked) == 0 {
		return nil, missing("item", string(item))
	}
	g, err := reachedFrom(tx, c.Space, c.Hash)
	if err != nil {
		return nil, err
	}
	h, err := historyOf(tx, g, c, item)
	if err != nil {
		return nil, err
	}
	out := make([]Origin, 0, len(asked))
	for _, i := range asked {
		o := h.origin(i)
		if o.Turns, err = citedTurns(tx, p, o); err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// history is what an ancestry says of some items: what each checkpoint has under
// an id, as a digest of what it says, and what it cites.
type history struct {
	graph
	from dhruva.Hash
	says map[dhruva.ItemID]map[dhruva.Hash]saying
}

type saying struct {
	digest dhruva.Hash
	cites  []dhruva.Cite
}

// historyOf reads the items of a checkpoint, or one of them, in all of its
// ancestors.
func historyOf(tx dhruva.Tx, g graph, c dhruva.Checkpoint, item dhruva.ItemID) (*history, error) {
	h := &history{graph: g, from: c.Hash, says: map[dhruva.ItemID]map[dhruva.Hash]saying{}}
	for _, i := range c.Items {
		if item == "" || i.ID == item {
			h.says[i.ID] = map[dhruva.Hash]saying{}
		}
	}
	for at := range g {
		c, err := tx.Checkpoint(at)
		if err != nil {
			return nil, err
		}
		h.add(c)
	}
	return h, nil
}

func (h *history) add(c dhruva.Checkpoint) {
	for _, i := range c.Items {
		if of, asked := h.says[i.ID]; asked {
			of[c.Hash] = saying{digestSaying(i), i.Cites}
		}
	}
}

// digestSaying is what an item says, whatever it cites and is salted with. What
// was purged says its old digest alone.
func digestSaying(i dhruva.Item) dhruva.Hash {
	if i.Redacted {
		return dhruva.Hash{}
	}
	if i.Kind != dhruva.KindArtifact {
		i.Text = dhruva.Normalize(i.Text)
	}
	i.Cites, i.Salt = nil, [16]byte{}
	return dhruva.DigestItem(i)
}

func (h *history) origin(i dhruva.Item) Origin {
	said := h.says[i.ID]
	has := func(at dhruva.Hash) bool { _, ok := said[at]; return ok }
	same := func(at dhruva.Hash) bool { s, ok := said[at]; return ok && s.digest == said[h.from].digest }
	o := Origin{Item: i, First: h.oldest(said, has), Since: h.since(same)}
	for _, at := range []dhruva.Outline{o.Since, o.First} {
		if s := said[at.Hash]; len(s.cites) > 0 {
			o.Cited, o.Cites = at, s.cites
			break
		}
	}
	return o
}

// oldest is the oldest of those that have an item and no parent that has it.
func (h *history) oldest(said map[dhruva.Hash]saying, has func(dhruva.Hash) bool) (out dhruva.Outline) {
	out = h.graph[h.from]
	for at := range said {
		row := h.graph[at]
		if !slices.ContainsFunc(row.Parents, has) && newestOutline(row, out) > 0 {
			out = row
		}
	}
	return out
}

// since is where an unbroken line of checkpoints that say the same begins; of
// several, the oldest.
func (h *history) since(same func(dhruva.Hash) bool) (out dhruva.Outline) {
	seen := map[dhruva.Hash]bool{h.from: true}
	for todo := []dhruva.Hash{h.from}; len(todo) > 0; {
		row := h.graph[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		begins := true
		for _, p := range row.Parents {
			if !same(p) {
				continue
			}
			begins = false
			if !seen[p] {
				seen[p], todo = true, append(todo, p)
			}
		}
		if begins && (out.Hash.IsZero() || newestOutline(row, out) > 0) {
			out = row
		}
	}
	return out
}

// citedTurns are the turns that an origin cites. Those of a session that was
// deleted, or that the reader may not see, are not read.
func citedTurns(tx dhruva.Tx, p dhruva.Principal, o Origin) (out []dhruva.Turn, err error) {
	if len(o.Cites) == 0 {
		return nil, nil
	}
	if _, err := liveSession(tx, p, o.Cited.Window.Session); err != nil {
		return nil, ignoreMissing(err)
	}
	seen := map[int64]bool{}
	for _, c := range o.Cites {
		rows, err := tx.ListTurns(dhruva.TurnQuery{Session: o.Cited.Window.Session, After: c.From - 1, Through: c.Through})
		if err != nil {
			return nil, err
		}
		for _, t := range rows {
			if !seen[t.Seq] {
				seen[t.Seq], out = true, append(out, t)
			}
		}
	}
	slices.SortFunc(out, func(a, b dhruva.Turn) int { return int(a.Seq - b.Seq) })
	return out, nil
}

// TurnUse is a checkpoint that was drawn from a turn.
type TurnUse struct {
	Checkpoint dhruva.Outline
	// Items are those that cite the turn.
	Items []dhruva.Item
}

// TurnCheckpoints lists the checkpoints whose window holds a turn, newest first,
// with the items that cite it. Needs state:read.
func (l *Ledger) TurnCheckpoints(ctx context.Context, session dhruva.SessionID, seq int64) (out []TurnUse, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return nil, wrap("turn checkpoints", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		s, err := liveSession(tx, p, session)
		if err != nil {
			return err
		}
		t, err := turnOf(tx, session, seq)
		if err != nil {
			return err
		}
		out, err = turnUses(tx, s, t)
		return err
	})
	if err != nil {
		return nil, wrap("turn checkpoints", err)
	}
	return out, nil
}

func turnUses(tx dhruva.Tx, s dhruva.Session, t dhruva.Turn) (out []TurnUse, err error) {
	seams, err := tx.Seams(s.ID, 0, s.LastSeq)
	if err != nil {
		return nil, err
	}
	broken := breaks(seams)
	for q := (dhruva.CheckpointQuery{Space: s.Space, Session: s.ID, Page: dhruva.Page{Limit: 100}}); ; {
		rows, err := tx.ListCheckpoints(q)
		if err != nil {
			return nil, err
		}
		for _, c := range rows {
			if w := c.Window; w.Through > 0 && w.Contains(t) && on(pathOf(broken, w.Through, w.Base), t.Seq) {
				out = append(out, TurnUse{c.Outline(), citing(c, t.Seq)})
			}
		}
		if len(rows) < q.Limit {
			return out, nil
		}
		q.After = rows[len(rows)-1].Hash.String()
	}
}

func citing(c dhruva.Checkpoint, seq int64) (out []dhruva.Item) {
	for _, i := range c.Items {
		if slices.ContainsFunc(i.Cites, func(at dhruva.Cite) bool { return at.From <= seq && seq <= at.Through }) {
			out = append(out, i)
		}
	}
	return out
}
