package ledger_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// auditLog is a tenant's audit log.
type auditLog struct {
	placed, pending []dhruva.Leaf
	head            dhruva.AuditHead
}

func (r *rig) audit() (log auditLog) {
	r.Helper()
	r.view(func(tx dhruva.Tx) error {
		var errs [3]error
		log.placed, errs[0] = tx.ListLeaves(0, 1_000_000)
		log.pending, errs[1] = tx.PendingLeaves(1_000_000)
		log.head, errs[2] = tx.AuditHead()
		return errors.Join(errs[:]...)
	})
	return log
}

// checkAudit: places run from 1 without gaps, each leaf has one; every receipt
// that has ended has its leaf, which is of it to the byte, and every leaf is of
// one.
func (r *rig) checkAudit() {
	r.Helper()
	log := r.audit()
	if int64(len(log.placed)) != log.head.Size {
		r.Errorf("%d leaves have a place, the head says %d", len(log.placed), log.head.Size)
	}
	leaves := map[dhruva.LeafID]dhruva.Leaf{}
	for n, l := range append(log.placed, log.pending...) {
		if n < len(log.placed) && l.Seq != int64(n+1) {
			r.Errorf("leaf %s stands at %d, want %d", l.ID, l.Seq, n+1)
		}
		if _, twice := leaves[l.ID]; twice {
			r.Errorf("leaf %s is there twice", l.ID)
		}
		leaves[l.ID] = l
	}
	r.view(func(tx dhruva.Tx) error {
		q := dhruva.ReceiptQuery{Page: dhruva.Page{Limit: 1000}}
		for {
			rows, err := tx.ListReceipts(q)
			if err != nil || len(rows) == 0 {
				return err
			}
			for _, receipt := range rows {
				r.checkLeaf(receipt, leaves)
				delete(leaves, dhruva.LeafID(receipt.ID))
			}
			q.After = string(rows[len(rows)-1].ID)
		}
	})
	for id := range leaves {
		r.Errorf("leaf %s attests nothing", id)
	}
}

func (r *rig) checkLeaf(receipt dhruva.Receipt, leaves map[dhruva.LeafID]dhruva.Leaf) {
	r.Helper()
	leaf, there := leaves[dhruva.LeafID(receipt.ID)]
	if receipt.State == ledger.ReceiptOpen {
		if there {
			r.Errorf("receipt %s is open and attested", receipt.ID)
		}
		return
	}
	want, err := dhruva.LeafOf(receipt)
	r.must(err)
	if want.Seq = leaf.Seq; !there || want != leaf {
		r.Errorf("receipt %s (%s, %s): leaf %+v, want %+v", receipt.ID, receipt.Kind, receipt.State, leaf, want)
	}
}

// leaves puts pending leaves of receipts down, behind the ledger's back.
func (r *rig) leaves(n int) {
	r.Helper()
	for n > 0 {
		m := min(n, 400)
		r.must(r.store.Update(background, []dhruva.Scope{r.owner.Scope()}, func(tx dhruva.Tx) error {
			for i := range m {
				receipt := dhruva.Receipt{Tenant: r.owner.Tenant, ID: dhruva.ReceiptID(dhruva.NewID()), Kind: "recall", State: "final", CreatedAt: r.now, FinishedAt: r.now.Add(-time.Duration(i) * time.Second)}
				if err := dhruva.Attest(tx, receipt); err != nil {
					return err
				}
			}
			return nil
		}))
		n -= m
	}
}

