package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// LineageNode is a checkpoint in the graph of its space.
type LineageNode struct {
	ID        dhruva.CheckpointID     `json:"id"`
	Hash      dhruva.Hash             `json:"hash"`
	Parents   []dhruva.Hash           `json:"parents" doc:"None at the root, two after a merge; the first is the one that was followed."`
	Branch    string                  `json:"branch" doc:"Branch it was saved on."`
	Title     string                  `json:"title"`
	Author    string                  `json:"author"`
	Session   dhruva.SessionID        `json:"session_id" doc:"Session it was drawn from; empty when none."`
	Notes     map[dhruva.NoteKind]int `json:"notes" doc:"How many notes of each kind it has."`
	CreatedAt time.Time               `json:"created_at"`
}

// Fork is a session that was forked.
type Fork struct {
	Session    dhruva.SessionID `json:"session_id"`
	Title      string           `json:"title"`
	Branch     string           `json:"branch"`
	Checkpoint dhruva.Hash      `json:"checkpoint" doc:"What it was forked from."`
	CreatedAt  time.Time        `json:"created_at"`
}

// Lineage is a page of a space's graph, newest first. Branches are all that there
// are; forks are those from the checkpoints of the page.
type Lineage struct {
	Items    []LineageNode `json:"items"`
	Branches []Branch      `json:"branches"`
	Forks    []Fork        `json:"forks"`
	Next     string        `json:"next" doc:"Give it as after for the next page; empty on the last."`
}

// Difference is what two checkpoints say alike and apart, by kind.
type Difference struct {
	A              dhruva.Hash          `json:"a"`
	B              dhruva.Hash          `json:"b"`
	CommonAncestor *dhruva.Hash         `json:"common_ancestor" nullable:"true" doc:"Lowest checkpoint both come from; null when they are unrelated."`
	Same           bool                 `json:"same" doc:"They say the same."`
	Kinds          map[string]KindDelta `json:"kinds" doc:"By kind: title, objective, summary, decision, assumption, task, open_question, entity, artifact. Kinds without items are left out."`
}

// KindDelta compares the items of one kind.
type KindDelta struct {
	OnlyA   []ItemDetail  `json:"only_a"`
	OnlyB   []ItemDetail  `json:"only_b"`
	Shared  []ItemDetail  `json:"shared"`
	Changed []ItemChanged `json:"changed" doc:"The same item with another text or other attributes."`
}

// ItemChanged is one item on two sides.
type ItemChanged struct {
	A ItemDetail `json:"a"`
	B ItemDetail `json:"b"`
}

// MergeInput merges one line into a branch.
type MergeInput struct {
	From   string            `json:"from" minLength:"1" doc:"Branch or checkpoint whose conclusions are taken in."`
	Into   string            `json:"into" minLength:"1" doc:"Branch that moves to the merge."`
	DryRun bool              `json:"dry_run,omitempty" doc:"Say what would be, and write nothing."`
	Picks  map[string]string `json:"picks,omitempty" doc:"Item id, or * for all others, to ours, theirs, both or neither. Ours is the branch."`
	Edits  map[string]string `json:"edits,omitempty" doc:"Item id to the text that it shall have."`
	Title  string            `json:"title,omitempty"`
	Author string            `json:"author,omitempty"`
}

// Conflict is an item on which the two sides disagree.
type Conflict struct {
	Item   dhruva.ItemID   `json:"item" doc:"Name it in picks or edits."`
	Kind   dhruva.ItemKind `json:"kind"`
	Type   string          `json:"type" doc:"both_edited, edited_removed or contradicting_decision."`
	Base   *ItemDetail     `json:"base" doc:"As the common ancestor has it; null when it has not."`
	Ours   []ItemDetail    `json:"ours" doc:"What the branch has; nothing when it was removed there, several when more than two decisions contradict each other."`
	Theirs []ItemDetail    `json:"theirs"`
	Open   bool            `json:"open" doc:"No pick and no edit resolves it yet."`
}

// Merged is the outcome of a merge.
type Merged struct {
	Status     string       `json:"status" enum:"merged,conflicts,up_to_date" doc:"conflicts: nothing was written."`
	Base       dhruva.Hash  `json:"base" doc:"The lowest common ancestor."`
	Ours       dhruva.Hash  `json:"ours"`
	Theirs     dhruva.Hash  `json:"theirs"`
	Conflicts  []Conflict   `json:"conflicts" doc:"All there are, those too that picks resolve."`
	Title      string       `json:"title"`
	Items      []ItemDetail `json:"items" doc:"What the merge says besides its title; with open conflicts, what is agreed."`
	Checkpoint *Checkpoint  `json:"checkpoint" doc:"The merge; null when nothing was written."`
}

