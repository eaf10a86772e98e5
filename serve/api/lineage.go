package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/ledger"
)

func (a *api) lineage() {
	tags := []string{"lineage"}
	route(a, huma.Operation{OperationID: "show-lineage", Method: http.MethodGet, Path: "/spaces/{space}/lineage", Summary: "Show the graph of a space's checkpoints, newest first", Tags: tags}, a.showLineage)
	route(a, huma.Operation{OperationID: "diff-checkpoints", Method: http.MethodGet, Path: "/checkpoints/{hash}/diff/{other}", Summary: "Compare what two checkpoints say", Tags: tags}, a.diff)
	change[mergeIn, client.Merged]{needs: dhruva.StateWrite, or: dhruva.StateRead, do: (*api).merge, again: mergedBefore}.register(a,
		huma.Operation{OperationID: "merge", Method: http.MethodPost, Path: "/spaces/{space}/merge", Summary: "Take the conclusions of one line into a branch", Tags: tags,
			Description: "Three-way by the ids of items, from the lowest common ancestor. Conflicts are an outcome (200): nothing is written until picks and edits resolve all of them."})
	changes(a, huma.Operation{OperationID: "revert", Method: http.MethodPost, Path: "/spaces/{space}/revert", Summary: "Save again what an earlier checkpoint said", Tags: tags, DefaultStatus: http.StatusCreated}, dhruva.StateWrite, (*api).revert, madeCheckpoint)
	route(a, huma.Operation{OperationID: "list-head-moves", Method: http.MethodGet, Path: "/spaces/{space}/reflog", Summary: "List how heads moved, newest first", Tags: tags}, a.reflog)
	changes(a, huma.Operation{OperationID: "undo", Method: http.MethodPost, Path: "/spaces/{space}/undo", Summary: "Take back the newest move of a head", Tags: tags}, dhruva.StateWrite, (*api).undo, madeMove)
	changes(a, huma.Operation{OperationID: "redo", Method: http.MethodPost, Path: "/spaces/{space}/redo", Summary: "Take back the newest undo", Tags: tags}, dhruva.StateWrite, (*api).redo, madeMove)
	changes(a, huma.Operation{OperationID: "dispose-branch", Method: http.MethodPatch, Path: "/spaces/{space}/branches", Summary: "Say what became of a branch", Tags: tags}, dhruva.StateWrite, (*api).dispose, disposedBranch)
	route(a, huma.Operation{OperationID: "blame", Method: http.MethodGet, Path: "/checkpoints/{hash}/blame", Summary: "Show where the items of a checkpoint come from", Tags: tags}, a.blame)
	route(a, huma.Operation{OperationID: "list-turn-checkpoints", Method: http.MethodGet, Path: "/sessions/{id}/turns/{seq}/checkpoints", Summary: "List the checkpoints that were drawn from a turn", Tags: tags}, a.turnCheckpoints)
	route(a, huma.Operation{OperationID: "list-reachable", Method: http.MethodGet, Path: "/sessions/{id}/checkpoints", Summary: "List the checkpoints that a session's line reaches, newest first", Tags: tags}, a.reachable)
	route(a, huma.Operation{OperationID: "list-notes", Method: http.MethodGet, Path: "/checkpoints/{hash}/notes", Summary: "List the notes of a checkpoint, oldest first", Tags: tags}, a.notes)
	changes(a, huma.Operation{OperationID: "add-note", Method: http.MethodPost, Path: "/checkpoints/{hash}/notes", Summary: "Add a note to a checkpoint", Tags: tags, DefaultStatus: http.StatusCreated}, dhruva.StateWrite, (*api).addNote, madeRemark)
	route(a, huma.Operation{OperationID: "list-dependents", Method: http.MethodGet, Path: "/checkpoints/{hash}/dependents", Summary: "Show what hangs on a checkpoint", Tags: tags}, a.dependents)
	acts(a, huma.Operation{OperationID: "delete-checkpoint", Method: http.MethodDelete, Path: "/checkpoints/{hash}", Summary: "Hide a checkpoint; nothing is erased", Tags: tags}, dhruva.StateWrite, (*api).deleteCheckpoint)
}

func (a *api) showLineage(ctx context.Context, in *struct {
	InSpace
	Paging
	Branch string `query:"branch" doc:"Only those saved on this branch."`
}) (client.Lineage, error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.Lineage{}, err
	}
	page, err := in.byHash()
	if err != nil {
		return client.Lineage{}, err
	}
	l, err := a.ledger.Lineage(ctx, s.ID, ledger.LineageQuery{Branch: in.Branch, Page: page})
	if err == nil && len(l.Nodes) == 0 {
		err = a.branch(ctx, s.ID, in.Branch)
	}
	out := client.Lineage{Items: each(l.Nodes, nodeView), Next: l.Next, Forks: []client.Fork{},
		Branches: each(l.Branches, func(b ledger.BranchLine) client.Branch { return branchView(b.Branch) })}
	for _, n := range l.Nodes {
		out.Forks = append(out.Forks, each(n.Forks, forkView)...)
	}
	return out, err
}

