package sqlstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/pgtest"
)

// TestSurveyTellsWhatWasTakenAway: of checkpoints, notes and documents, of every
// tenant, and no text.
func TestSurveyTellsWhatWasTakenAway(t *testing.T) {
	when := time.UnixMicro(1_790_000_000_000_000).UTC()
	for name, at := range map[string]string{"sqlite": ":memory:", "postgres": pgtest.Reused(t)} {
		t.Run(name, func(t *testing.T) {
			s := openTest(t, at)
			for _, tenant := range []dhruva.TenantID{"t", "u"} {
				err := s.Update(context.Background(), []dhruva.Scope{dhruva.TenantScope(tenant)}, func(tx dhruva.Tx) error {
					return errors.Join(
						tx.PutCheckpoint(dhruva.Checkpoint{Tenant: tenant, Space: "s", ID: "shown", Hash: dhruva.Hash{1}, CreatedAt: when}),
						tx.PutCheckpoint(dhruva.Checkpoint{Tenant: tenant, Space: "s", ID: "hidden", Hash: dhruva.Hash{2}, CreatedAt: when}),
						tx.HideCheckpoint(dhruva.Hash{2}, when),
						tx.PutNote(dhruva.Note{Tenant: tenant, Space: "s", ID: "said", Kind: "k", Text: "text"}),
						tx.PutNote(dhruva.Note{Tenant: tenant, Space: "s", ID: "purged", Kind: "k", Text: "text"}), tx.RedactNote("s", "purged"),
						tx.PutDocument(dhruva.Document{Tenant: tenant, Space: "s", ID: "kept", Kind: "k", Text: "text", CreatedAt: when}),
						tx.PutDocument(dhruva.Document{Tenant: tenant, Space: "s", ID: "dropped", Kind: "k", Text: "text"}), tx.DropDocument("dropped"))
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			got, err := s.Survey(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			var want Survey
			for _, tenant := range []dhruva.TenantID{"t", "u"} {
				want.Checkpoints = append(want.Checkpoints, SurveyedCheckpoint{tenant, "s", dhruva.Hash{1}, when, time.Time{}},
					SurveyedCheckpoint{tenant, "s", dhruva.Hash{2}, when, when})
				want.Notes = append(want.Notes, SurveyedNote{tenant, "s", "purged"})
				want.Documents = append(want.Documents, SurveyedDocument{tenant, "s", "kept", when})
			}
			same(t, "survey", got, want)
		})
	}
}
