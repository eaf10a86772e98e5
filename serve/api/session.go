package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/ledger"
)

// InSession is the path of a session.
type InSession struct {
	ID dhruva.SessionID `path:"id" doc:"Id of the session."`
}

func (in *InSession) session() dhruva.SessionID { return in.ID }

func (a *api) sessions() {
	tags := []string{"sessions"}
	route(a, huma.Operation{OperationID: "list-sessions", Method: http.MethodGet, Path: "/spaces/{space}/sessions", Summary: "List the sessions of a space, last used first", Tags: tags}, a.listSessions)
	changes(a, huma.Operation{OperationID: "create-session", Method: http.MethodPost, Path: "/spaces/{space}/sessions", Summary: "Start a session in a space", Tags: tags, DefaultStatus: http.StatusCreated}, dhruva.StateWrite, (*api).createSession, madeSession)
	changes(a, huma.Operation{OperationID: "create-fresh-session", Method: http.MethodPost, Path: "/sessions", Summary: "Start a FRESH session", Tags: tags, DefaultStatus: http.StatusCreated}, dhruva.StateWrite, (*api).createFresh, madeSession)
	route(a, huma.Operation{OperationID: "show-session", Method: http.MethodGet, Path: "/sessions/{id}", Summary: "Show a session", Tags: tags}, a.showSession)
	acts(a, huma.Operation{OperationID: "delete-session", Method: http.MethodDelete, Path: "/sessions/{id}", Summary: "Hide a session; its turns are not erased", Tags: tags}, dhruva.StateWrite, (*api).deleteSession)
	changes(a, huma.Operation{OperationID: "attach-session", Method: http.MethodPut, Path: "/sessions/{id}/attach", Summary: "Move a FRESH session into a space", Tags: tags}, dhruva.StateWrite, (*api).attach, thatSession)
	change[titleIn, client.Session]{needs: dhruva.StateWrite, do: (*api).setTitle, again: thatSession[*titleIn], claim: sendTime}.register(a,
		huma.Operation{OperationID: "title-session", Method: http.MethodPost, Path: "/sessions/{id}/title", Summary: "Name a session; without a title a model does", Tags: tags})
	route(a, huma.Operation{OperationID: "list-turns", Method: http.MethodGet, Path: "/sessions/{id}/turns", Summary: "List a session's turns in order", Tags: tags}, a.listTurns)
	changes(a, huma.Operation{OperationID: "mount-checkpoint", Method: http.MethodPut, Path: "/sessions/{id}/mount", Summary: "Mount a checkpoint", Tags: tags}, dhruva.StateWrite, (*api).mount, thatSession)
	changes(a, huma.Operation{OperationID: "unmount-checkpoint", Method: http.MethodDelete, Path: "/sessions/{id}/mount", Summary: "Take the mounted checkpoint away", Tags: tags}, dhruva.StateWrite, (*api).unmount, thatSession)
	changes(a, huma.Operation{OperationID: "fork-session", Method: http.MethodPost, Path: "/sessions/{id}/fork", Summary: "Start a new session from a checkpoint or a turn", Tags: tags, DefaultStatus: http.StatusCreated}, dhruva.StateWrite, (*api).fork, madeSession)
	route(a, huma.Operation{OperationID: "preview-prompt", Method: http.MethodPost, Path: "/sessions/{id}/preview", Summary: "Show the exact prompt a send would make", Tags: tags}, a.preview)
	a.sendRoute(tags)
}

func (a *api) listSessions(ctx context.Context, in *struct {
	InSpace
	Paging
	Kind string `query:"kind" enum:"chat,proxy,notes"`
}) (client.List[client.Session], error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.List[client.Session]{}, err
	}
	page, err := in.byID()
	if err != nil {
		return client.List[client.Session]{}, err
	}
	rows, next, err := a.ledger.ListSessions(ctx, dhruva.SessionQuery{Space: s.ID, Kind: dhruva.SessionKind(in.Kind), Page: page})
	return list(rows, next, sessionView), err
}

func (a *api) createSession(ctx context.Context, in *struct {
	InSpace
	Body client.SessionInput
}) (client.Session, error) {
	s, err := a.space(ctx, in.Space)
	if err != nil {
		return client.Session{}, err
	}
	return a.newSession(ctx, s.ID, in.Body)
}

func (a *api) createFresh(ctx context.Context, in *struct{ Body client.SessionInput }) (client.Session, error) {
	return a.newSession(ctx, "", in.Body)
}

func (a *api) newSession(ctx context.Context, space dhruva.SpaceID, in client.SessionInput) (client.Session, error) {
	seeded, err := dhruva.ParseHash(in.Seeded)
	if err != nil {
		return client.Session{}, err
	}
	s, err := a.ledger.CreateSession(ctx, ledger.SessionInput{
		Space: space, Kind: dhruva.SessionChat, Title: in.Title, Provider: in.Provider, Model: in.Model, Seeded: seeded,
	})
	return sessionView(s), err
}

func (a *api) showSession(ctx context.Context, in *InSession) (client.Session, error) {
	s, err := a.ledger.Session(ctx, in.ID)
	return sessionView(s), err
}