func nodeView(n ledger.LineageNode) client.LineageNode {
	v := outlineView(n.Outline)
	for k, c := range n.Remarks {
		v.Notes[k] = c
	}
	return v
}

func outlineView(o dhruva.Outline) client.LineageNode {
	return client.LineageNode{
		ID: o.ID, Hash: o.Hash, Parents: append([]dhruva.Hash{}, o.Parents...), Branch: o.Branch, Title: o.Title, Author: o.Author,
		Session: o.Window.Session, Notes: map[dhruva.NoteKind]int{}, CreatedAt: o.CreatedAt,
	}
}

func forkView(s dhruva.Session) client.Fork {
	return client.Fork{Session: s.ID, Title: s.Title, Branch: s.Branch, Checkpoint: s.ForkedFrom, CreatedAt: s.CreatedAt}
}

func (a *api) diff(ctx context.Context, in *struct {
	InCheckpoint
	Other string `path:"other" doc:"Hash of the other one, or a unique prefix."`
}) (client.Difference, error) {
	c, err := a.ledger.Compare(ctx, in.Ref, in.Other)
	if err != nil {
		return client.Difference{}, err
	}
	out := client.Difference{A: c.A.Hash, B: c.B.Hash, Same: c.Same(), Kinds: map[string]client.KindDelta{}}
	if c.CommonAncestor != nil {
		out.CommonAncestor = &c.CommonAncestor.Hash
	}
	for _, k := range c.Kinds {
		if len(k.OnlyA)+len(k.OnlyB)+len(k.Shared)+len(k.Changed) == 0 {
			continue
		}
		out.Kinds[string(k.Kind)] = client.KindDelta{
			OnlyA: each(k.OnlyA, detailView), OnlyB: each(k.OnlyB, detailView),
			Shared: each(k.Shared, func(p ledger.ItemPair) client.ItemDetail { return detailView(p.A) }),
			Changed: each(k.Changed, func(p ledger.ItemPair) client.ItemChanged {
				return client.ItemChanged{A: detailView(p.A), B: detailView(p.B)}
			}),
		}
	}
	return out, nil
}

type mergeIn struct {
	InSpace
	Body client.MergeInput
}

func (in *mergeIn) input(space dhruva.SpaceID) ledger.MergeInput {
	out := ledger.MergeInput{Space: space, From: in.Body.From, Into: in.Body.Into, DryRun: in.Body.DryRun, Title: in.Body.Title, Author: in.Body.Author,
		Picks: map[dhruva.ItemID]string{}, Edits: map[dhruva.ItemID]string{}}
	for id, pick := range in.Body.Picks {
		out.Picks[dhruva.ItemID(id)] = pick
	}
	for id, text := range in.Body.Edits {
		out.Edits[dhruva.ItemID(id)] = text
	}
	return out
}

func (a *api) merge(ctx context.Context, in *mergeIn) (client.Merged, error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.Merged{}, err
	}
	m, err := a.ledger.Merge(ctx, in.input(s.ID))
	return mergedView(m), err
}

// mergedBefore: what was merged before is told from what it made; a call that made
// nothing is looked at anew, and writes nothing.
func mergedBefore(a *api, ctx context.Context, in *mergeIn, done ledger.Outcome) (client.Merged, error) {
	hash := done.Last(ledger.MadeCheckpoint)
	if hash == "" {
		look := *in
		look.Body.DryRun = true
		return a.merge(ctx, &look)
	}
	c, err := a.ledger.Checkpoint(ctx, hash)
	if err != nil {
		return client.Merged{}, err
	}
	m := ledger.Merged{Status: ledger.MergeDone, Checkpoint: &c, Title: c.Text(dhruva.KindTitle)}
	m.Into.Hash, m.From.Hash = c.Parents[0], c.Parents[1]
	err = a.conflicts(ctx, &m)
	return mergedView(m), err
}

// conflicts finds again what a merge had to decide. When a side of it was deleted
// since, that cannot be told any more.
func (a *api) conflicts(ctx context.Context, m *ledger.Merged) error {
	d, err := a.ledger.Compare(ctx, m.Into.Hash.String(), m.From.Hash.String())
	if gone(err) || err == nil && d.CommonAncestor == nil {
		return nil
	}
	if err != nil {
		return err
	}
	base, err := a.ledger.Checkpoint(ctx, d.CommonAncestor.Hash.String())
	if err != nil {
		return err
	}
	m.Base = *d.CommonAncestor
	_, m.Conflicts, _, err = ledger.MergeItems(base.Items, d.A.Items, d.B.Items, ledger.Picks{}, func() dhruva.ItemID { return dhruva.ItemID(dhruva.NewID()) })
	return err
}