// Contracts 10: the leaf commits with what it attests, whatever that is.
func TestLeavesCommitWithTheirReceipts(t *testing.T) {
	each(t, func(r *rig) {
		r.l.Node = "node-1"
		sp := r.space("work")
		open := r.opened("proxy", sp.ID)
		r.checkAudit()
		if log := r.audit(); len(log.pending) != 0 {
			t.Errorf("an open receipt is attested: %+v", log)
		}
		r.must(r.l.CloseReceipt(r.ctx(), open))
		r.is(r.l.CloseReceipt(r.ctx(), open), dhruva.ErrConflict) // once
		closed := must[dhruva.Receipt](r)(r.l.Receipt(r.ctx(), open.ID))
		if closed.Node != "node-1" {
			t.Errorf("%+v", closed)
		}
		cut := r.opened("send", "")
		cut.State = ledger.ReceiptInterrupted
		r.must(r.l.CloseReceipt(r.ctx(), cut))
		in := exchange("a question", "an answer")
		in.Receipt = &dhruva.Receipt{Kind: "send", Path: "api"}
		must[[]dhruva.Turn](r)(r.l.AppendExchange(r.ctx(), r.begin(r.session(sp.ID).ID), in))
		held := must[dhruva.Source](r)(r.l.Remember(r.ctx(), ledger.RememberInput{Space: sp.ID, Text: flaggedAnswer}))
		for range 2 { // the second one changes nothing
			must[dhruva.Source](r)(r.l.Release(r.ctx(), sp.ID, held.ID))
		}
		r.must(r.l.DeleteSpace(r.ctx(), sp.ID))
		kinds := map[string]int{}
		for _, l := range r.audit().pending {
			kinds[l.Kind]++
		}
		want := map[string]int{dhruva.LeafReceipt: 2, dhruva.LeafInterrupted: 1, dhruva.ActRelease: 1, dhruva.ActSpaceDelete: 1}
		if fmt.Sprint(kinds) != fmt.Sprint(want) {
			t.Errorf("%v, want %v", kinds, want)
		}
		rows, _, err := r.l.ListReceipts(r.ctx(), dhruva.ReceiptQuery{Kind: dhruva.ActRelease})
		r.must(err)
		if len(rows) != 1 || rows[0].Subject != string(held.ID) || rows[0].Principal != r.owner.ID {
			t.Errorf("%+v", rows)
		}
	})
}

// What is refused is not attested.
func TestWhatIsRefusedIsNotAttested(t *testing.T) {
	each(t, func(r *rig) {
		r.is(r.l.DeleteSpace(r.ctx(), "none"), dhruva.ErrNotFound)
		_, err := r.l.Release(r.ctx(), r.space("work").ID, "none")
		r.is(err, dhruva.ErrNotFound)
		r.is(r.l.CloseReceipt(r.ctx(), dhruva.Receipt{Kind: "x", Upstream: dhruva.Upstream{TotalUs: 1 << 60}}), dhruva.ErrInvalid)
		if log := r.audit(); len(log.pending) != 0 {
			t.Errorf("%+v", log.pending)
		}
	})
}

// Leaves get their places in the order in which they were committed, more of
// them than one Update takes.
func TestSequencerPlacesTheOldestFirst(t *testing.T) {
	each(t, func(r *rig) {
		r.leaves(600)
		lease := must[dhruva.Lease](r)(r.l.AcquireLease(background, r.owner.Scope(), "audit", "a"))
		r.still = true
		total := 0
		for more := true; more; {
			var n int
			var err error
			n, more, err = r.l.SequenceLeaves(background, lease)
			r.must(err)
			if n > 500 {
				t.Errorf("%d in one update", n)
			}
			total += n
		}
		log := r.audit()
		if total != 600 || len(log.pending) != 0 || log.head.Fence != lease.Fence || !log.head.At.Equal(r.now) {
			t.Errorf("%d placed, %d wait, head %+v", total, len(log.pending), log.head)
		}
		for n, l := range log.placed[1:] {
			if l.At.Before(log.placed[n].At) {
				t.Fatalf("leaf %d is older than the one before", n+2)
			}
		}
	})
}

