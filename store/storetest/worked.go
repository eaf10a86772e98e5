package storetest

import (
	"errors"

	"github.com/dhruva-memory/dhruva"
)

func (c *checker) jobs() {
	for _, j := range pages(c, "jobs", jobName, func(p dhruva.Page) ([]dhruva.Job, error) {
		return c.tx.ListJobs(dhruva.JobQuery{Space: c.scope.Space(), Page: p})
	}) {
		switch j.State {
		case dhruva.JobLeased:
			if j.Owner == "" || j.LeaseUntil.IsZero() || j.Fence < 1 || j.Attempts < 1 {
				c.found("job %s: leased to %q until %v, claim %d, attempt %d", j.ID, j.Owner, j.LeaseUntil, j.Fence, j.Attempts)
			}
		case dhruva.JobQueued, dhruva.JobDone, dhruva.JobDead:
			if !j.LeaseUntil.IsZero() {
				c.found("job %s: %s, and leased until %v", j.ID, j.State, j.LeaseUntil)
			}
		default:
			c.found("job %s: state %q", j.ID, j.State)
		}
		if j.Attempts < 0 || int64(j.Attempts) > j.Fence {
			c.found("job %s: %d attempts, claim %d", j.ID, j.Attempts, j.Fence)
		}
		if same, err := c.tx.Job(j.ID); err != nil || same != j {
			c.broke("job %s: listed as %+v, read as %+v, %v", j.ID, j, same, err)
		}
	}
}

func (c *checker) cursors() {
	rows, err := c.tx.Cursors(c.scope.Space())
	c.ok(err, "cursors")
	for _, row := range rows {
		if row.Seq < c.epoch.Tail || row.Seq > c.epoch.Head {
			c.found("cursor of %s: %d, the feed is %d to %d", row.Node, row.Seq, c.epoch.Tail, c.epoch.Head)
		}
	}
}

// receipts checks those of a space against the log.
func (c *checker) receipts(space dhruva.SpaceID) {
	for _, r := range pages(c, "receipts", receiptName, func(p dhruva.Page) ([]dhruva.Receipt, error) {
		return c.tx.ListReceipts(dhruva.ReceiptQuery{Space: space, Page: p})
	}) {
		leaf, err := c.tx.Leaf(dhruva.LeafID(r.ID))
		if errors.Is(err, dhruva.ErrNotFound) {
			continue
		}
		if want, err2 := dhruva.LeafOf(r); err != nil || err2 != nil || leaf.Digest != want.Digest {
			c.found("receipt %s, %s: its leaf does not attest it: %v, %v", r.ID, r.State, err, err2)
		}
	}
}

// log checks the audit log of a tenant.
func (c *checker) log() {
	const limit = 1000
	size := int64(0)
	for {
		rows, err := c.tx.ListLeaves(size, limit)
		if !c.ok(err, "leaves") || len(rows) == 0 {
			break
		}
		for _, l := range rows {
			if size++; l.Seq != size {
				c.found("leaf %s stands at %d where %d is expected", l.ID, l.Seq, size)
				return
			}
			c.leaf(l)
		}
	}
	head, err := c.tx.AuditHead()
	if c.ok(err, "audit head") && head.Size != size {
		c.found("%d leaves have a place, the head's size is %d", size, head.Size)
	}
	pending, err := c.tx.PendingLeaves(limit)
	c.ok(err, "pending leaves")
	for _, l := range pending {
		if l.Seq != 0 {
			c.broke("leaf %s is pending and has place %d", l.ID, l.Seq)
		}
		c.leaf(l)
	}
}

func (c *checker) leaf(l dhruva.Leaf) {
	if same, err := c.tx.Leaf(l.ID); err != nil || same != l {
		c.broke("leaf %s: listed as %+v, read as %+v, %v", l.ID, l, same, err)
	}
}
