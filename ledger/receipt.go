package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// States of a receipt.
const (
	ReceiptOpen        = "open"
	ReceiptFinal       = "final"
	ReceiptInterrupted = "interrupted"
)

// OpenReceipt writes the intent of a request; when it returns, the intent is
// durable. Tenant, principal, key, state and creation time are set here, and an
// id when there is none. Every known principal leaves receipts of what it does.
func (l *Ledger) OpenReceipt(ctx context.Context, r dhruva.Receipt) (dhruva.Receipt, error) {
	p, err := principal(ctx)
	if err != nil {
		return r, wrap("open receipt", err)
	}
	r = l.own(ctx, p, r)
	r.State, r.FinishedAt = ReceiptOpen, time.Time{}
	err = l.writeReceipt(ctx, p, r.Space, func(tx dhruva.Tx) error {
		more(tx) // what it is about follows
		if _, err := tx.Receipt(r.ID); !errors.Is(err, dhruva.ErrNotFound) {
			return firstOf(err, fmt.Errorf("%w: receipt %s exists", dhruva.ErrConflict, r.ID))
		}
		return tx.PutReceipt(r)
	})
	return r, wrap("open receipt", err)
}

// CloseReceipt makes a receipt final, and commits its audit leaf with it. One that was never opened is written now;
// one that is final already is ErrConflict, and one that somebody else opened is
// not found.
func (l *Ledger) CloseReceipt(ctx context.Context, r dhruva.Receipt) error {
	p, err := principal(ctx)
	if err != nil {
		return wrap("close receipt", err)
	}
	r = l.finished(ctx, p, r)
	return wrap("close receipt", l.writeReceipt(ctx, p, r.Space, func(tx dhruva.Tx) error {
		more(tx) // by itself it ends nothing: what succeeds closes its receipt in its own Update
		return closeReceipt(tx, r)
	}))
}

// own fills in what a receipt says of who acted.
func (l *Ledger) own(ctx context.Context, p dhruva.Principal, r dhruva.Receipt) dhruva.Receipt {
	r.Tenant, r.Principal, r.Key, r.Node = p.Tenant, p.ID, p.Key, l.Node
	r.Provider, r.Model = l.named(r.Provider), l.named(r.Model)
	// What comes from outside in any other text of a receipt goes the same way.
	for _, text := range []*string{&r.Upstream.Error, &r.Upstream.RequestID, &r.ModeRequested, &r.RequestID, &r.Subject, &r.Recall.Note} {
		*text = l.hide(*text)
	}
	if r.ID == "" {
		r.ID = dhruva.ReceiptID(dhruva.NewID())
	}
	if r.RequestID == "" {
		r.RequestID = dhruva.RequestIDFrom(ctx)
	}
	if r.CreatedAt.IsZero() {
		r.CreatedAt = l.now()
	}
	return r
}

// finished is a receipt as it will be closed.
func (l *Ledger) finished(ctx context.Context, p dhruva.Principal, r dhruva.Receipt) dhruva.Receipt {
	r = l.own(ctx, p, r)
	if r.State != ReceiptInterrupted {
		r.State = ReceiptFinal
	}
	if r.FinishedAt.IsZero() {
		r.FinishedAt = l.now()
	}
	return r
}

// finishing is finished for a receipt that an Update may carry along; nil stays nil.
func (l *Ledger) finishing(ctx context.Context, p dhruva.Principal, r *dhruva.Receipt, s dhruva.SpaceID) *dhruva.Receipt {
	if r == nil {
		return nil
	}
	out := *r
	out.Space = s
	out = l.finished(ctx, p, out)
	return &out
}

// act is the final receipt of an act of administration, for the Update that does it.
func (l *Ledger) act(ctx context.Context, p dhruva.Principal, kind string, space dhruva.SpaceID, subject string) dhruva.Receipt {
	return l.finished(ctx, p, dhruva.Receipt{Kind: kind, Space: space, Subject: subject, Path: "api"})
}

