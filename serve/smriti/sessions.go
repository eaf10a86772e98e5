package smriti

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

func sessionRoutes() []route {
	const all, one = "/api/v4/chat/sessions", "/api/v4/chat/sessions/{id}"
	const legacy = "/api/v4/chat/spaces/{rid}/sessions"
	return []route{
		{pattern: "POST " + all, status: http.StatusCreated, do: (*api).createSession, again: (*api).madeSession},
		{pattern: "GET " + all, do: (*api).listSessions},
		{pattern: "GET " + one, do: (*api).showSession},
		{pattern: "DELETE " + one, status: http.StatusNoContent, do: (*api).deleteSession},
		{pattern: "POST " + one + "/title", do: (*api).titleSession},
		{pattern: "GET " + one + "/turns", do: (*api).listTurns},
		{pattern: "PUT " + one + "/attach", do: (*api).attach},
		{pattern: "POST " + legacy, status: http.StatusCreated, do: (*api).createSession, again: (*api).madeSession},
		{pattern: "GET " + legacy, do: (*api).listSessionsOf},
		{pattern: "GET " + legacy + "/{id}", do: (*api).showSession},
		{pattern: "GET " + legacy + "/{id}/turns", do: (*api).listTurns},
	}
}

// Session is a conversation. Without a space its repo_id is null.
type Session struct {
	ID         dhruva.SessionID     `json:"id"`
	RepoID     *dhruva.SpaceID      `json:"repo_id"`
	Title      string               `json:"title"`
	Provider   *string              `json:"active_provider"`
	Model      *string              `json:"active_model"`
	Seeded     *dhruva.CheckpointID `json:"seeded_commit_id"`
	ForkedFrom *dhruva.CheckpointID `json:"forked_from_checkpoint_id"`
	Branch     string               `json:"branch_name"`
	CreatedAt  time.Time            `json:"created_at"`
	UpdatedAt  time.Time            `json:"updated_at"`
}

// Turn is one message of a session.
type Turn struct {
	ID        dhruva.TurnID    `json:"id"`
	SessionID dhruva.SessionID `json:"session_id"`
	RepoID    *dhruva.SpaceID  `json:"repo_id"`
	Role      dhruva.Role      `json:"role"`
	Content   string           `json:"content"`
	Provider  *string          `json:"provider"`
	Model     *string          `json:"model"`
	Number    int64            `json:"sequence_number"`
	CreatedAt time.Time        `json:"created_at"`
}

// checkpointIDs finds the ids of checkpoints by their hashes, each once.
type checkpointIDs struct {
	ledger *ledger.Ledger
	known  map[dhruva.Hash]*dhruva.CheckpointID
}

func (a *api) checkpointIDs() *checkpointIDs {
	return &checkpointIDs{a.ledger, map[dhruva.Hash]*dhruva.CheckpointID{}}
}

// of is the id of a checkpoint, nil when it is not there any more.
func (ids *checkpointIDs) of(ctx context.Context, h dhruva.Hash) (*dhruva.CheckpointID, error) {
	if h.IsZero() {
		return nil, nil
	}
	if id, ok := ids.known[h]; ok {
		return id, nil
	}
	c, err := ids.ledger.Checkpoint(ctx, h.String())
	if err != nil && !errors.Is(err, dhruva.ErrNotFound) {
		return nil, err
	}
	ids.known[h] = orNull(c.ID)
	return ids.known[h], nil
}

