package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

func (r *rig) interrupt(live ...dhruva.NodeID) int {
	r.Helper()
	nodes := map[dhruva.NodeID]bool{}
	for _, n := range live {
		nodes[n] = true
	}
	return must[int](r)(r.l.InterruptReceipts(background, r.owner.Tenant, nodes))
}

// A receipt whose process is gone is interrupted when it is old; one of a live
// node is not, however old. It is closed once: by the sweep or by its request.
func TestReceiptsOfProcessesThatAreGone(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		opened := func(node dhruva.NodeID, space dhruva.SpaceID) dhruva.Receipt {
			l := *r.l
			l.Node = node
			return must[dhruva.Receipt](r)(l.OpenReceipt(r.ctx(), dhruva.Receipt{Kind: "proxy", Space: space}))
		}
		dead, alive, nobody := opened("dead", sp.ID), opened("alive", sp.ID), opened("", "")
		closed := opened("dead", "")
		r.must(r.l.CloseReceipt(r.ctx(), closed))
		if n := r.interrupt("alive"); n != 0 {
			t.Errorf("%d at once", n)
		}
		r.later(2 * time.Hour)
		young := opened("dead", sp.ID)
		if n := r.interrupt("alive"); n != 2 {
			t.Errorf("%d interrupted, want 2", n)
		}
		if n := r.interrupt("alive"); n != 0 {
			t.Errorf("%d interrupted twice", n)
		}
		for _, c := range []struct {
			id   dhruva.ReceiptID
			want string
		}{{dead.ID, "interrupted"}, {alive.ID, "open"}, {nobody.ID, "interrupted"}, {closed.ID, "final"}, {young.ID, "open"}} {
			if got := must[dhruva.Receipt](r)(r.l.Receipt(r.ctx(), c.id)); got.State != c.want || (got.State == ledger.ReceiptOpen) != got.FinishedAt.IsZero() {
				t.Errorf("%s is %s, finished %s, want %s", c.id, got.State, got.FinishedAt, c.want)
			}
		}
		r.is(r.l.CloseReceipt(r.ctx(), dead), dhruva.ErrConflict)
		r.must(r.l.CloseReceipt(r.ctx(), alive))
		r.later(2 * time.Hour)
		if n := r.interrupt(); n != 1 {
			t.Errorf("%d interrupted, want 1", n)
		}
	})
}

// Receipts of hidden spaces and of homes too, and more than one page.
func TestManyReceiptsAreInterrupted(t *testing.T) {
	each(t, func(r *rig) {
		spaces := []dhruva.SpaceID{r.space("one").ID, r.space("two").ID, "", r.session("").Space}
		for n := range 210 {
			r.opened("proxy", spaces[n%len(spaces)])
		}
		r.must(r.l.DeleteSpace(r.ctx(), spaces[0]))
		r.later(2 * time.Hour)
		if n := r.interrupt(); n != 210 {
			t.Errorf("%d interrupted", n)
		}
		rows, _, err := r.l.ListReceipts(r.ctx(), dhruva.ReceiptQuery{State: ledger.ReceiptOpen})
		r.must(err)
		if len(rows) != 0 {
			t.Errorf("%d are open", len(rows))
		}
	})
}

func TestStanding(t *testing.T) {
	each(t, func(r *rig) {
		sys := dhruva.SystemScope()
		r.must(r.store.Update(background, []dhruva.Scope{sys, r.owner.Scope()}, func(tx dhruva.Tx) error {
			return tx.PutTenant(dhruva.Tenant{ID: r.owner.Tenant, Name: "t", CreatedAt: r.now})
		}))
		empty, err := r.l.Standing(background, sys)
		r.must(err)
		if len(empty.Nodes) != 0 || len(empty.Tenants) != 1 || empty.Tenants[0] != (ledger.TenantStanding{Tenant: r.owner.Tenant}) {
			t.Errorf("%+v", empty)
		}
		r.queue("a", "b", "c")
		r.l.Upkeep.JobAttempts = 1
		must[dhruva.Job](r)(r.l.FailJob(background, r.claims("w", 2)[0], fmt.Errorf("no")))
		space := r.space("work").ID
		s := r.session(space)
		r.talk(s.ID, "river", 4)
		r.must(r.l.PutCursor(background, r.owner.In(space), "n", 3))
		r.opened("proxy", space)
		r.attested(5)
		must[int](r)(r.l.SettleLeaves(background, r.owner.Tenant, "n"))
		r.attested(2)
		must[dhruva.Node](r)(r.l.Heartbeat(background, sys, dhruva.Node{ID: "n"}))
		got, err := r.l.Standing(background, sys)
		r.must(err)
		want := ledger.TenantStanding{Tenant: r.owner.Tenant, Placed: 5, Pending: 2, Queued: 1, Leased: 1, Dead: 1, Open: 1, Kept: 8, Lag: 5, Lagging: space}
		row := got.Tenants[0]
		if row.Oldest.IsZero() {
			t.Error("no oldest leaf")
		}
		row.Oldest = time.Time{}
		if row != want || got.Live != 1 || len(got.Nodes) != 1 {
			t.Errorf("%+v\nwant %+v", row, want)
		}
		_, err = r.l.Standing(background, r.owner.Scope())
		r.is(err, dhruva.ErrDenied)
	})
}