// RevertInput makes a branch say again what an earlier checkpoint said.
type RevertInput struct {
	To     string `json:"to" minLength:"1" doc:"Checkpoint whose content comes back."`
	Branch string `json:"branch,omitempty" doc:"Default: main."`
	Title  string `json:"title,omitempty"`
	Author string `json:"author,omitempty"`
}

// HeadMove is one entry of the reflog.
type HeadMove struct {
	Seq    int64       `json:"seq"`
	Branch string      `json:"branch"`
	Act    string      `json:"act" doc:"commit, merge, revert, fork, undo, redo or delete."`
	From   dhruva.Hash `json:"from" doc:"Empty when the branch was made."`
	To     dhruva.Hash `json:"to" doc:"Empty when the branch was taken away."`
	Undoes int64       `json:"undoes,omitempty" doc:"The move that this one takes back."`
	By     string      `json:"by"`
	At     time.Time   `json:"at"`
}

// BranchInput names a branch; "" is the one moved last.
type BranchInput struct {
	Branch string `json:"branch,omitempty"`
}

// DispositionInput says what became of a branch.
type DispositionInput struct {
	Branch      string `json:"branch" minLength:"1"`
	Disposition string `json:"disposition" enum:"active,integrated,abandoned"`
}

// Origin is where an item comes from.
type Origin struct {
	Item    ItemDetail  `json:"item"`
	First   dhruva.Hash `json:"first" doc:"Checkpoint in which it first stood."`
	Written dhruva.Hash `json:"written" doc:"Checkpoint in which it got its present text."`
	Author  string      `json:"author" doc:"Of that one."`
	At      time.Time   `json:"at"`
	Cited   dhruva.Hash `json:"cited" doc:"Checkpoint whose cites are shown."`
	Window  *Window     `json:"window" doc:"Turns that one was drawn from; null when none."`
	Cites   []Cite      `json:"cites" doc:"Turns of that window that the item was drawn from."`
	Turns   []Turn      `json:"turns" doc:"Those turns, as far as they may be read."`
	Uncited bool        `json:"uncited" doc:"It cites no turn."`
}

// Drawn is a checkpoint that was drawn from a turn.
type Drawn struct {
	Checkpoint LineageNode  `json:"checkpoint"`
	Items      []ItemDetail `json:"items" doc:"Those that cite the turn."`
}

// NoteInput is a remark on a checkpoint.
type NoteInput struct {
	Text   string          `json:"text" minLength:"1" doc:"At most 2,000 characters."`
	Author string          `json:"author,omitempty" doc:"Default: the name of the key."`
	Kind   dhruva.NoteKind `json:"kind,omitempty" enum:"note,milestone,noise" doc:"Default: note."`
}

// Note is a remark on a checkpoint, outside its hash; it is never changed.
type Note struct {
	ID         dhruva.NoteID   `json:"id"`
	Checkpoint dhruva.Hash     `json:"checkpoint"`
	Kind       dhruva.NoteKind `json:"kind"`
	Author     string          `json:"author"`
	Text       string          `json:"text"`
	Redacted   bool            `json:"redacted,omitempty"`
	CreatedAt  time.Time       `json:"created_at"`
}

// Dependents are what would go with a checkpoint, or is touched when it goes.
type Dependents struct {
	Children []LineageNode `json:"children" doc:"Checkpoints whose parent it is; they block."`
	Forked   []Session     `json:"forked" doc:"Sessions forked from it; they block."`
	Seeded   []Session     `json:"seeded" doc:"Sessions that were seeded from it; they stay."`
	Mounted  []Session     `json:"mounted" doc:"Sessions that hold it; they need another mount, or none."`
	Blocking int           `json:"blocking"`
}

// LineageFilter narrows a graph.
type LineageFilter struct {
	Branch string
	dhruva.Page
}

// Lineage is a page of a space's graph, newest first.
func (c *Client) Lineage(ctx context.Context, space string, f LineageFilter) (Lineage, error) {
	q := url.Values{}
	setIf(q, "branch", f.Branch)
	return call[Lineage](ctx, c, http.MethodGet, spacePath(space)+"/lineage"+pageQuery(f.Page, q), nil)
}

