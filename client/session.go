package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Session is one conversation.
type Session struct {
	ID dhruva.SessionID `json:"id"`
	// SpaceID is nil for a FRESH session, which belongs to no space.
	SpaceID    *dhruva.SpaceID    `json:"space_id" nullable:"true" doc:"Space of the session; null for a FRESH session."`
	Kind       dhruva.SessionKind `json:"kind" doc:"chat, proxy or notes."`
	Title      string             `json:"title"`
	Provider   string             `json:"provider" doc:"Provider used last."`
	Model      string             `json:"model" doc:"Model used last."`
	Branch     string             `json:"branch"`
	Fresh      bool               `json:"fresh"`
	Seeded     dhruva.Hash        `json:"seeded_from" doc:"Informational; bounds nothing."`
	ForkedFrom dhruva.Hash        `json:"forked_from" doc:"Checkpoint a fork started from."`
	ForkedTurn *TurnRef           `json:"forked_turn" doc:"Turn a fork was taken from."`
	Mount      *Mount             `json:"mount" doc:"What is mounted; null when nothing is."`
	LastSeq    int64              `json:"last_sequence_number"`
	Tip        int64              `json:"tip" doc:"Number of the turn that the next one follows."`
	CreatedAt  time.Time          `json:"created_at"`
	UpdatedAt  time.Time          `json:"updated_at"`
}

// TurnRef names a turn.
type TurnRef struct {
	Session dhruva.SessionID `json:"session_id"`
	Seq     int64            `json:"sequence_number"`
}

// Mount is a checkpoint held by a session.
type Mount struct {
	Checkpoint dhruva.Hash `json:"checkpoint"`
	Depth      int         `json:"depth"`
	Base       int64       `json:"base" doc:"Last sequence number when the mount was made; prompts hold turns after it."`
	At         time.Time   `json:"mounted_at"`
}

