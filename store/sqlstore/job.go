package sqlstore

import (
	"cmp"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

const (
	jobColumns = `tenant, id, space, kind, subject, generation, payload, state, attempts, not_before, owner, fence, lease_until,
		error, created_at, updated_at`
	selectJobs = "SELECT " + jobColumns + " FROM jobs WHERE tenant = $1"
	selectJob  = selectJobs + " AND id = $2"
	jobSpace   = "SELECT space FROM jobs WHERE tenant = $1 AND id = $2"
	insertJob  = "INSERT INTO jobs (" + jobColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
		ON CONFLICT DO NOTHING`
	updateJob = `UPDATE jobs SET payload = $1, state = $2, attempts = $3, not_before = $4, owner = $5, fence = $6, lease_until = $7,
		error = $8, created_at = $9, updated_at = $10
		WHERE tenant = $11 AND id = $12 AND space = $13 AND kind = $14 AND subject = $15 AND generation = $16 AND fence = $17`
	deleteJob = "DELETE FROM jobs WHERE tenant = $1 AND id = $2"

	jobsByID    = " AND id > $4 AND (CAST($5 AS TEXT) = '' OR kind = $5) ORDER BY id LIMIT $6"
	jobsOfAll   = selectJobs + " AND CAST($2 AS TEXT) = '' AND CAST($3 AS TEXT) = ''" + jobsByID
	jobsOfSpace = selectJobs + " AND space = $2 AND (CAST($3 AS TEXT) = '' OR state = $3)" + jobsByID
	jobsOfState = selectJobs + " AND CAST($2 AS TEXT) = '' AND state = $3" + jobsByID

	// The due ones. A dialect may have them locked, so that another claim passes
	// over them.
	jobsDue       = " AND (CAST($2 AS TEXT) = '' OR space = $2)"
	jobsDueFirst  = " ORDER BY not_before, id LIMIT $5"
	queuedJobs    = selectJobs + jobsDue + " AND state = 'queued' AND CAST($3 AS TEXT) = '' AND not_before <= $4" + jobsDueFirst
	queuedOfKind  = selectJobs + jobsDue + " AND state = 'queued' AND kind = $3 AND not_before <= $4" + jobsDueFirst
	abandonedJobs = selectJobs + jobsDue + " AND state = 'leased' AND (CAST($3 AS TEXT) = '' OR kind = $3) AND lease_until <= $4" + jobsDueFirst
)

func scanJob(r scanner) (row dhruva.Job, err error) {
	return row, r.Scan(&row.Tenant, &row.ID, &row.Space, &row.Kind, &row.Subject, &row.Generation, &row.Payload, &row.State,
		&row.Attempts, micros{&row.NotBefore}, &row.Owner, &row.Fence, micros{&row.LeaseUntil}, &row.Error,
		micros{&row.CreatedAt}, micros{&row.UpdatedAt})
}

func (t *tx) Job(id dhruva.JobID) (dhruva.Job, error) {
	row, err := one(t, "job", scanJob, selectJob, string(t.reach.Tenant), string(id))
	if err == nil && !t.reach.Holds(row.Space) {
		return absent[dhruva.Job]("job")
	}
	return row, err
}

func (t *tx) PutJob(row dhruva.Job) error {
	if err := row.Validate(); err != nil {
		return invalid("job", err)
	}
	if err := t.allow("job", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	n, err := t.exec("put job", insertJob, string(row.Tenant), string(row.ID), string(row.Space), row.Kind, row.Subject, row.Generation,
		row.Payload, string(row.State), row.Attempts, row.NotBefore.UnixMicro(), string(row.Owner), row.Fence, row.LeaseUntil.UnixMicro(),
		row.Error, row.CreatedAt.UnixMicro(), row.UpdatedAt.UnixMicro())
	if err == nil && n == 0 {
		return conflict("job")
	}
	return err
}

// ClaimJobs reads what is due and then writes each. It is not one UPDATE ...
// IN (SELECT ... LIMIT ...): Postgres may run such a subquery again within one
// statement and claim more than the limit, and no one index gives both the
// queued and the abandoned in their common order.
func (t *tx) ClaimJobs(c dhruva.JobClaim) ([]dhruva.Job, error) {
	if err := c.Validate(); err != nil {
		return nil, invalid("claim", err)
	}
	if err := t.allow("claim", t.reach.Tenant != "", c.Limit); err != nil {
		return nil, err
	}
	due, err := t.due(c)
	if err != nil {
		return nil, err
	}
	for n, row := range due {
		due[n] = row.Claimed(c)
		if err := t.swapJob(due[n], row.Fence); err != nil {
			return nil, err
		}
	}
	return due, nil
}

// due are the first jobs that a claim takes.
func (t *tx) due(c dhruva.JobClaim) ([]dhruva.Job, error) {
	kinds := slices.Compact(slices.Sorted(slices.Values(c.Kinds)))
	if len(kinds) == 0 {
		kinds = []string{""}
	}
	first := func(a, b dhruva.Job) int { return cmp.Or(a.NotBefore.Compare(b.NotBefore), cmp.Compare(a.ID, b.ID)) }
	return gather(t, "", c.Limit, first, func(s dhruva.SpaceID) (due []dhruva.Job, err error) {
		for _, kind := range kinds {
			if kind == "" && len(c.Kinds) > 0 { // no job has it
				continue
			}
			rows, err := t.dueOf(s, kind, c)
			if err != nil {
				return nil, err
			}
			due = append(due, rows...)
		}
		slices.SortFunc(due, first)
		return due[:min(c.Limit, len(due)):min(c.Limit, len(due))], nil
	})
}

// dueOf are the first of one kind (or any), of one space (or all): queued ones
// and abandoned ones.
func (t *tx) dueOf(s dhruva.SpaceID, kind string, c dhruva.JobClaim) ([]dhruva.Job, error) {
	queued := queuedOfKind
	if kind == "" {
		queued = queuedJobs
	}
	var due []dhruva.Job
	for _, query := range []string{queued, abandonedJobs} {
		rows, err := collect(t, "claim", scanJob, query+t.d.lockRows, string(t.reach.Tenant), string(s), kind, c.Now.UnixMicro(), c.Limit)
		if err != nil {
			return nil, err
		}
		due = append(due, rows...)
	}
	return due, nil
}

func (t *tx) SwapJob(row dhruva.Job, fence int64) error {
	if err := row.Validate(); err != nil {
		return invalid("job", err)
	}
	if err := t.allow("job", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	return t.swapJob(row, fence)
}

func (t *tx) swapJob(row dhruva.Job, fence int64) error {
	n, err := t.exec("put job", updateJob, row.Payload, string(row.State), row.Attempts, row.NotBefore.UnixMicro(), string(row.Owner),
		row.Fence, row.LeaseUntil.UnixMicro(), row.Error, row.CreatedAt.UnixMicro(), row.UpdatedAt.UnixMicro(), string(row.Tenant),
		string(row.ID), string(row.Space), row.Kind, row.Subject, row.Generation, fence)
	if err == nil && n == 0 {
		return conflict("job")
	}
	return err
}

func (t *tx) ListJobs(q dhruva.JobQuery) ([]dhruva.Job, error) {
	byID := func(a, b dhruva.Job) int { return cmp.Compare(a.ID, b.ID) }
	return gather(t, q.Space, q.Size(), byID, func(s dhruva.SpaceID) ([]dhruva.Job, error) {
		query := jobsOfAll
		switch {
		case s != "":
			query = jobsOfSpace
		case q.State != "":
			query = jobsOfState
		}
		return collect(t, "jobs", scanJob, query, string(t.reach.Tenant), string(s), string(q.State), q.After, q.Kind, q.Size())
	})
}

func (t *tx) DropJob(id dhruva.JobID) error {
	covered := !t.dead && t.reach.Tenant != ""
	if covered && !t.reach.Whole {
		old, err := collect(t, "job", scanSpaceID, jobSpace, string(t.reach.Tenant), string(id))
		if err != nil {
			return err
		}
		covered = len(old) == 0 || t.reach.Holds(old[0])
	}
	if err := t.allow("job", covered, 1); err != nil {
		return err
	}
	return t.drop("job", deleteJob, string(t.reach.Tenant), string(id))
}
