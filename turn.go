package dhruva

import "time"

// Turn is one message of a session. Turns are append-only: nothing edits them,
// a purge redacts them.
type Turn struct {
	Tenant  TenantID
	Space   SpaceID
	Session SessionID
	// Seq numbers turns from 1, gap-free, per session. (tenant, session, seq)
	// is the primary key.
	Seq int64
	ID  TurnID
	// Parent is the number of the turn this one answers or follows; 0 at the
	// root. An edit or a regeneration is a sibling.
	Parent int64
	// BeganAfter is the last number when the request of this turn began. A turn
	// is in a window only if BeganAfter >= base, so that a reply in flight at a
	// mount stays outside.
	BeganAfter int64
	Role       Role
	Content    string
	// Speaker is the name of a person who speaks, in conversations between
	// people; "" in chats with a model.
	Speaker  string
	Provider string
	Model    string
	// Interim: visible text that stood beside a tool call.
	Interim bool
	// Truncated: the text was cut by a limit.
	Truncated bool
	// Backfill: the turn was learned from a later request's history.
	Backfill bool
	// Redacted: the content was purged; the number stays.
	Redacted  bool
	CreatedAt time.Time
}

// Seam is a turn that does not simply continue the one before it, without its
// text: its Parent is not the number before its own, its request began before the
// turn before the one before it (BeganAfter < Seq-2), its text was purged, or it
// is neither a user's nor an assistant's. A window is known by its seams: between
// them it is all there.
type Seam struct {
	Seq, Parent, BeganAfter int64
	Role                    Role
	Redacted                bool
}

// Seam tells whether the turn is one. Whoever lists seams agrees with this.
func (t Turn) Seam() (Seam, bool) {
	s := Seam{t.Seq, t.Parent, t.BeganAfter, t.Role, t.Redacted}
	return s, t.Parent != t.Seq-1 || t.BeganAfter < t.Seq-2 || t.Redacted || t.Role != RoleUser && t.Role != RoleAssistant
}

// Window is a range of turns of one session: those with Base < Seq <= Through
// and BeganAfter >= Base. Through 0 means up to the last turn.
type Window struct {
	Session SessionID
	Base    int64
	Through int64
}

// Contains reports whether a turn lies in the window.
func (w Window) Contains(t Turn) bool {
	return t.Session == w.Session && t.Seq > w.Base && t.BeganAfter >= w.Base && (w.Through == 0 || t.Seq <= w.Through)
}

// Mode is how a session's context is chosen.
type Mode string

// The modes (state-plane: context modes).
const (
	ModeFresh   Mode = "FRESH"
	ModeHead    Mode = "HEAD"
	ModeMounted Mode = "MOUNTED"
	ModeForked  Mode = "FORKED"
)