// SessionInput makes a session.
type SessionInput struct {
	Title    string `json:"title,omitempty"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Seeded   string `json:"seeded_from,omitempty" doc:"Hash of a checkpoint; informational, bounds nothing."`
}

// MountInput mounts a checkpoint.
type MountInput struct {
	Checkpoint string `json:"checkpoint" doc:"Hash, or a unique prefix of at least 7 digits."`
	Depth      int    `json:"depth,omitempty" enum:"0,1,3" doc:"How many checkpoints are shown: 1 (default) or 3."`
}

// ForkInput starts a session at a checkpoint, or at a turn of this session.
type ForkInput struct {
	Checkpoint string `json:"checkpoint,omitempty" doc:"Hash or unique prefix; leave out to fork at a turn."`
	Turn       int64  `json:"turn,omitempty" minimum:"1" doc:"Sequence number of the turn to fork at: a message is to be said anew, an answer is the last turn that is copied."`
	Scope      string `json:"scope,omitempty" enum:"path,related,all" doc:"From a turn: which turns are copied. Default: path, what leads to it; related adds the versions that edits left aside, all is everything."`
	Branch     string `json:"branch,omitempty" doc:"Branch the new session works on."`
	Title      string `json:"title,omitempty"`
	Provider   string `json:"provider,omitempty"`
	Model      string `json:"model,omitempty"`
}

// AttachInput names the space a FRESH session moves to.
type AttachInput struct {
	Space string `json:"space" minLength:"1" doc:"Id or name of the space."`
}

// TitleInput sets a title.
type TitleInput struct {
	Title string `json:"title,omitempty"`
}

// SessionFilter narrows a list of sessions.
type SessionFilter struct {
	Kind dhruva.SessionKind
	dhruva.Page
}

// Turn is one message of a session.
type Turn struct {
	ID        dhruva.TurnID    `json:"id"`
	Session   dhruva.SessionID `json:"session_id"`
	Seq       int64            `json:"sequence_number"`
	Parent    int64            `json:"parent" doc:"Number of the turn this one follows; 0 at the root."`
	Role      dhruva.Role      `json:"role"`
	Speaker   string           `json:"speaker,omitempty" doc:"Name of the person who speaks, where several do."`
	Content   string           `json:"content"`
	Provider  string           `json:"provider"`
	Model     string           `json:"model"`
	Versions  []int64          `json:"versions,omitempty" doc:"In a path: the numbers of all versions of this turn, where there are several."`
	Interim   bool             `json:"interim,omitempty" doc:"Text that stood beside a tool call."`
	Truncated bool             `json:"truncated,omitempty" doc:"Cut by a limit."`
	Backfill  bool             `json:"backfill,omitempty" doc:"Learned from a later request's history."`
	Redacted  bool             `json:"redacted,omitempty" doc:"The content was purged; the number stays."`
	CreatedAt time.Time        `json:"created_at"`
}

// Sessions lists the sessions of a space, last used first.
func (c *Client) Sessions(ctx context.Context, space string, f SessionFilter) (List[Session], error) {
	q := url.Values{}
	setIf(q, "kind", string(f.Kind))
	return call[List[Session]](ctx, c, http.MethodGet, spacePath(space)+"/sessions"+pageQuery(f.Page, q), nil)
}

// CreateSession makes a session in a space; an empty space makes a FRESH one.
func (c *Client) CreateSession(ctx context.Context, space string, in SessionInput) (Session, error) {
	path := "/sessions"
	if space != "" {
		path = spacePath(space) + "/sessions"
	}
	return call[Session](ctx, c, http.MethodPost, path, in)
}

// Session finds a session.
func (c *Client) Session(ctx context.Context, id dhruva.SessionID) (Session, error) {
	return call[Session](ctx, c, http.MethodGet, sessionPath(id), nil)
}

// DeleteSession hides a session; its turns are not erased.
func (c *Client) DeleteSession(ctx context.Context, id dhruva.SessionID) error {
	return c.none(ctx, http.MethodDelete, sessionPath(id))
}

// Attach moves a FRESH session into a space.
func (c *Client) Attach(ctx context.Context, id dhruva.SessionID, space string) (Session, error) {
	return call[Session](ctx, c, http.MethodPut, sessionPath(id)+"/attach", AttachInput{Space: space})
}

// SetTitle names a session.
func (c *Client) SetTitle(ctx context.Context, id dhruva.SessionID, title string) (Session, error) {
	return call[Session](ctx, c, http.MethodPost, sessionPath(id)+"/title", TitleInput{Title: title})
}

// Turns lists a session's turns after a sequence number, in order.
func (c *Client) Turns(ctx context.Context, id dhruva.SessionID, after int64, limit int) (List[Turn], error) {
	p := dhruva.Page{Limit: limit}
	if after > 0 {
		p.After = strconv.FormatInt(after, 10)
	}
	return call[List[Turn]](ctx, c, http.MethodGet, sessionPath(id)+"/turns"+pageQuery(p, nil), nil)
}

// Mount mounts a checkpoint in a session.
func (c *Client) Mount(ctx context.Context, id dhruva.SessionID, in MountInput) (Session, error) {
	return call[Session](ctx, c, http.MethodPut, sessionPath(id)+"/mount", in)
}

// Unmount takes the mounted checkpoint away.
func (c *Client) Unmount(ctx context.Context, id dhruva.SessionID) (Session, error) {
	return call[Session](ctx, c, http.MethodDelete, sessionPath(id)+"/mount", nil)
}

// Fork starts a new session from a checkpoint or a turn of a session.
func (c *Client) Fork(ctx context.Context, id dhruva.SessionID, in ForkInput) (Session, error) {
	return call[Session](ctx, c, http.MethodPost, sessionPath(id)+"/fork", in)
}

// ForkCheckpoint starts a new session from a checkpoint, whatever session it
// was saved from.
func (c *Client) ForkCheckpoint(ctx context.Context, ref string, in ForkInput) (Session, error) {
	return call[Session](ctx, c, http.MethodPost, "/checkpoints/"+url.PathEscape(ref)+"/fork", in)
}

func sessionPath(id dhruva.SessionID) string { return "/sessions/" + url.PathEscape(string(id)) }