func mergedView(m ledger.Merged) client.Merged {
	out := client.Merged{
		Status: string(m.Status), Base: m.Base.Hash, Ours: m.Into.Hash, Theirs: m.From.Hash, Conflicts: []client.Conflict{}, Title: m.Title, Items: each(m.Items, detailView),
	}
	open := map[dhruva.ItemID]bool{}
	for _, c := range m.Open {
		open[c.ID] = true
	}
	for _, c := range m.Conflicts {
		v := client.Conflict{Item: c.ID, Kind: c.Kind, Type: string(c.Type), Ours: each(c.Ours, detailView), Theirs: each(c.Theirs, detailView), Open: open[c.ID]}
		if c.Base != nil {
			base := detailView(*c.Base)
			v.Base = &base
		}
		out.Conflicts = append(out.Conflicts, v)
	}
	if m.Checkpoint != nil {
		v := checkpointView(*m.Checkpoint)
		out.Checkpoint = &v
		out.Items = slices.DeleteFunc(slices.Clone(v.Items), func(i client.ItemDetail) bool { return i.Kind == dhruva.KindTitle })
	}
	return out
}

func (a *api) revert(ctx context.Context, in *struct {
	InSpace
	Body client.RevertInput
}) (client.Checkpoint, error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.Checkpoint{}, err
	}
	c, err := a.ledger.Revert(ctx, ledger.RevertInput{Space: s.ID, Branch: in.Body.Branch, To: in.Body.To, Title: in.Body.Title, Author: in.Body.Author})
	return checkpointView(c), err
}

func (a *api) reflog(ctx context.Context, in *struct {
	InSpace
	Paging
	Branch string `query:"branch" doc:"Only moves of this branch."`
}) (client.List[client.HeadMove], error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.List[client.HeadMove]{}, err
	}
	before, err := turnCursor(in.After)
	if err != nil {
		return client.List[client.HeadMove]{}, fmt.Errorf("%w: after is the number of a move", dhruva.ErrInvalid)
	}
	size := in.page().Size()
	rows, err := a.ledger.Reflog(ctx, s.ID, in.Branch, before, size)
	next := ""
	if len(rows) == size {
		next = strconv.FormatInt(rows[size-1].Seq, 10)
	}
	return list(rows, next, moveView), err
}

func moveView(m dhruva.HeadMove) client.HeadMove {
	return client.HeadMove{Seq: m.Seq, Branch: m.Branch, Act: m.Act, From: m.From, To: m.To, Undoes: m.Undoes, By: string(m.By), At: m.At}
}

type branchIn struct {
	InSpace
	Body client.BranchInput
}

func (a *api) undo(ctx context.Context, in *branchIn) (client.HeadMove, error) {
	return a.moveBack(ctx, in, a.ledger.Undo)
}

func (a *api) redo(ctx context.Context, in *branchIn) (client.HeadMove, error) {
	return a.moveBack(ctx, in, a.ledger.Redo)
}

func (a *api) moveBack(ctx context.Context, in *branchIn, do func(context.Context, dhruva.SpaceID, string) (dhruva.HeadMove, error)) (client.HeadMove, error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.HeadMove{}, err
	}
	m, err := do(ctx, s.ID, in.Body.Branch)
	return moveView(m), err
}

func madeMove(a *api, ctx context.Context, _ *branchIn, done ledger.Outcome) (client.HeadMove, error) {
	space, number, _ := strings.Cut(done.Last(ledger.MadeMove), "/")
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return client.HeadMove{}, fmt.Errorf("%w: no move of a head", dhruva.ErrNotFound)
	}
	rows, err := a.ledger.Reflog(ctx, dhruva.SpaceID(space), "", seq+1, 1)
	if err == nil && (len(rows) == 0 || rows[0].Seq != seq) {
		err = fmt.Errorf("%w: no move %d", dhruva.ErrNotFound, seq)
	}
	if err != nil {
		return client.HeadMove{}, err
	}
	return moveView(rows[0]), nil
}

type disposeIn struct {
	InSpace
	Body client.DispositionInput
}

func (a *api) dispose(ctx context.Context, in *disposeIn) (client.Branch, error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.Branch{}, err
	}
	b, err := a.ledger.SetDisposition(ctx, s.ID, in.Body.Branch, in.Body.Disposition)
	return branchView(b), err
}

