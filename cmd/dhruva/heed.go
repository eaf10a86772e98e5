package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/serve/api"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// heeded counts what a restored store forgot again.
type heeded struct {
	ledger.Erased
	auth.Access
	Generations int `json:"generations"`
	Spaces      int `json:"spaces"`
	Sessions    int `json:"sessions"`
	Checkpoints int `json:"checkpoints"`
	Documents   int `json:"documents"`
}

func (h heeded) words() string {
	var out []string
	for _, c := range []struct {
		n         int
		one, many string
	}{
		{h.Sources, "source", "sources"}, {h.Turns, "turn", "turns"}, {h.Items, "item of a checkpoint", "items of checkpoints"},
		{h.Generations, "generation of a space", "generations of spaces"}, {h.Spaces, "space", "spaces"}, {h.Sessions, "session", "sessions"}, {h.Checkpoints, "checkpoint", "checkpoints"}, {h.Documents, "document", "documents"},
		{h.Keys, "key", "keys"}, {h.Users, "user", "users"}, {h.Grants, "grant", "grants"}, {h.Providers, "provider", "providers"},
	} {
		if c.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", c.n, plural(c.n, c.one, c.many)))
		}
	}
	return strings.Join(out, ", ")
}

// heeding has a restored store heed what the stores that are asked say of what
// was deleted and revoked since the backup was made.
type heeding struct {
	*program
	dir, file string
	keyring   dhruva.Keyring // nil: there is no master key
	without   bool
	later     []string

	heeded  heeded
	asked   []string // which stores knew
	unknown string   // what is not known, for people; "" when all is
}

func (h *heeding) heed(ctx context.Context, c sqlstore.Consulted) error {
	restored, err := c.Restored.Survey(ctx)
	if err != nil {
		return err
	}
	kids, err := kidsOf(ctx, c.Restored)
	if err != nil {
		return err
	}
	if err := h.sameKeys(kids); err != nil {
		return err
	}
	var reasons []string
	for n, s := range c.Later {
		why, err := h.ask(ctx, c.Restored, restored, kids, s)
		if err != nil {
			return err
		}
		if why != "" {
			reasons = append(reasons, fmt.Sprintf("%s does not go on from the backup: %s", h.later[n], why))
			continue
		}
		h.asked = append(h.asked, h.later[n])
	}
	why, err := h.askPresent(ctx, c, restored, kids)
	if err != nil {
		return err
	}
	if why != "" {
		reasons = append(reasons, why)
	}
	if err := h.judge(reasons); err != nil {
		return err
	}
	return h.sound(ctx, c.Restored, restored)
}

// sameKeys refuses a backup that was made under another master key than the one
// that is here.
func (h *heeding) sameKeys(kids map[dhruva.TenantID]string) error {
	for _, kid := range kids {
		if h.keyring != nil && kid != h.keyring.KID() {
			return withFix(fmt.Errorf("%w: %s was made under another %s (%s, the one in %s is %s)", dhruva.ErrInvalid, h.file, auth.MasterKeyFile, kid, h.dir, h.keyring.KID()),
				"put the %s that belongs to the backup there, or give another directory with --data", auth.MasterKeyFile)
		}
	}
	return nil
}

// askPresent asks the store that is replaced; why says why it does not know.
func (h *heeding) askPresent(ctx context.Context, c sqlstore.Consulted, restored sqlstore.Survey, kids map[dhruva.TenantID]string) (why string, err error) {
	switch {
	case c.Unreadable != nil:
		return "the store that is there cannot be read (" + api.Words(c.Unreadable) + ")", nil
	case c.Present == nil:
		return "no store is there", nil
	}
	why, err = h.ask(ctx, c.Restored, restored, kids, c.Present)
	if err != nil {
		return "", err
	}
	if why != "" {
		return "the store that is there does not go on from the backup: " + why, nil
	}
	h.asked = append(h.asked, "the store that was there")
	return "", nil
}

// judge says whether enough is known to go on. reasons say why a store does not
// know all that was deleted; what it says outright is heeded all the same.
func (h *heeding) judge(reasons []string) error {
	why := strings.Join(reasons, "; ")
	switch {
	case why == "":
		return nil
	case len(h.asked) > 0:
		h.unknown = fmt.Sprintf("what was deleted is known as of %s, and may not be all: %s", strings.Join(h.asked, ", "), why)
		return nil
	case h.without:
		h.unknown = fmt.Sprintf("what was deleted after the backup was made is not known, and may be back: %s", why)
		return nil
	}
	return withFix(usage("what was deleted since this backup was made is not known, and would come back: %s", why),
		"give a later backup, or the store that was replaced last, with --tombstones; or add --without-tombstones, and delete again what must not be there")
}

