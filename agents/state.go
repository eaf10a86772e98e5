package agents

import (
	"context"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// Agents answers what several agents at work in one space ask.
type Agents struct {
	Ledger *ledger.Ledger
	// Worktrees probes the working copies of claims; nil: they are not probed.
	Worktrees *Worktrees
}

// StateQuery asks for the state of a space.
type StateQuery struct {
	Space string // an id or a name
	// Since names a checkpoint that the asker knows; "" asks for no freshness.
	Since string
	// MainOnly leaves out other branches, claims and divergence.
	MainOnly bool
}

// summaryMax bounds the summary of a branch, in characters.
const summaryMax = 200

// State is where the work in a space stands. Its JSON is that of the compatible
// API; lists are never null.
type State struct {
	At             time.Time   `json:"-"`
	Space          Space       `json:"space"`
	Head           Head        `json:"head"`
	Commit         *Commit     `json:"commit"`
	ActiveBranches []Branch    `json:"active_branches"`
	ActiveClaims   []Claim     `json:"active_claims"`
	Divergence     *Divergence `json:"divergence"`
	Freshness      *Freshness  `json:"freshness"`
}

// Space is the space of a State.
type Space struct {
	ID          dhruva.SpaceID `json:"id"`
	Name        string         `json:"name"`
	Description *string        `json:"description"`
	ProjectRoot *string        `json:"project_root"`
}

// Head is the head of main, in short.
type Head struct {
	RepoID        dhruva.SpaceID `json:"repo_id"`
	CommitHash    *string        `json:"commit_hash"`
	CommitID      *string        `json:"commit_id"`
	Summary       *string        `json:"summary"`
	Objective     *string        `json:"objective"`
	LatestSession *string        `json:"latest_session_id"`
	LatestTitle   *string        `json:"latest_session_title"`
}

// Commit is a checkpoint with all that it says. What was purged is left out.
type Commit struct {
	ID            dhruva.CheckpointID `json:"id"`
	RepoID        dhruva.SpaceID      `json:"repo_id"`
	Hash          string              `json:"commit_hash"`
	ParentID      *string             `json:"parent_commit_id"`
	Branch        string              `json:"branch_name"`
	Author        string              `json:"author_agent"`
	Message       string              `json:"message"`
	Summary       string              `json:"summary"`
	Objective     string              `json:"objective"`
	Decisions     []string            `json:"decisions"`
	Assumptions   []string            `json:"assumptions"`
	Tasks         []Task              `json:"tasks"`
	OpenQuestions []string            `json:"open_questions"`
	Entities      []string            `json:"entities"`
	Artifacts     []Artifact          `json:"artifacts"`
	ProjectRoot   *string             `json:"project_root"`
	Metadata      CommitMetadata      `json:"metadata"`
	CreatedAt     time.Time           `json:"created_at"`
}

// CommitMetadata names what a checkpoint was drawn from: a session's turns after
// the base.
type CommitMetadata struct {
	SessionID  *string `json:"session_id"`
	BaseSeq    *int64  `json:"base_seq,omitempty"`
	ThroughSeq *int64  `json:"through_seq,omitempty"`
}

// Artifact is one that is attached to a checkpoint.
type Artifact struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Label   string `json:"label"`
	Content string `json:"content"`
}

// Branch is an active branch with its head.
type Branch struct {
	Name      string              `json:"branch_name"`
	CommitID  dhruva.CheckpointID `json:"commit_id"`
	Hash      string              `json:"commit_hash"`
	Message   string              `json:"message"`
	Author    string              `json:"author_agent"`
	CreatedAt time.Time           `json:"created_at"`
	Summary   string              `json:"summary"`
}

// Divergence names branches that do not decide as main does.
type Divergence struct {
	Pairs []DivergentPair `json:"pairs"`
}

// DivergentPair is one of them.
type DivergentPair struct {
	Branch     string   `json:"branch_name"`
	Hash       string   `json:"branch_commit_hash"`
	OnlyMain   []string `json:"main_only_decisions"`
	OnlyBranch []string `json:"branch_only_decisions"`
}

// State reads where the work stands. Needs state:read.
func (a *Agents) State(ctx context.Context, q StateQuery) (State, error) {
	space, err := a.Ledger.Space(ctx, q.Space)
	if err != nil {
		return State{}, wrap("state", err)
	}
	b, err := a.Ledger.Brief(ctx, ledger.BriefQuery{Space: space.ID, Since: q.Since, MainOnly: q.MainOnly})
	if err != nil {
		return State{}, wrap("state", err)
	}
	return stateOf(b, a.probe(ctx, b.Claims)), nil
}

// probe tells how the working copies of claims stand, as far as that is learnt
// in time.
func (a *Agents) probe(ctx context.Context, claims []ledger.ClaimBrief) map[dhruva.WorktreeID]*Probe {
	if a.Worktrees == nil {
		return nil
	}
	var rows []dhruva.Worktree
	for _, c := range claims {
		if c.At != nil {
			rows = append(rows, *c.At)
		}
	}
	return a.Worktrees.Probe(ctx, rows...)
}