func disposedBranch(a *api, ctx context.Context, in *disposeIn, _ ledger.Outcome) (client.Branch, error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.Branch{}, err
	}
	rows, err := a.ledger.Branches(ctx, s.ID)
	for _, b := range rows {
		if b.Name == in.Body.Branch {
			return branchView(b), nil
		}
	}
	if err == nil {
		err = fmt.Errorf("%w: no branch %q", dhruva.ErrNotFound, in.Body.Branch)
	}
	return client.Branch{}, err
}

func (a *api) blame(ctx context.Context, in *struct {
	InCheckpoint
	Item string `query:"item" doc:"Only this item, by its id."`
}) (client.List[client.Origin], error) {
	rows, err := a.ledger.Blame(ctx, in.Ref, dhruva.ItemID(in.Item))
	return list(rows, "", originView), err
}

func originView(o ledger.Origin) client.Origin {
	v := client.Origin{
		Item: detailView(o.Item), First: o.First.Hash, Written: o.Since.Hash, Author: o.Since.Author, At: o.Since.CreatedAt, Cited: o.Cited.Hash,
		Window: windowView(o.Cited.Window), Cites: []client.Cite{}, Turns: each(o.Turns, turnView), Uncited: len(o.Cites) == 0,
	}
	for _, c := range o.Cites {
		v.Cites = append(v.Cites, client.Cite(c))
	}
	return v
}

// InTurn is the path of a turn.
type InTurn struct {
	InSession
	Seq int64 `path:"seq" minimum:"1" doc:"Sequence number of the turn."`
}

func (a *api) turnCheckpoints(ctx context.Context, in *InTurn) (client.List[client.Drawn], error) {
	rows, err := a.ledger.TurnCheckpoints(ctx, in.ID, in.Seq)
	return list(rows, "", func(u ledger.TurnUse) client.Drawn {
		return client.Drawn{Checkpoint: outlineView(u.Checkpoint), Items: each(u.Items, detailView)}
	}), err
}

func (a *api) reachable(ctx context.Context, in *struct {
	InSession
	Paging
}) (client.List[client.LineageNode], error) {
	page, err := in.byHash()
	if err != nil {
		return client.List[client.LineageNode]{}, err
	}
	rows, next, err := a.ledger.Reachable(ctx, in.ID, page)
	return list(rows, next, outlineView), err
}

func (a *api) notes(ctx context.Context, in *struct {
	InCheckpoint
	Paging
}) (client.List[client.Note], error) {
	page, err := in.byID()
	if err != nil {
		return client.List[client.Note]{}, err
	}
	rows, next, err := a.ledger.Remarks(ctx, in.Ref, page)
	return list(rows, next, noteView), err
}

type noteIn struct {
	InCheckpoint
	Body client.NoteInput
}

func (a *api) addNote(ctx context.Context, in *noteIn) (client.Note, error) {
	n, err := a.ledger.AddRemark(ctx, ledger.RemarkInput{Checkpoint: in.Ref, Text: in.Body.Text, Author: in.Body.Author, Kind: in.Body.Kind})
	return noteView(n), err
}

func madeRemark(a *api, ctx context.Context, in *noteIn, done ledger.Outcome) (client.Note, error) {
	id := dhruva.NoteID(done.Last(ledger.MadeRemark))
	for page := (dhruva.Page{Limit: 1000}); ; {
		rows, next, err := a.ledger.Remarks(ctx, in.Ref, page)
		if err != nil {
			return client.Note{}, err
		}
		for _, n := range rows {
			if n.ID == id {
				return noteView(n), nil
			}
		}
		if next == "" {
			return client.Note{}, fmt.Errorf("%w: no note %s", dhruva.ErrNotFound, id)
		}
		page.After = next
	}
}

func noteView(n dhruva.Note) client.Note {
	return client.Note{ID: n.ID, Checkpoint: n.Checkpoint, Kind: n.Kind, Author: n.Author, Text: n.Text, Redacted: n.Redacted, CreatedAt: n.CreatedAt}
}

func (a *api) dependents(ctx context.Context, in *InCheckpoint) (client.Dependents, error) {
	d, err := a.ledger.Dependents(ctx, in.Ref)
	return client.Dependents{
		Children: each(d.Children, outlineView), Forked: each(d.Forked, sessionView), Seeded: each(d.Seeded, sessionView),
		Mounted: each(d.Mounted, sessionView), Blocking: d.Blocking(),
	}, err
}

func (a *api) deleteCheckpoint(ctx context.Context, in *struct {
	InCheckpoint
	Cascade bool `query:"cascade" doc:"Also what hangs on it: the checkpoints after it and the sessions forked from them."`
}) error {
	_, err := a.ledger.DeleteCheckpoint(ctx, in.Ref, in.Cascade)
	return err
}
