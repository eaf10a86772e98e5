package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// grown is a space of many checkpoints on one line, branches off it, and claims,
// of which one in twenty is in force. It answers the line, oldest first.
func (r *rig) grown(checkpoints, branches, claims int) (dhruva.SpaceID, []dhruva.Hash) {
	r.Helper()
	sp, s := r.space("grown"), dhruva.SpaceID("")
	s = sp.ID
	var line []dhruva.Hash
	inChunks := func(n, size int, fn func(tx dhruva.Tx, i int) error) {
		for from := 0; from < n; from += size {
			r.must(r.store.Update(context.Background(), []dhruva.Scope{dhruva.SpaceScope(r.owner.Tenant, s)}, func(tx dhruva.Tx) error {
				for i := from; i < min(n, from+size); i++ {
					if err := fn(tx, i); err != nil {
						return err
					}
				}
				return nil
			}))
		}
	}
	all := make([]dhruva.Checkpoint, checkpoints)
	for i := range all {
		all[i] = dhruva.Checkpoint{Tenant: r.owner.Tenant, Space: s, ID: dhruva.CheckpointID(dhruva.NewID()), Branch: dhruva.MainBranch, Author: fmt.Sprint("agent ", i%7), CreatedAt: r.now.Add(time.Duration(i) * time.Minute), Generation: 1}
		if i > 0 {
			all[i].Parents = []dhruva.Hash{all[i-1].Hash}
		}
		for n, kind := range []dhruva.ItemKind{dhruva.KindTitle, dhruva.KindObjective, dhruva.KindSummary, dhruva.KindDecision, dhruva.KindDecision, dhruva.KindTask} {
			item := dhruva.Item{ID: dhruva.ItemID(dhruva.NewID()), Kind: kind, Text: fmt.Sprintf("what no. %d says as its %s, the %dth, in a sentence of the usual length", i/(1+n), kind, n)}
			item.Digest = dhruva.DigestItem(item)
			all[i].Items = append(all[i].Items, item)
		}
		all[i].Hash = dhruva.HashCheckpoint(&all[i])
		line = append(line, all[i].Hash)
	}
	inChunks(checkpoints, 100, func(tx dhruva.Tx, i int) error { return tx.PutCheckpoint(all[i]) })
	inChunks(branches+1, 500, func(tx dhruva.Tx, i int) error {
		b := dhruva.Branch{Space: s, Name: fmt.Sprint("branch-", i), Head: line[i*checkpoints/(branches+1)], Disposition: "active", UpdatedAt: r.now.Add(time.Duration(i) * time.Second)}
		if i == branches {
			b.Name, b.Head = dhruva.MainBranch, line[checkpoints-1]
		}
		return tx.SwapBranch(b, dhruva.Hash{})
	})
	inChunks(claims, 500, func(tx dhruva.Tx, i int) error {
		c := dhruva.Claim{
			Tenant: r.owner.Tenant, Space: s, ID: dhruva.ClaimID(fmt.Sprintf("claim-%06d", i)), Agent: "ana", Scope: fmt.Sprint("scope ", i), Intent: "test", Branch: "main",
			Base: line[i%checkpoints], Status: dhruva.ClaimActive, ClaimedAt: r.now.Add(time.Duration(i-claims) * time.Minute), UpdatedAt: r.now,
		}
		if c.ExpiresAt = c.ClaimedAt.Add(time.Minute); i%20 == 0 {
			c.ExpiresAt = r.now.Add(1000 * time.Hour)
		}
		return tx.PutClaim(c)
	})
	return s, line
}

// BenchmarkBrief measures the state brief of a space of 5,000 checkpoints, 200
// branches and 1,000 claims: of one who knows the checkpoint before the head,
// and of one who knows the root.
func BenchmarkBrief(b *testing.B) {
	for name, open := range openers {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, open(b))
			space, line := r.grown(5000, 200, 1000)
			r.still = true
			for name, since := range map[string]dhruva.Hash{"usual": line[len(line)-2], "since the root": line[0]} {
				b.Run(name, func(b *testing.B) {
					var took []time.Duration
					for b.Loop() {
						from := time.Now()
						brief, err := r.l.Brief(r.ctx(), ledger.BriefQuery{Space: space, Since: since.String()})
						took = append(took, time.Since(from))
						if err != nil || len(brief.Branches) != 5 || len(brief.Claims) != 10 || brief.Freshness.New == 0 {
							b.Fatalf("%+v %v", brief, err)
						}
					}
					slices.Sort(took)
					b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "ms-p95")
				})
			}
		})
	}
}

// BenchmarkMetrics measures the figures of the same space.
func BenchmarkMetrics(b *testing.B) {
	for name, open := range openers {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, open(b))
			space, _ := r.grown(5000, 200, 1000)
			for b.Loop() {
				m, err := r.l.Metrics(r.ctx(), space)
				if err != nil || m.Checkpoints != 5000 || m.Claims != 1000 || m.Branches["active"] != 200 {
					b.Fatalf("%+v %v", m, err)
				}
			}
		})
	}
}

// TestMetricsOfAGrownSpace: what is counted page by page is all there is.
func TestMetricsOfAGrownSpace(t *testing.T) {
	each(t, func(r *rig) {
		space, line := r.grown(450, 20, 2100)
		m := must[ledger.Metrics](r)(r.l.Metrics(r.ctx(), space))
		if m.Checkpoints != 450 || m.Decisions != 900 || m.Tasks != 450 || m.Continued != 449 || len(m.Authors) != 7 || m.Branches["active"] != 20 ||
			m.Claims != 2100 || m.ClaimsActive != 105 || m.ClaimsExpired != 1995 {
			r.Errorf("%+v", m)
		}
		if f := r.fresh(space, line[0].String()); f.New != 449 {
			r.Errorf("%+v", f)
		}
	})
}
