package auth

import (
	"context"

	"github.com/dhruva-memory/dhruva"
)

// account is the final receipt of an act on a key, for the Update that does it.
func (k *Keys) account(ctx context.Context, p dhruva.Principal, act string, key dhruva.KeyID) dhruva.Receipt {
	now := k.now()
	return dhruva.Receipt{
		Tenant: p.Tenant, ID: dhruva.ReceiptID(dhruva.NewID()), RequestID: dhruva.RequestIDFrom(ctx), Principal: p.ID, Key: p.Key,
		Kind: act, Subject: string(key), State: "final", Path: "api", CreatedAt: now, FinishedAt: now,
	}
}
