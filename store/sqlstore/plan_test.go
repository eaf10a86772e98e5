package sqlstore

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dhruva-memory/dhruva"
)

var statement = regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE)\b`)

// sorts are the statements that may sort what they have found, and why that is
// little. Everything else reads an index in its order.
var sorts = map[string]string{
	"abandonedJobs": "leases that have ended: as many as workers died",
	"liveClaims":    "those that have not expired",
	"recentOfItem":  "the checkpoints that carried an item on",
}

// scans are the statements that may read a whole table.
var scans = map[string]string{
	"selectMigrations": "a row for each migration",
	"ancestry":         "the walk itself",
	"itemsOfMany":      "the hashes that it is given",
	"recentOfItem":     "the hashes that have the item",
}

// plan is how SQLite runs a statement.
func (s *Store) plan(t *testing.T, text string) []string {
	t.Helper()
	var steps []string
	err := s.View(context.Background(), dhruva.SystemScope(), func(row dhruva.Tx) (err error) {
		steps, err = collect(row.(*tx), "plan", func(r scanner) (detail string, err error) {
			var id, parent, unused int
			return detail, r.Scan(&id, &parent, &unused, &detail)
		}, "EXPLAIN QUERY PLAN "+text, make([]any, parameters(text))...)
		return err
	})
	if err != nil {
		t.Errorf("%s: %v", text, err)
	}
	return steps
}

// parameters is how many a statement has.
func parameters(text string) int {
	numbers := map[string]bool{}
	for _, m := range parameter.FindAllString(text, -1) {
		numbers[m] = true
	}
	return len(numbers)
}

// tenantWide are the statements that may read all that a tenant has in an index.
var tenantWide = map[string]string{
	"listProviders":   "a handful",
	"selectAuditHead": "one row",
	"pendingLeaves":   "an index of those without a place, read in its order",
}

// ways are the columns by which a statement must search, where its plan could
// be content with fewer of them.
var ways = map[string]string{
	"recordsOfSource":   "records_by_source (tenant=? AND space=? AND generation=? AND source=? AND id>?)",
	"deleteRecords":     "records_by_source (tenant=? AND space=? AND generation=? AND source=?)",
	"notReadySources":   "sources_not_ready (tenant=? AND space=? AND generation=? AND state=? AND id>?)",
	"receiptsOfAll":     "(tenant=? AND id<?)",
	"receiptsOfSpace":   "(tenant=? AND space=? AND id<?)",
	"receiptsOfSession": "(tenant=? AND session=? AND id<?)",
	"openReceipts":      "receipts_open (tenant=? AND id<?)",
	"selectHomes":       "spaces_by_owner (tenant=? AND owner=?)",
	"grantsOf":          "(tenant=? AND principal=?)",
	"queuedJobs":        "jobs_due (tenant=? AND not_before<?)",
	"queuedOfKind":      "jobs_due_by_kind (tenant=? AND kind=? AND not_before<?)",
	"abandonedJobs":     "jobs_leased (tenant=? AND lease_until<?)",
	"deleteVectors":     "(tenant=? AND space=? AND generation=? AND source=?)",
	"expireCalls":       "idempotency_by_expiry (tenant=? AND expires_at<?)",
	"sessionsInAll":     "(tenant=? AND (updated_at,id)<(?,?))",
	"recentInAll":       "(tenant=? AND (created_at,hash)<(?,?))",

	"selectSeams":        "turns_seams (tenant=? AND session=? AND seq>? AND seq<?)",
	"recentInSpace":      "checkpoints_by_time (tenant=? AND space=? AND (created_at,hash)<(?,?))",
	"listOutlines":       "checkpoints_by_time (tenant=? AND space=? AND (created_at,hash)<(?,?))",
	"ancestry":           "sqlite_autoindex_checkpoints_2 (tenant=? AND hash=?) LEFT-JOIN",
	"itemsOfMany":        "sqlite_autoindex_checkpoint_items_1 (tenant=? AND space=? AND checkpoint=?)",
	"recentOfItem":       "(tenant=? AND hash=?)",
	"notesOfSpace":       "notes_by_time (tenant=? AND space=? AND (created_at,id)>(?,?))",
	"notesOfCheckpoint":  "notes_by_checkpoint (tenant=? AND space=? AND checkpoint=? AND (created_at,id)>(?,?))",
	"claimsOfSpace":      "claims_by_time (tenant=? AND space=? AND (claimed_at,id)<(?,?))",
	"claimsOfStatus":     "claims_by_status (tenant=? AND space=? AND status=? AND (claimed_at,id)<(?,?))",
	"liveClaims":         "claims_by_expiry (tenant=? AND space=? AND expires_at>?)",
	"worktreesOfSpace":   "worktrees_by_time (tenant=? AND space=? AND (created_at,id)<(?,?))",
	"worktreesOfStatus":  "worktrees_by_status (tenant=? AND space=? AND status=? AND (created_at,id)<(?,?))",
	"documentsOfSpace":   "documents_by_time (tenant=? AND space=? AND (created_at,id)<(?,?))",
	"documentsOfKind":    "documents_by_kind (tenant=? AND space=? AND kind=? AND (created_at,id)<(?,?))",
	"documentsOfSession": "documents_by_session (tenant=? AND space=? AND session=? AND (created_at,id)<(?,?))",
	"movesOfSpace":       "(tenant=? AND space=? AND seq<?)",
	"movesOfBranch":      "head_moves_by_branch (tenant=? AND space=? AND branch=? AND seq<?)",
}

// alsoWays are those of statements that search twice.
var alsoWays = map[string]string{
	"redactTitle":  "sqlite_autoindex_checkpoint_items_1 (tenant=? AND space=? AND checkpoint=?)",
	"recentOfItem": "checkpoint_items_by_id (tenant=? AND id=?)",
}

// TestEveryStatementUsesAnIndex: no statement reads a whole table, or all rows
// of a tenant, and none sorts what it could read in order; the exceptions are
// listed with a reason.
func TestEveryStatementUsesAnIndex(t *testing.T) {
	s := openTest(t, ":memory:")
	all := wholeStatements(t)
	exceptions := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		steps := s.plan(t, all[name])
		for _, step := range steps {
			for kind, allowed := range map[string]map[string]string{"SCAN ": scans, "TEMP B-TREE": sorts, " (tenant=?)": tenantWide, "AUTOMATIC": nil} {
				if !strings.Contains(step, kind) || step == "SCAN CONSTANT ROW" {
					continue
				}
				if exceptions[name] = allowed[name] != ""; !exceptions[name] {
					t.Errorf("%s: %s\n%s", name, step, all[name])
				}
			}
		}
		for _, want := range []string{ways[name], alsoWays[name]} {
			if !strings.Contains(strings.Join(steps, "\n"), want) {
				t.Errorf("%s: %q, want %s", name, steps, want)
			}
		}
	}
	if len(all) < 140 {
		t.Errorf("only %d statements were planned", len(all))
	}
	for _, list := range []map[string]string{scans, sorts, tenantWide} {
		for name := range list {
			if !exceptions[name] {
				t.Errorf("%s needs no exception", name)
			}
		}
	}
	for name := range ways {
		if all[name] == "" {
			t.Errorf("%s is no statement", name)
		}
	}
}

// wholeStatements are those that are run as they are, on both engines: others
// begin with a constant that is not; names of Postgres' own begin with pg.
func wholeStatements(t *testing.T) map[string]string {
	out := map[string]string{}
	all := statements(t)
	for name, text := range all {
		begins := func(other string) bool { return other != text && strings.HasPrefix(other, text) }
		if statement.MatchString(text) && !strings.HasPrefix(name, "pg") && !slices.ContainsFunc(slices.Collect(maps.Values(all)), begins) {
			out[name] = text
		}
	}
	return out
}
