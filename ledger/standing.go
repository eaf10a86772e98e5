package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Standing is how the background work of an installation stands: counts and
// times, no ids of what is stored but of nodes and spaces.
type Standing struct {
	At      time.Time
	Nodes   []dhruva.Node
	Live    int // of the nodes
	Tenants []TenantStanding
}

// TenantStanding is that of one tenant. Counts of what waits end at
// StandingMost.
type TenantStanding struct {
	Tenant dhruva.TenantID
	// Placed leaves have a place in the audit log, Pending ones have not, the
	// oldest since Oldest.
	Placed  int64
	Pending int
	Oldest  time.Time
	// Jobs by their state, but those that are done.
	Queued, Leased, Dead int
	// Open receipts, those of running requests among them.
	Open int
	// Kept changes stand in the feeds of the first StandingMost spaces. Lag is how
	// many the last follower of a space has not followed, at most, and Lagging that
	// space.
	Kept, Lag int64
	Lagging   dhruva.SpaceID
}

// StandingMost is where counting ends.
const StandingMost = 1000

// Standing looks how the background work stands. It reads only.
func (l *Ledger) Standing(ctx context.Context, sys dhruva.Scope) (Standing, error) {
	out := Standing{At: l.now()}
	all, live, err := l.Nodes(ctx, sys)
	if err != nil {
		return out, err
	}
	out.Nodes, out.Live = all, len(live)
	tenants, err := l.Tenants(ctx, sys)
	if err != nil {
		return out, err
	}
	for _, t := range tenants {
		row := TenantStanding{Tenant: t}
		err := l.Store.View(ctx, dhruva.TenantScope(t), func(tx dhruva.Tx) error {
			row = TenantStanding{Tenant: t}
			return firstOf(row.audit(tx), row.jobs(tx), row.feeds(tx))
		})
		if err != nil {
			return out, wrap("standing", err)
		}
		out.Tenants = append(out.Tenants, row)
	}
	return out, nil
}

// Tenants lists the tenants of the installation.
func (l *Ledger) Tenants(ctx context.Context, sys dhruva.Scope) (out []dhruva.TenantID, err error) {
	if err := system(sys); err != nil {
		return nil, wrap("tenants", err)
	}
	err = l.Store.View(ctx, sys, func(tx dhruva.Tx) error {
		out = nil
		for page := (dhruva.Page{Limit: 1000}); ; {
			rows, err := tx.ListTenants(page)
			if err != nil {
				return err
			}
			for _, t := range rows {
				out = append(out, t.ID)
			}
			if len(rows) < page.Limit {
				return nil
			}
			page.After = string(rows[len(rows)-1].ID)
		}
	})
	return out, wrap("tenants", err)
}

// Spaces lists the spaces of a tenant that are neither homes nor hidden.
func (l *Ledger) Spaces(ctx context.Context, t dhruva.TenantID) (out []dhruva.SpaceID, err error) {
	err = l.Store.View(ctx, dhruva.TenantScope(t), func(tx dhruva.Tx) error {
		out = nil
		return eachSpace(tx, func(s dhruva.Space) error {
			out = append(out, s.ID)
			return nil
		})
	})
	return out, wrap("spaces", err)
}

func eachSpace(tx dhruva.Tx, fn func(dhruva.Space) error) error {
	for page := (dhruva.Page{Limit: 1000}); ; {
		rows, err := tx.ListSpaces(page)
		if err != nil {
			return err
		}
		for _, s := range rows {
			if err := fn(s); err != nil {
				return err
			}
		}
		if len(rows) < page.Limit {
			return nil
		}
		page.After = string(rows[len(rows)-1].ID)
	}
}

func (s *TenantStanding) audit(tx dhruva.Tx) error {
	head, err := tx.AuditHead()
	if err != nil {
		return err
	}
	pending, err := tx.PendingLeaves(StandingMost)
	if err != nil {
		return err
	}
	open, err := tx.ListReceipts(dhruva.ReceiptQuery{State: ReceiptOpen, Page: dhruva.Page{Limit: StandingMost}})
	s.Placed, s.Pending, s.Open = head.Size, len(pending), len(open)
	if len(pending) > 0 {
		s.Oldest = pending[0].At
	}
	return err
}

func (s *TenantStanding) jobs(tx dhruva.Tx) error {
	var errs []error
	for state, n := range map[dhruva.JobState]*int{dhruva.JobQueued: &s.Queued, dhruva.JobLeased: &s.Leased, dhruva.JobDead: &s.Dead} {
		rows, err := tx.ListJobs(dhruva.JobQuery{State: state, Page: dhruva.Page{Limit: StandingMost}})
		*n, errs = len(rows), append(errs, err)
	}
	return errors.Join(errs...)
}

func (s *TenantStanding) feeds(tx dhruva.Tx) error {
	rows, err := tx.ListSpaces(dhruva.Page{Limit: StandingMost})
	if err != nil {
		return err
	}
	for _, sp := range rows {
		e, err := tx.Epoch(sp.ID)
		if err != nil {
			return err
		}
		cursors, err := tx.Cursors(sp.ID)
		if err != nil {
			return err
		}
		s.Kept += e.Head - e.Tail
		if lag := lagging(cursors, e.Head); lag > s.Lag {
			s.Lag, s.Lagging = lag, sp.ID
		}
	}
	return nil
}
