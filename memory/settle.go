package memory

import (
	"context"

	"github.com/dhruva-memory/dhruva"
)

// Settle does the background work that is due now, once, and keeps no lease: for
// a process that opened the store for one command. It does jobs of all tenants and
// gives pending leaves their places, one after the other, and returns when
// nothing is due or ctx has ended. What fails is logged and left to the next
// process that runs; a node that runs now does it all anyway.
func (m *Memory) Settle(ctx context.Context, n Node) error {
	r, err := m.runner(n)
	if err != nil {
		return err
	}
	all, err := m.Ledger.Tenants(ctx, n.System)
	if err != nil {
		return err
	}
	for _, t := range all {
		r.workOnce(ctx, t)
		_, err := m.Ledger.SettleLeaves(ctx, t, n.ID)
		r.failed(ctx, "audit leaves have not got their places yet", err)
	}
	return nil
}

// workOnce does the due jobs of one tenant.
func (r *runner) workOnce(ctx context.Context, t dhruva.TenantID) {
	for ctx.Err() == nil && r.due(ctx, t) {
		claimed, _, err := r.Ledger.ClaimJobs(ctx, t, r.node.ID, r.kinds, 1)
		if r.failed(ctx, "jobs could not be claimed", err) {
			return
		}
		for _, j := range claimed {
			r.do(ctx, j)
		}
	}
}