// closeReceipt stores a receipt as it ended, and its leaf.
func closeReceipt(tx dhruva.Tx, r dhruva.Receipt) error {
	old, err := tx.Receipt(r.ID)
	switch {
	case errors.Is(err, dhruva.ErrNotFound):
	case err != nil:
		return err
	case old.Principal != r.Principal || old.Key != r.Key: // it is whose who opened it
		return missing("receipt", string(r.ID))
	case old.State != ReceiptOpen:
		return fmt.Errorf("%w: receipt %s is %s", dhruva.ErrConflict, r.ID, old.State)
	default:
		r.CreatedAt = old.CreatedAt
	}
	return dhruva.Attest(tx, r)
}

// writeReceipt writes under the space's lock, or the tenant's for a receipt of
// no space. A space that was hidden while the request ran still gets it.
func (l *Ledger) writeReceipt(ctx context.Context, p dhruva.Principal, s dhruva.SpaceID, fn func(dhruva.Tx) error) error {
	if s == "" {
		return l.Store.Update(ctx, []dhruva.Scope{p.Scope()}, fn)
	}
	return l.Store.Update(ctx, []dhruva.Scope{p.In(s)}, func(tx dhruva.Tx) error {
		if ok, err := seesReceipt(tx, p)(dhruva.Receipt{Space: s}); err != nil || !ok {
			return firstOf(err, missing("space", string(s)))
		}
		return fn(tx)
	})
}

// Receipt finds a receipt. Needs receipt:read.
func (l *Ledger) Receipt(ctx context.Context, id dhruva.ReceiptID) (out dhruva.Receipt, err error) {
	p, err := principal(ctx, dhruva.ReceiptRead)
	if err != nil {
		return out, wrap("receipt", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		if out, err = tx.Receipt(id); err != nil {
			return notFound(err, "receipt", string(id))
		}
		if ok, err := seesReceipt(tx, p)(out); err != nil || !ok {
			out = dhruva.Receipt{}
			return firstOf(err, missing("receipt", string(id)))
		}
		return nil
	})
	return out, wrap("receipt", err)
}

// ListReceipts lists the receipts the principal may see, newest first. Needs
// receipt:read.
func (l *Ledger) ListReceipts(ctx context.Context, q dhruva.ReceiptQuery) (out []dhruva.Receipt, next string, err error) {
	p, err := principal(ctx, dhruva.ReceiptRead)
	if err != nil {
		return nil, "", wrap("list receipts", err)
	}
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		fetch := func(page dhruva.Page) ([]dhruva.Receipt, error) {
			q := q
			q.Page = page
			return tx.ListReceipts(q)
		}
		out, next, err = filled(q.Page, fetch, func(r dhruva.Receipt) string { return string(r.ID) }, seesReceipt(tx, p))
		return err
	})
	return out, next, wrap("list receipts", err)
}

// seesReceipt: those of spaces within reach; a receipt outlives the hiding of its
// space. Homes are their owner's alone. Those without a space are about the
// tenant: a key limited to named spaces sees only what it did itself.
func seesReceipt(tx dhruva.Tx, p dhruva.Principal) func(dhruva.Receipt) (bool, error) {
	known := map[dhruva.SpaceID]bool{}
	return func(r dhruva.Receipt) (bool, error) {
		if r.Space == "" {
			return len(p.Spaces) == 0 || r.Principal == p.ID && r.Key == p.Key, nil
		}
		if ok, seen := known[r.Space]; seen {
			return ok, nil
		}
		s, err := tx.Space(r.Space)
		if err != nil && !errors.Is(err, dhruva.ErrNotFound) {
			return false, err
		}
		ok := err == nil && reaches(p, s)
		known[r.Space] = ok
		return ok, nil
	}
}

// firstOf is the first error that is not nil.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
