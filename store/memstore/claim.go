package memstore

import (
	"cmp"

	"github.com/dhruva-memory/dhruva"
)

func (t *tx) Claim(id dhruva.ClaimID) (dhruva.Claim, error) {
	row, ok := t.claims[claimKey{t.reach.Tenant, id}]
	if !ok || !t.reach.Holds(row.Space) {
		return absent[dhruva.Claim]("claim")
	}
	return row, nil
}

func (t *tx) PutClaim(row dhruva.Claim) error {
	if err := row.Validate(); err != nil {
		return invalid("claim", err)
	}
	if err := t.write("claim", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	key := claimKey{row.Tenant, row.ID}
	if old, ok := t.claims[key]; ok && old.Space != row.Space {
		return conflict("claim")
	}
	put(t, t.claims, key, row.Canonical())
	return nil
}

// newestClaim orders by descending (ClaimedAt, ID).
func newestClaim(a, b dhruva.Claim) int {
	return cmp.Or(b.ClaimedAt.Compare(a.ClaimedAt), cmp.Compare(b.ID, a.ID))
}

func (t *tx) ListClaims(q dhruva.ClaimQuery) ([]dhruva.Claim, error) {
	after, err := t.Claim(dhruva.ClaimID(q.After))
	if q.After != "" && err != nil {
		return nil, nil
	}
	var out []dhruva.Claim
	for _, row := range t.claims {
		if t.reach.Covers(row.Tenant, row.Space) && row.Space == q.Space && (q.Status == "" || row.Status == q.Status) &&
			(q.Live.IsZero() || row.ExpiresAt.After(q.Live)) && (q.After == "" || newestClaim(after, row) < 0) {
			out = append(out, row)
		}
	}
	return page(out, newestClaim, q.Size()), nil
}
