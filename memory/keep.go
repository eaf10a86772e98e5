package memory

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// upkeepLease is the installation's lease of the node that sweeps.
const upkeepLease = "upkeep"

// keep sweeps, now and then, on one node of the installation at a time. It needs
// no fence: each step reads again what it decides on.
func (r *runner) keep(ctx context.Context) {
	tenure := &ledger.Tenure{Ledger: r.Ledger, Scope: r.node.System, Name: upkeepLease, Owner: r.node.ID}
	var fed time.Time
	for {
		held, err := tenure.Hold(ctx)
		if !r.failed(ctx, "the lease of the sweep", err) && held {
			feeds := fed.IsZero() || time.Since(fed) >= r.pace.Feed
			if feeds {
				fed = time.Now()
			}
			r.sweep(ctx, tenure, feeds)
		}
		r.observe(ctx)
		if !pause(ctx, r.Ledger.Jitter(r.pace.Sweep)) {
			break
		}
	}
	end, cancel := r.ending(ctx)
	defer cancel()
	r.failed(end, "the lease of the sweep could not be released", tenure.Release(end))
}

// sweep goes through all tenants, for as long as the lease is held.
func (r *runner) sweep(ctx context.Context, tenure *ledger.Tenure, feeds bool) {
	_, err := r.Ledger.RemoveDeadNodes(ctx, r.node.System)
	r.failed(ctx, "dead nodes could not be removed", err)
	_, live, err := r.Ledger.Nodes(ctx, r.node.System)
	if r.failed(ctx, "nodes could not be listed", err) {
		return
	}
	live[r.node.ID] = true
	all, err := r.Ledger.Tenants(ctx, r.node.System)
	if r.failed(ctx, "tenants could not be listed", err) {
		return
	}
	hinted := r.feeds.take()
	for _, t := range all {
		held, err := tenure.Hold(ctx)
		if r.failed(ctx, "the lease of the sweep", err) || !held {
			return
		}
		r.sweepTenant(ctx, t, live)
		spaces := slices.DeleteFunc(slices.Clone(hinted), func(s dhruva.Scope) bool { return s.Tenant() != t })
		if feeds {
			spaces = r.spacesOf(ctx, t, spaces)
		}
		for _, s := range spaces {
			_, err := r.Ledger.KeepFeed(ctx, s, live)
			if r.failed(ctx, "a feed could not be kept", err) {
				break
			}
		}
	}
}

func (r *runner) sweepTenant(ctx context.Context, t dhruva.TenantID, live map[dhruva.NodeID]bool) {
	n, err := r.Ledger.InterruptReceipts(ctx, t, live)
	r.failed(ctx, "open receipts could not be ended", err)
	if n > 0 && r.Log != nil {
		r.Log.InfoContext(ctx, "receipts of processes that are gone were ended as interrupted", "receipts", n)
	}
	r.failed(ctx, "expired calls could not be removed", r.Ledger.ForgetCalls(ctx, t))
	_, err = r.Ledger.DropJobs(ctx, t)
	r.failed(ctx, "done jobs could not be removed", err)
}

// spacesOf adds the listed spaces of a tenant to those that were written to:
// homes are on no list.
func (r *runner) spacesOf(ctx context.Context, t dhruva.TenantID, known []dhruva.Scope) []dhruva.Scope {
	all, err := r.Ledger.Spaces(ctx, t)
	r.failed(ctx, "spaces could not be listed", err)
	for _, id := range all {
		known = append(known, dhruva.SpaceScope(t, id))
	}
	slices.SortFunc(known, dhruva.Scope.Compare)
	return slices.Compact(known)
}

// observe keeps how the background work stands, for who asks (Standing).
func (r *runner) observe(ctx context.Context) {
	s, err := r.Ledger.Standing(ctx, r.node.System)
	if !r.failed(ctx, "how background work stands could not be read", err) {
		r.standing.Store(&s)
	}
}

// Standing is how the background work stood at the last sweep of this process;
// false when it runs none.
func (m *Memory) Standing() (ledger.Standing, bool) {
	s := m.standing.Load()
	if s == nil {
		return ledger.Standing{}, false
	}
	return *s, true
}

// report puts this node's cursors: how far the index of each space that it holds
// has come. So that an index that nobody asks does not hold its feed back, it is
// brought up to the head first.
func (r *runner) report(ctx context.Context) {
	put := map[dhruva.Scope]int64{}
	for pause(ctx, r.Ledger.Jitter(r.pace.Cursors)) {
		for _, p := range r.Recall.Followed() {
			r.failed(ctx, "an index could not be brought up to date", r.Recall.Follow(ctx, p.Scope))
		}
		r.putCursors(ctx, put)
	}
	end, cancel := r.ending(ctx)
	defer cancel()
	for _, s := range slices.SortedFunc(maps.Keys(put), dhruva.Scope.Compare) {
		if r.failed(end, "a cursor could not be taken back", r.Ledger.DropCursor(end, s, r.node.ID)) {
			return
		}
	}
}

// putCursors writes what changed since the last time.
func (r *runner) putCursors(ctx context.Context, put map[dhruva.Scope]int64) {
	gone := maps.Clone(put)
	for _, p := range r.Recall.Followed() {
		delete(gone, p.Scope)
		if seq, ok := put[p.Scope]; ok && seq == p.Seq {
			continue
		}
		err := r.Ledger.PutCursor(ctx, p.Scope, r.node.ID, p.Seq)
		switch {
		case errors.Is(err, dhruva.ErrNotFound), errors.Is(err, dhruva.ErrCompacted):
			// The space was deleted, or the feed left the index behind: the engine
			// notices when it follows it next.
		case !r.failed(ctx, "a cursor could not be put", err):
			put[p.Scope] = p.Seq
		}
	}
	for s := range gone {
		if !r.failed(ctx, "a cursor could not be taken back", r.Ledger.DropCursor(ctx, s, r.node.ID)) {
			delete(put, s)
		}
	}
}