// A sequencer that was paused, and whose lease somebody else has by now, gives
// out no place; neither does one whose number the head has seen a greater one
// than.
func TestAPausedSequencerIsFenced(t *testing.T) {
	each(t, func(r *rig) {
		r.still = true
		r.leaves(3)
		a := must[dhruva.Lease](r)(r.l.AcquireLease(background, r.owner.Scope(), "audit", "a"))
		r.later(time.Minute)
		_, _, err := r.l.SequenceLeaves(background, a) // it ended, although nobody else has it
		r.is(err, dhruva.ErrFenced)
		b := must[dhruva.Lease](r)(r.l.AcquireLease(background, r.owner.Scope(), "audit", "b"))
		if n, _, err := r.l.SequenceLeaves(background, b); n != 3 || err != nil {
			t.Fatalf("%d %v", n, err)
		}
		r.leaves(2)
		r.later(-time.Minute) // by its own clock the lease still stands
		_, _, err = r.l.SequenceLeaves(background, a)
		r.is(err, dhruva.ErrFenced)
		r.later(time.Minute)
		if log := r.audit(); len(log.placed) != 3 || len(log.pending) != 2 || log.head.Fence != b.Fence {
			t.Errorf("%+v", log.head)
		}
		// The lease's row comes back from an older copy: the head knows better.
		r.must(r.store.Update(background, []dhruva.Scope{r.owner.Scope()}, func(tx dhruva.Tx) error { return tx.PutLease(a) }))
		r.later(-time.Minute)
		_, _, err = r.l.SequenceLeaves(background, a)
		r.is(err, dhruva.ErrFenced)
	})
}

// Sequencers of several nodes, and commands that stay for a moment, while others
// commit: places are gapless and each leaf has one.
func TestSequencersAtOnce(t *testing.T) {
	each(t, func(r *rig) {
		var writers, all sync.WaitGroup
		stop := make(chan struct{})
		for range 3 {
			writers.Go(func() {
				for range 20 {
					receipt := dhruva.Receipt{Kind: "recall"}
					if err := r.l.CloseReceipt(r.ctx(), receipt); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for n := range 3 {
			all.Go(func() {
				l := r.beside(time.Duration(n) * time.Second)
				tenure := l.Sequencer(r.owner.Tenant, dhruva.NodeID(fmt.Sprint("node-", n)))
				for {
					select {
					case <-stop:
						return
					default:
					}
					if n == 2 {
						if _, err := l.SettleLeaves(background, r.owner.Tenant, "command"); err != nil {
							t.Error(err)
						}
						continue
					}
					held, err := tenure.Hold(background)
					if err != nil {
						t.Error(err)
					}
					if !held {
						continue
					}
					if _, _, err := l.SequenceLeaves(background, tenure.Lease()); errors.Is(err, dhruva.ErrFenced) {
						tenure.Lost()
					} else if err != nil {
						t.Error(err)
					}
				}
			})
		}
		writers.Wait()
		close(stop)
		all.Wait()
		r.later(time.Minute)
		must[int](r)(r.l.SettleLeaves(background, r.owner.Tenant, "last"))
		if log := r.audit(); len(log.placed) != 60 || len(log.pending) != 0 {
			t.Errorf("%d placed, %d wait", len(log.placed), len(log.pending))
		}
	})
}

// A sequencer dies at every one of its writes, kept or not; whoever comes next
// leaves no gap and gives no leaf a second place.
func TestSequencerDiesAtEveryWrite(t *testing.T) {
	for name, open := range openers {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			defer store.Close()
			died, leaves := 0, 510 // of two updates
			if name != "memory" {  // where every row takes its time
				leaves = 12
			}
			for _, kind := range faultKinds {
				for at := 1; ; at++ {
					r := newRig(t, store)
					r.owner.Tenant = dhruva.TenantID(fmt.Sprint("t", kind, "-", at))
					r.leaves(leaves)
					broken := storetest.NewFaulty(store, kind, at)
					mine := *r.l
					mine.Store = broken
					tenure := mine.Sequencer(r.owner.Tenant, "dying")
					_, err := tenure.Hold(background)
					for more := err == nil; more; {
						_, more, err = mine.SequenceLeaves(background, tenure.Lease())
					}
					if err != nil {
						r.is(err, dhruva.ErrUnavailable)
						died++
					}
					r.checkAudit()
					r.later(time.Minute)
					next := must[dhruva.Lease](r)(r.l.AcquireLease(background, r.owner.Scope(), "audit", "next"))
					for more := true; more; {
						_, more, err = r.l.SequenceLeaves(background, next)
						r.must(err)
					}
					r.checkAudit()
					if log := r.audit(); len(log.placed) != leaves {
						t.Fatalf("%d placed", len(log.placed))
					}
					if broken.Updates() < at {
						break
					}
				}
			}
			t.Logf("%s: died at %d writes", name, died)
		})
	}
}