// Diff compares two checkpoints.
func (c *Client) Diff(ctx context.Context, a, b string) (Difference, error) {
	return call[Difference](ctx, c, http.MethodGet, checkpointPath(a)+"/diff/"+url.PathEscape(b), nil)
}

// Merge takes the conclusions of one line into a branch. Conflicts are an
// outcome, no error.
func (c *Client) Merge(ctx context.Context, space string, in MergeInput) (Merged, error) {
	return call[Merged](ctx, c, http.MethodPost, spacePath(space)+"/merge", in)
}

// Revert saves again what an earlier checkpoint said.
func (c *Client) Revert(ctx context.Context, space string, in RevertInput) (Checkpoint, error) {
	return call[Checkpoint](ctx, c, http.MethodPost, spacePath(space)+"/revert", in)
}

// Reflog lists the moves of heads, newest first; branch "" means all.
func (c *Client) Reflog(ctx context.Context, space, branch string, p dhruva.Page) (List[HeadMove], error) {
	q := url.Values{}
	setIf(q, "branch", branch)
	return call[List[HeadMove]](ctx, c, http.MethodGet, spacePath(space)+"/reflog"+pageQuery(p, q), nil)
}

// Undo takes back the newest move of a head that was not taken back.
func (c *Client) Undo(ctx context.Context, space, branch string) (HeadMove, error) {
	return call[HeadMove](ctx, c, http.MethodPost, spacePath(space)+"/undo", BranchInput{branch})
}

// Redo takes back the newest undo.
func (c *Client) Redo(ctx context.Context, space, branch string) (HeadMove, error) {
	return call[HeadMove](ctx, c, http.MethodPost, spacePath(space)+"/redo", BranchInput{branch})
}

// SetDisposition says what became of a branch.
func (c *Client) SetDisposition(ctx context.Context, space string, in DispositionInput) (Branch, error) {
	return call[Branch](ctx, c, http.MethodPatch, spacePath(space)+"/branches", in)
}

// Blame tells where the items of a checkpoint come from; item "" means all.
func (c *Client) Blame(ctx context.Context, ref, item string) (List[Origin], error) {
	q := url.Values{}
	setIf(q, "item", item)
	return call[List[Origin]](ctx, c, http.MethodGet, checkpointPath(ref)+"/blame"+pageQuery(dhruva.Page{}, q), nil)
}

// TurnCheckpoints lists the checkpoints that were drawn from a turn.
func (c *Client) TurnCheckpoints(ctx context.Context, id dhruva.SessionID, seq int64) (List[Drawn], error) {
	return call[List[Drawn]](ctx, c, http.MethodGet, turnPath(id, seq)+"/checkpoints", nil)
}

// Notes lists the notes of a checkpoint, oldest first.
func (c *Client) Notes(ctx context.Context, ref string, p dhruva.Page) (List[Note], error) {
	return call[List[Note]](ctx, c, http.MethodGet, checkpointPath(ref)+"/notes"+pageQuery(p, nil), nil)
}

// AddNote adds a note to a checkpoint.
func (c *Client) AddNote(ctx context.Context, ref string, in NoteInput) (Note, error) {
	return call[Note](ctx, c, http.MethodPost, checkpointPath(ref)+"/notes", in)
}

// Dependents tells what hangs on a checkpoint.
func (c *Client) Dependents(ctx context.Context, ref string) (Dependents, error) {
	return call[Dependents](ctx, c, http.MethodGet, checkpointPath(ref)+"/dependents", nil)
}

// DeleteCheckpoint hides a checkpoint; with cascade, with what hangs on it.
// Without, a checkpoint that something hangs on is dhruva.ErrConflict. Nothing
// is erased.
func (c *Client) DeleteCheckpoint(ctx context.Context, ref string, cascade bool) error {
	path := checkpointPath(ref)
	if cascade {
		path += "?cascade=true"
	}
	return c.none(ctx, http.MethodDelete, path)
}

// Reachable lists the checkpoints that a session's lineage reaches, newest
// first.
func (c *Client) Reachable(ctx context.Context, id dhruva.SessionID, p dhruva.Page) (List[LineageNode], error) {
	return call[List[LineageNode]](ctx, c, http.MethodGet, sessionPath(id)+"/checkpoints"+pageQuery(p, nil), nil)
}

func checkpointPath(ref string) string { return "/checkpoints/" + url.PathEscape(ref) }

func turnPath(id dhruva.SessionID, seq int64) string {
	return sessionPath(id) + "/turns/" + strconv.FormatInt(seq, 10)
}