func stateOf(b ledger.Brief, known map[dhruva.WorktreeID]*Probe) State {
	s := State{
		At:             b.At,
		Space:          Space{b.Space.ID, b.Space.Name, orNull(b.Space.Description), orNull(b.Space.ProjectRoot)},
		Head:           headOf(b),
		ActiveBranches: []Branch{}, ActiveClaims: []Claim{},
		Divergence: divergenceOf(b.Divergence),
	}
	if b.Head != nil {
		c := CommitOf(*b.Head, b.Parent, b.Space.ProjectRoot)
		s.Commit = &c
	}
	for _, at := range b.Branches {
		s.ActiveBranches = append(s.ActiveBranches, branchOf(at))
	}
	for _, c := range b.Claims {
		shape := ClaimOf(c.ClaimView)
		if c.At != nil {
			shape.At = worktreeOf(*c.At, known[c.At.ID])
		}
		s.ActiveClaims = append(s.ActiveClaims, shape)
	}
	if b.Freshness != nil {
		f := FreshnessOf(*b.Freshness)
		s.Freshness = &f
	}
	return s
}

func headOf(b ledger.Brief) Head {
	h := Head{RepoID: b.Space.ID}
	if c := b.Head; c != nil {
		h.CommitHash, h.CommitID = orNull(c.Hash.String()), orNull(string(c.ID))
		h.Summary, h.Objective = orNull(c.Text(dhruva.KindSummary)), orNull(c.Text(dhruva.KindObjective))
	}
	if b.Latest != nil {
		h.LatestSession, h.LatestTitle = orNull(string(b.Latest.ID)), orNull(b.Latest.Title)
	}
	return h
}

// CommitOf is the JSON of a checkpoint with its first parent, nil when there is
// none.
func CommitOf(c dhruva.Checkpoint, parent *dhruva.Outline, projectRoot string) Commit {
	out := Commit{
		ID: c.ID, RepoID: c.Space, Hash: c.Hash.String(), Branch: c.Branch, Author: c.Author, CreatedAt: c.CreatedAt,
		Message: c.Text(dhruva.KindTitle), Summary: c.Text(dhruva.KindSummary), Objective: c.Text(dhruva.KindObjective),
		Decisions: textsOf(c, dhruva.KindDecision), Assumptions: textsOf(c, dhruva.KindAssumption),
		OpenQuestions: textsOf(c, dhruva.KindQuestion), Entities: textsOf(c, dhruva.KindEntity),
		Tasks: []Task{}, Artifacts: []Artifact{}, ProjectRoot: orNull(projectRoot),
	}
	if parent != nil {
		out.ParentID = orNull(string(parent.ID))
	}
	for _, i := range kept(c, dhruva.KindTask) {
		out.Tasks = append(out.Tasks, taskOf(i))
	}
	for _, i := range kept(c, dhruva.KindArtifact) {
		out.Artifacts = append(out.Artifacts, Artifact{firstOf(i.Attr(dhruva.AttrSlug), string(i.ID)), i.Attr(dhruva.AttrType), i.Attr(dhruva.AttrLabel), i.Text})
	}
	if w := c.Window; w.Session != "" {
		out.Metadata = CommitMetadata{orNull(string(w.Session)), &w.Base, &w.Through}
	}
	return out
}

// kept are the items of a kind that were not purged.
func kept(c dhruva.Checkpoint, kind dhruva.ItemKind) (out []dhruva.Item) {
	for _, i := range c.Of(kind) {
		if !i.Redacted {
			out = append(out, i)
		}
	}
	return out
}

func textsOf(c dhruva.Checkpoint, kind dhruva.ItemKind) []string {
	out := []string{}
	for _, i := range kept(c, kind) {
		out = append(out, i.Text)
	}
	return out
}

func branchOf(b ledger.BranchBrief) Branch {
	c := b.Checkpoint
	return Branch{
		Name: b.Name, CommitID: c.ID, Hash: c.Hash.String(), Message: c.Text(dhruva.KindTitle), Author: c.Author, CreatedAt: c.CreatedAt,
		Summary: cut(c.Text(dhruva.KindSummary), summaryMax),
	}
}

func divergenceOf(all []ledger.Divergence) *Divergence {
	if len(all) == 0 {
		return nil
	}
	out := &Divergence{}
	for _, d := range all {
		pair := DivergentPair{Branch: d.Branch, Hash: d.Head.String(), OnlyMain: []string{}, OnlyBranch: []string{}}
		pair.OnlyMain, pair.OnlyBranch = append(pair.OnlyMain, d.OnlyOnMain...), append(pair.OnlyBranch, d.OnlyOnHere...)
		out.Pairs = append(out.Pairs, pair)
	}
	return out
}