// known refuses a filter by a session that never was. Of one that is hidden
// checkpoints and receipts remain, so it is asked only where nothing was found;
// a key that may not see sessions is not told.
func (a *api) known(ctx context.Context, id dhruva.SessionID) error {
	if id == "" {
		return nil
	}
	if _, err := a.ledger.Session(ctx, id); errors.Is(err, dhruva.ErrNotFound) {
		return err
	}
	return nil
}

func (a *api) deleteSession(ctx context.Context, in *InSession) error {
	return a.ledger.DeleteSession(ctx, in.ID)
}

func (a *api) attach(ctx context.Context, in *struct {
	InSession
	Body client.AttachInput
}) (client.Session, error) {
	space, err := a.space(ctx, in.Body.Space)
	if err != nil {
		return client.Session{}, err
	}
	s, err := a.ledger.Attach(ctx, in.ID, space.ID)
	return sessionView(s), err
}

type titleIn struct {
	InSession
	Body client.TitleInput
}

func (a *api) setTitle(ctx context.Context, in *titleIn) (client.Session, error) {
	if in.Body.Title == "" {
		s, err := a.memory.Title(ctx, in.ID)
		return sessionView(s), err
	}
	s, err := a.ledger.SetTitle(ctx, in.ID, in.Body.Title)
	return sessionView(s), err
}

func (a *api) listTurns(ctx context.Context, in *struct {
	InSession
	Paging
}) (client.List[client.Turn], error) {
	after, err := turnCursor(in.After)
	if err != nil {
		return client.List[client.Turn]{}, err
	}
	size := in.page().Size()
	rows, err := a.ledger.ListTurns(ctx, in.ID, after, size)
	if err != nil {
		return client.List[client.Turn]{}, err
	}
	next := ""
	if len(rows) == size {
		next = strconv.FormatInt(rows[size-1].Seq, 10)
	}
	return list(rows, next, turnView), nil
}

func turnCursor(after string) (int64, error) {
	if after == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(after, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%w: after is the sequence number of a turn", dhruva.ErrInvalid)
	}
	return n, nil
}

func (a *api) mount(ctx context.Context, in *struct {
	InSession
	Body client.MountInput
}) (client.Session, error) {
	s, err := a.ledger.Mount(ctx, in.ID, in.Body.Checkpoint, in.Body.Depth)
	return sessionView(s), err
}

func (a *api) unmount(ctx context.Context, in *InSession) (client.Session, error) {
	s, err := a.ledger.Unmount(ctx, in.ID)
	return sessionView(s), err
}

func (a *api) fork(ctx context.Context, in *struct {
	InSession
	Body client.ForkInput
}) (client.Session, error) {
	if (in.Body.Checkpoint == "") == (in.Body.Turn == 0) {
		return client.Session{}, fmt.Errorf("%w: give either a checkpoint or a turn to fork at", dhruva.ErrInvalid)
	}
	if in.Body.Turn != 0 {
		return a.forked(ctx, ledger.ForkInput{Session: in.ID, Seq: in.Body.Turn, Scope: ledger.ForkScope(in.Body.Scope)}, in.Body)
	}
	s, err := a.ledger.Session(ctx, in.ID)
	if err != nil {
		return client.Session{}, err
	}
	c, err := a.ledger.Checkpoint(ctx, in.Body.Checkpoint)
	if err == nil && c.Space != s.Space {
		err = fmt.Errorf("%w: checkpoint %s is not in the session's space", dhruva.ErrNotFound, in.Body.Checkpoint)
	}
	if err != nil {
		return client.Session{}, err
	}
	return a.forked(ctx, ledger.ForkInput{Checkpoint: c.Hash.String()}, in.Body)
}

func (a *api) forked(ctx context.Context, f ledger.ForkInput, in client.ForkInput) (client.Session, error) {
	f.Branch, f.Title, f.Provider, f.Model = in.Branch, in.Title, in.Provider, in.Model
	s, err := a.ledger.Fork(ctx, f)
	return sessionView(s), err
}

func sessionView(s dhruva.Session) client.Session {
	v := client.Session{
		ID: s.ID, Kind: s.Kind, Title: s.Title, Provider: s.Provider, Model: s.Model, Branch: s.Branch, Fresh: s.Fresh,
		Seeded: s.Seeded, ForkedFrom: s.ForkedFrom, LastSeq: s.LastSeq, Tip: cmp.Or(s.Tip, s.LastSeq), CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
	if !s.Fresh {
		v.SpaceID = &s.Space
	}
	if s.ForkedSession != "" {
		v.ForkedTurn = &client.TurnRef{Session: s.ForkedSession, Seq: s.ForkedSeq}
	}
	if m := s.Mount; m != nil {
		v.Mount = &client.Mount{Checkpoint: m.Checkpoint, Depth: m.Depth, Base: m.Base, At: m.At}
	}
	return v
}

func turnView(t dhruva.Turn) client.Turn {
	return client.Turn{
		ID: t.ID, Session: t.Session, Seq: t.Seq, Parent: t.Parent, Role: t.Role, Speaker: t.Speaker, Content: t.Content,
		Provider: t.Provider, Model: t.Model, Interim: t.Interim, Truncated: t.Truncated, Backfill: t.Backfill,
		Redacted: t.Redacted, CreatedAt: t.CreatedAt,
	}
}
