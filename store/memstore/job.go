package memstore

import (
	"cmp"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// subjectOf is what no two jobs are about.
func subjectOf(j dhruva.Job) subjectKey {
	return subjectKey{generationKey{spaceKey{j.Tenant, j.Space}, j.Generation}, j.Kind, j.Subject}
}

func (t *tx) Job(id dhruva.JobID) (dhruva.Job, error) {
	row, ok := t.jobs[jobKey{t.reach.Tenant, id}]
	if !ok || !t.reach.Holds(row.Space) {
		return absent[dhruva.Job]("job")
	}
	return row, nil
}

// PutJob: the id is unique, and so is what it is about.
func (t *tx) PutJob(row dhruva.Job) error {
	if err := row.Validate(); err != nil {
		return invalid("job", err)
	}
	if err := t.write("job", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	key, subject := jobKey{row.Tenant, row.ID}, subjectOf(row)
	_, exists := t.jobs[key]
	_, taken := t.subjects[subject]
	if exists || taken {
		return conflict("job")
	}
	put(t, t.jobs, key, row.Canonical())
	put(t, t.subjects, subject, row.ID)
	return nil
}

// jobsOf are the jobs that the scopes cover and that match.
func (t *tx) jobsOf(match func(dhruva.Job) bool) []dhruva.Job {
	var out []dhruva.Job
	for _, row := range t.jobs {
		if t.reach.Covers(row.Tenant, row.Space) && match(row) {
			out = append(out, row)
		}
	}
	return out
}

// longestDue orders by (NotBefore, ID).
func longestDue(a, b dhruva.Job) int {
	return cmp.Or(a.NotBefore.Compare(b.NotBefore), cmp.Compare(a.ID, b.ID))
}

func (t *tx) ClaimJobs(c dhruva.JobClaim) ([]dhruva.Job, error) {
	if err := c.Validate(); err != nil {
		return nil, invalid("claim", err)
	}
	if err := t.write("claim", t.reach.Tenant != "", c.Limit); err != nil {
		return nil, err
	}
	due := page(t.jobsOf(func(j dhruva.Job) bool {
		return j.Due(c.Now) && (len(c.Kinds) == 0 || slices.Contains(c.Kinds, j.Kind))
	}), longestDue, c.Limit)
	for n, row := range due {
		due[n] = row.Claimed(c)
		put(t, t.jobs, jobKey{row.Tenant, row.ID}, due[n])
	}
	return due, nil
}

func (t *tx) SwapJob(row dhruva.Job, fence int64) error {
	if err := row.Validate(); err != nil {
		return invalid("job", err)
	}
	if err := t.write("job", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	key := jobKey{row.Tenant, row.ID}
	old, ok := t.jobs[key]
	if !ok || old.Fence != fence || subjectOf(old) != subjectOf(row) {
		return conflict("job")
	}
	put(t, t.jobs, key, row.Canonical())
	return nil
}

func (t *tx) ListJobs(q dhruva.JobQuery) ([]dhruva.Job, error) {
	rows := t.jobsOf(func(j dhruva.Job) bool {
		return beyond(q.After, j.ID) && (q.Space == "" || j.Space == q.Space) && (q.Kind == "" || j.Kind == q.Kind) &&
			(q.State == "" || j.State == q.State)
	})
	return page(rows, func(a, b dhruva.Job) int { return cmp.Compare(a.ID, b.ID) }, q.Size()), nil
}

func (t *tx) DropJob(id dhruva.JobID) error {
	key := jobKey{t.reach.Tenant, id}
	row, ok := t.jobs[key]
	if err := t.write("job", t.reach.Tenant != "" && (!ok || t.reach.Holds(row.Space)), 1); err != nil {
		return err
	}
	remove(t, t.jobs, key)
	if ok {
		remove(t, t.subjects, subjectOf(row))
	}
	return nil
}