// ask has the restored store heed another one. why says why that one did not go
// on from the backup; then only what it says outright is heeded.
func (h *heeding) ask(ctx context.Context, into *sqlstore.Store, restored sqlstore.Survey, kids map[dhruva.TenantID]string, later *sqlstore.Store) (why string, err error) {
	theirs, err := kidsOf(ctx, later)
	if err != nil {
		return "", err
	}
	for t, kid := range kids {
		if other, ok := theirs[t]; ok && other != kid {
			return "it was made under another " + auth.MasterKeyFile, nil
		}
	}
	survey, err := later.Survey(ctx)
	if err != nil {
		return "", err
	}
	if why, err = goesOn(ctx, into, restored, later, survey); err != nil {
		return "", err
	}
	if h.keyring == nil {
		return why, withFix(fmt.Errorf("%w: no %s in %s: without it what was deleted since cannot be found in the backup", dhruva.ErrNotFound, auth.MasterKeyFile, h.dir),
			"put the %s that belongs to the backup there first", auth.MasterKeyFile)
	}
	f := forgetting{ledger: ledger.New(into, h.keyring), here: restored, there: survey, later: why == "", done: &h.heeded}
	if err := f.run(ctx); err != nil {
		return why, err
	}
	for t := range kids {
		a, err := auth.Heed(ctx, into, later, t, why == "")
		if h.heeded.Access.Add(a); err != nil {
			return why, err
		}
	}
	return why, nil
}

// goesOn says why a store is not a later state of another one; "" when it is:
// nothing that was there is missing, and each session goes on from the same turn.
// Spaces, sessions, checkpoints and keys are hidden or revoked, never dropped, and
// numbers never sink. A store that was restored from an older backup in between is
// none, though it may be younger: what it lacks it may have forgotten with the
// deletion of it.
func goesOn(ctx context.Context, into dhruva.Store, earlier sqlstore.Survey, from dhruva.Store, later sqlstore.Survey) (why string, err error) {
	type id struct {
		tenant dhruva.TenantID
		name   string
	}
	spaces, has := map[id]sqlstore.SurveyedSpace{}, map[any]bool{}
	for _, s := range later.Spaces {
		spaces[id{s.Tenant, string(s.Space)}] = s
	}
	for _, c := range later.Checkpoints {
		has[checkpointOf(c)] = true
	}
	for _, k := range later.Keys {
		has[k] = true
	}
	for _, s := range earlier.Spaces {
		if now, ok := spaces[id{s.Tenant, string(s.Space)}]; !ok || !now.CreatedAt.Equal(s.CreatedAt) || now.Head < s.Head || now.Generation < s.Generation {
			return "it lacks a space of the backup, or is older there", nil
		}
	}
	for _, c := range earlier.Checkpoints {
		if !has[checkpointOf(c)] {
			return "it lacks a checkpoint of the backup", nil
		}
	}
	for _, k := range earlier.Keys {
		if !has[k] {
			return "it lacks a key of the backup", nil
		}
	}
	err = sameTurns(ctx, into, from, earlier.Sessions, &why)
	return why, err
}

// checkpointKey names a checkpoint.
type checkpointKey struct {
	tenant dhruva.TenantID
	hash   dhruva.Hash
}

func checkpointOf(c sqlstore.SurveyedCheckpoint) checkpointKey {
	return checkpointKey{c.Tenant, c.Hash}
}

// sameTurns compares the last turn of each session of the backup.
func sameTurns(ctx context.Context, into, from dhruva.Store, sessions []sqlstore.SurveyedSession, why *string) error {
	for len(sessions) > 0 && *why == "" {
		tenant, n := sessions[0].Tenant, 1
		for n < len(sessions) && n < 1000 && sessions[n].Tenant == tenant {
			n++
		}
		here, err := lastTurns(ctx, into, tenant, sessions[:n])
		if err != nil {
			return err
		}
		there, err := lastTurns(ctx, from, tenant, sessions[:n])
		if err != nil {
			return err
		}
		if !slices.Equal(here, there) {
			*why = "it lacks a session of the backup, or the session went on in another way there"
		}
		sessions = sessions[n:]
	}
	return nil
}

// lastTurns are the ids of the turns that were the last ones of sessions; of a
// session without one, whether it is there.
func lastTurns(ctx context.Context, s dhruva.Store, tenant dhruva.TenantID, sessions []sqlstore.SurveyedSession) (out []string, err error) {
	err = s.View(ctx, dhruva.TenantScope(tenant), func(tx dhruva.Tx) error {
		out = nil
		for _, session := range sessions {
			row, err := tx.Session(session.ID)
			name := string(row.ID)
			if err == nil && session.LastSeq > 0 {
				var t dhruva.Turn
				t, err = tx.Turn(session.ID, session.LastSeq)
				name = string(t.ID)
			}
			if err != nil && !errors.Is(err, dhruva.ErrNotFound) {
				return err
			}
			out = append(out, name)
		}
		return nil
	})
	return out, err
}