func (ids *checkpointIDs) session(ctx context.Context, s dhruva.Session) (Session, error) {
	out := Session{
		ID: s.ID, RepoID: spaceOf(s), Title: s.Title, Provider: orNull(s.Provider), Model: orNull(s.Model), Branch: s.Branch,
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
	var err, err2 error
	out.Seeded, err = ids.of(ctx, s.Seeded)
	out.ForkedFrom, err2 = ids.of(ctx, s.ForkedFrom)
	return out, errors.Join(err, err2)
}

// spaceOf is a session's space, nil for the home of those that are in none.
func spaceOf(s dhruva.Session) *dhruva.SpaceID {
	if s.Fresh {
		return nil
	}
	return &s.Space
}

// session answers with a session, unless finding it failed.
func (a *api) session(c *call, s dhruva.Session, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return a.checkpointIDs().session(c.ctx(), s)
}

func (a *api) createSession(c *call) (any, error) {
	if c.PathValue("rid") != "" && len(c.body) == 0 { // the alias was called without one
		c.body = []byte("{}")
	}
	in, err := body[struct {
		RepoID   id     `json:"repo_id"`
		Title    string `json:"title"`
		Provider string `json:"provider"`
		Model    string `json:"model"`
		SeedFrom string `json:"seed_from"`
	}](c)
	if err != nil {
		return nil, err
	}
	space := string(in.RepoID)
	if c.PathValue("rid") != "" {
		if space, err = c.pathID("rid"); err != nil {
			return nil, err
		}
	}
	if space != "" {
		if _, err := a.space(c.ctx(), space); err != nil {
			return nil, err
		}
	}
	seed, err := a.seed(c.ctx(), dhruva.SpaceID(space), in.SeedFrom)
	if err != nil {
		return nil, err
	}
	s, err := a.ledger.CreateSession(c.ctx(), ledger.SessionInput{
		Space: dhruva.SpaceID(space), Title: or(in.Title, sessionTitle(a.now())), Provider: in.Provider, Model: in.Model, Seeded: seed,
	})
	return a.session(c, s, err)
}

// sessionTitle names a session that was given no name.
func sessionTitle(now time.Time) string { return now.UTC().Format("Session Jan 02 15:04") }

func (a *api) now() time.Time {
	if a.ledger.Now != nil {
		return a.ledger.Now()
	}
	return time.Now()
}

// seed is the checkpoint that a session says it began from. What names none is
// passed over: it is informational.
func (a *api) seed(ctx context.Context, space dhruva.SpaceID, from string) (dhruva.Hash, error) {
	switch {
	case space == "" || from == "" || from == "none":
		return dhruva.Hash{}, nil
	case from == "head":
		c, err := a.head(ctx, space, dhruva.MainBranch)
		if c == nil {
			return dhruva.Hash{}, err
		}
		return c.Hash, nil
	}
	ref, err := parseID("body", "seed_from", from)
	if err != nil {
		return dhruva.Hash{}, nil
	}
	c, err := a.ledger.Checkpoint(ctx, ref)
	if errors.Is(err, dhruva.ErrNotFound) || err == nil && c.Space != space {
		return dhruva.Hash{}, nil
	}
	return c.Hash, err
}

// head is the head of a branch, nil when it has none.
func (a *api) head(ctx context.Context, space dhruva.SpaceID, branch string) (*dhruva.Checkpoint, error) {
	all, err := a.ledger.Branches(ctx, space)
	if err != nil {
		return nil, err
	}
	for _, b := range all {
		if b.Name == branch && !b.Head.IsZero() {
			c, err := a.ledger.Checkpoint(ctx, b.Head.String())
			if errors.Is(err, dhruva.ErrNotFound) {
				return nil, nil
			}
			return &c, err
		}
	}
	return nil, nil
}

func (a *api) madeSession(c *call, done ledger.Outcome) (any, error) {
	s, err := a.ledger.Session(c.ctx(), dhruva.SessionID(done.Last(ledger.MadeSession)))
	return a.session(c, s, err)
}

// recentSessions is how many sessions are listed.
const recentSessions = 50

func (a *api) listSessions(c *call) (any, error) { return a.recent(c, "") }

func (a *api) listSessionsOf(c *call) (any, error) {
	id, err := c.pathID("rid")
	if err != nil {
		return nil, err
	}
	s, err := a.space(c.ctx(), id)
	if err != nil {
		return nil, err
	}
	return a.recent(c, s.ID)
}

// recent are the sessions that were used last.
func (a *api) recent(c *call, space dhruva.SpaceID) (any, error) {
	rows, _, err := a.ledger.ListSessions(c.ctx(), dhruva.SessionQuery{Space: space, Kind: dhruva.SessionChat, Page: dhruva.Page{Limit: recentSessions}})
	if err != nil {
		return nil, err
	}
	out, ids := []Session{}, a.checkpointIDs()
	for _, s := range rows {
		v, err := ids.session(c.ctx(), s)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// sessionOfPath is the session that the path names.
func (a *api) sessionOfPath(c *call) (dhruva.Session, error) {
	id, err := c.pathID("id")
	if err != nil {
		return dhruva.Session{}, err
	}
	return a.ledger.Session(c.ctx(), dhruva.SessionID(id))
}

func (a *api) showSession(c *call) (any, error) {
	s, err := a.sessionOfPath(c)
	return a.session(c, s, err)
}

func (a *api) deleteSession(c *call) (any, error) {
	s, err := a.sessionOfPath(c)
	if err != nil {
		return nil, err
	}
	return nil, a.ledger.DeleteSession(c.ctx(), s.ID)
}

// titleSession: a model that names nothing leaves the session as it is.
func (a *api) titleSession(c *call) (any, error) {
	s, err := a.sessionOfPath(c)
	if err != nil {
		return nil, err
	}
	if s.LastSeq == 0 {
		return nil, bad("the session has no turns to make a title of")
	}
	titled, err := a.memory.Title(c.ctx(), s.ID)
	if errors.Is(err, dhruva.ErrUnavailable) {
		return a.session(c, s, nil)
	}
	return a.session(c, titled, err)
}

func (a *api) listTurns(c *call) (any, error) {
	s, err := a.sessionOfPath(c)
	if err != nil {
		return nil, err
	}
	out := []Turn{}
	for after := int64(0); ; {
		rows, err := a.ledger.ListTurns(c.ctx(), s.ID, after, 1000)
		if err != nil {
			return nil, err
		}
		for _, t := range rows {
			out, after = append(out, turnOf(s, t)), t.Seq
		}
		if len(rows) == 0 || after >= s.LastSeq {
			return out, nil
		}
	}
}

func turnOf(s dhruva.Session, t dhruva.Turn) Turn {
	return Turn{
		ID: t.ID, SessionID: t.Session, RepoID: spaceOf(s), Role: t.Role, Content: t.Content, Provider: orNull(t.Provider), Model: orNull(t.Model),
		Number: t.Seq, CreatedAt: t.CreatedAt,
	}
}

func (a *api) attach(c *call) (any, error) {
	s, err := a.sessionOfPath(c)
	if err != nil {
		return nil, err
	}
	in, err := body[struct {
		RepoID id `json:"repo_id" need:""`
	}](c)
	if err != nil {
		return nil, err
	}
	space, err := a.space(c.ctx(), string(in.RepoID))
	if err != nil {
		return nil, err
	}
	s, err = a.ledger.Attach(c.ctx(), s.ID, space.ID)
	return a.session(c, s, err)
}