// kidsOf are the names of the keys under which each tenant's rows were made.
func kidsOf(ctx context.Context, s dhruva.Store) (map[dhruva.TenantID]string, error) {
	out := map[dhruva.TenantID]string{}
	err := s.View(ctx, dhruva.SystemScope(), func(tx dhruva.Tx) error {
		clear(out)
		for page := (dhruva.Page{Limit: 1000}); ; {
			rows, err := tx.ListTenants(page)
			if err != nil || len(rows) == 0 {
				return err
			}
			for _, t := range rows {
				out[t.ID] = t.KID
			}
			page.After = string(rows[len(rows)-1].ID)
		}
	})
	return out, err
}

// sound recomputes the checkpoints of every space: what was erased leaves a
// lineage that verifies.
func (h *heeding) sound(ctx context.Context, s dhruva.Store, restored sqlstore.Survey) error {
	for _, sp := range restored.Spaces {
		err := s.View(ctx, dhruva.SpaceScope(sp.Tenant, sp.Space), func(tx dhruva.Tx) error {
			_, err := verifySpace(tx, sp.Space)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// forgetting is what a store forgets of what is here, since a later survey says
// so.
type forgetting struct {
	ledger      *ledger.Ledger
	here, there sqlstore.Survey
	later       bool // there is a later state of here: what it lacks was taken away
	done        *heeded
}

func (f forgetting) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{f.generations, f.texts, f.sessions, f.checkpoints, f.documents} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// generations end here that have ended there, and spaces are hidden.
func (f forgetting) generations(ctx context.Context) error {
	here := map[dhruva.Scope]sqlstore.SurveyedSpace{}
	for _, s := range f.here.Spaces {
		here[dhruva.SpaceScope(s.Tenant, s.Space)] = s
	}
	for _, now := range f.there.Spaces {
		scope := dhruva.SpaceScope(now.Tenant, now.Space)
		was, ok := here[scope]
		if !ok {
			continue
		}
		if err := f.end(ctx, scope, was, now); err != nil {
			return err
		}
		if now.DeletedAt.IsZero() {
			continue
		}
		hidden, err := f.ledger.HideSpace(ctx, scope, now.DeletedAt)
		if err != nil {
			return err
		}
		if hidden {
			f.done.Spaces++
		}
	}
	return nil
}

func (f forgetting) end(ctx context.Context, scope dhruva.Scope, was, now sqlstore.SurveyedSpace) error {
	if now.Fence == 0 && now.Generation == was.Generation && now.ACLVersion <= was.ACLVersion {
		return nil
	}
	in := ledger.Ending{Generation: now.Generation, Fence: now.Fence, ACLVersion: now.ACLVersion, Sessions: map[dhruva.SessionID]int64{}}
	for _, r := range was.Replays {
		if r.Generation <= now.Fence {
			in.Replays = append(in.Replays, r.ID)
		}
	}
	if now.Generation > was.Generation { // all that was said until the backup was made is of what has ended since
		f.done.Generations += int(now.Generation - was.Generation)
		for _, s := range f.here.Sessions {
			if s.Tenant == scope.Tenant() && s.Space == scope.Space() {
				in.Sessions[s.ID] = s.LastSeq
			}
		}
	}
	erased, err := f.ledger.End(ctx, scope, in)
	f.done.Erased.Add(erased)
	return err
}

// texts are erased here that were erased there: of sources, turns and items.
func (f forgetting) texts(ctx context.Context) error {
	gone := map[dhruva.Scope][]ledger.Gone{}
	f.sources(gone)
	f.turns(gone)
	f.items(gone)
	scopes := make([]dhruva.Scope, 0, len(gone))
	for s := range gone {
		scopes = append(scopes, s)
	}
	slices.SortFunc(scopes, dhruva.Scope.Compare)
	for _, s := range scopes {
		erased, err := f.ledger.Erase(ctx, s, gone[s])
		if f.done.Erased.Add(erased); err != nil {
			return err
		}
	}
	return nil
}

func (f forgetting) sources(gone map[dhruva.Scope][]ledger.Gone) {
	type id struct {
		scope      dhruva.Scope
		generation int64
		source     dhruva.SourceID
	}
	of := func(t sqlstore.SurveyedTombstone) id {
		return id{dhruva.SpaceScope(t.Tenant, t.Space), t.Generation, t.Source}
	}
	known, spaces := map[id]bool{}, map[dhruva.Scope]bool{}
	for _, t := range f.here.Tombstones {
		known[of(t)] = t.State != "pending"
	}
	for _, s := range f.here.Spaces {
		spaces[dhruva.SpaceScope(s.Tenant, s.Space)] = true
	}
	for _, t := range f.there.Tombstones {
		if k := of(t); spaces[k.scope] && !known[k] {
			gone[k.scope] = append(gone[k.scope], ledger.Gone{Source: &t.Tombstone})
		}
	}
}

func (f forgetting) turns(gone map[dhruva.Scope][]ledger.Gone) {
	type id struct {
		tenant  dhruva.TenantID
		session dhruva.SessionID
	}
	space := map[id]dhruva.SpaceID{}
	for _, s := range f.here.Sessions {
		space[id{s.Tenant, s.ID}] = s.Space
	}
	known := map[sqlstore.SurveyedTurn]bool{}
	for _, t := range f.here.Turns {
		known[t] = true
	}
	for _, t := range f.there.Turns {
		at, ok := space[id{t.Tenant, t.Session}]
		if !ok || known[t] {
			continue
		}
		scope := dhruva.SpaceScope(t.Tenant, at)
		gone[scope] = append(gone[scope], ledger.Gone{Turn: &ledger.Place{Session: t.Session, Seq: t.Seq, ID: t.ID}})
	}
}

func (f forgetting) items(gone map[dhruva.Scope][]ledger.Gone) {
	known := map[sqlstore.SurveyedItem]bool{}
	for _, i := range f.here.Items {
		known[i] = true
	}
	for _, i := range f.there.Items {
		if scope := dhruva.SpaceScope(i.Tenant, i.Space); !known[i] {
			gone[scope] = append(gone[scope], ledger.Gone{Item: &ledger.Stub{Checkpoint: i.Checkpoint, Item: i.ID}})
		}
	}
}

// sessions are hidden here that were deleted there.
func (f forgetting) sessions(ctx context.Context) error {
	type id struct {
		tenant  dhruva.TenantID
		session dhruva.SessionID
	}
	deleted := map[id]time.Time{}
	for _, s := range f.there.Sessions {
		if !s.DeletedAt.IsZero() {
			deleted[id{s.Tenant, s.ID}] = s.DeletedAt
		}
	}
	for _, s := range f.here.Sessions {
		at, ok := deleted[id{s.Tenant, s.ID}]
		if !ok || !s.DeletedAt.IsZero() {
			continue
		}
		hidden, err := f.ledger.HideSession(ctx, dhruva.SpaceScope(s.Tenant, s.Space), s.ID, at)
		if err != nil {
			return err
		}
		if hidden {
			f.done.Sessions++
		}
	}
	return nil
}

// checkpoints are hidden here that were deleted there, the newest first, so that a
// head that leaves one comes to what stays.
func (f forgetting) checkpoints(ctx context.Context) error {
	deleted := map[checkpointKey]time.Time{}
	for _, c := range f.there.Checkpoints {
		if !c.HiddenAt.IsZero() {
			deleted[checkpointOf(c)] = c.HiddenAt
		}
	}
	here := slices.Clone(f.here.Checkpoints)
	slices.SortFunc(here, func(a, b sqlstore.SurveyedCheckpoint) int { return b.CreatedAt.Compare(a.CreatedAt) })
	for _, c := range here {
		at, ok := deleted[checkpointOf(c)]
		if !ok || !c.HiddenAt.IsZero() {
			continue
		}
		hidden, err := f.ledger.HideCheckpoint(ctx, dhruva.SpaceScope(c.Tenant, c.Space), c.Hash, at)
		if err != nil {
			return err
		}
		if hidden {
			f.done.Checkpoints++
		}
	}
	return nil
}

// documents are dropped here that a later state has not: nothing else tells of one
// that was dropped.
func (f forgetting) documents(ctx context.Context) error {
	if !f.later {
		return nil
	}
	type id struct {
		tenant   dhruva.TenantID
		document dhruva.DocumentID
	}
	kept := map[id]bool{}
	for _, d := range f.there.Documents {
		kept[id{d.Tenant, d.ID}] = true
	}
	for _, d := range f.here.Documents {
		if kept[id{d.Tenant, d.ID}] {
			continue
		}
		dropped, err := f.ledger.ForgetDocument(ctx, dhruva.SpaceScope(d.Tenant, d.Space), d.ID)
		if err != nil {
			return err
		}
		if dropped {
			f.done.Documents++
		}
	}
	return nil
}
