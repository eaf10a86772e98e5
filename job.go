package dhruva

import (
	"fmt"
	"time"
)

// JobState is where a piece of background work stands.
type JobState string

// The states.
const (
	JobQueued JobState = "queued" // due at NotBefore
	JobLeased JobState = "leased" // being worked on, until LeaseUntil
	JobDone   JobState = "done"
	JobDead   JobState = "dead" // given up; a person may queue it again
)

// Job is a piece of background work. Payload holds ids, never text.
type Job struct {
	Tenant TenantID
	Space  SpaceID
	ID     JobID
	Kind   string
	// Subject is what it is about. (space, generation, kind, subject) is unique.
	Subject    string
	Generation int64
	Payload    string
	State      JobState
	// Attempts counts claims since it was queued.
	Attempts  int
	NotBefore time.Time
	// Owner has it until LeaseUntil. Fence rises with every claim: what an owner
	// writes, it writes with the number of its claim, and a later claim refuses
	// it.
	Owner      NodeID
	Fence      int64
	LeaseUntil time.Time
	// Error is how the last attempt ended, for people; it holds no text of turns.
	Error     string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// JobClaim asks for due jobs: queued ones whose NotBefore has come, and leased
// ones whose lease has ended.
type JobClaim struct {
	Kinds []string // none means any
	Owner NodeID
	Now   time.Time
	Until time.Time // of the lease
	Limit int
}

// JobQuery selects jobs by id.
type JobQuery struct {
	Space SpaceID // "" means every space the scope covers
	Kind  string  // "" means any
	State JobState
	Page
}

// JobRows are the jobs of the scope's spaces.
type JobRows interface {
	Job(JobID) (Job, error)
	// PutJob inserts; an existing id, or one about the same, is ErrConflict,
	// whatever its state.
	PutJob(Job) error
	// ClaimJobs leases due jobs to an owner, the longest due first (NotBefore,
	// then ID): State, Owner and LeaseUntil are set, Attempts and Fence rise by
	// one, UpdatedAt is Now. They are answered in that order. Two claims at once
	// never get the same job; one that waits for another's end may instead pass
	// over its jobs and answer fewer. It counts Limit rows, which must be
	// positive. A scope without a tenant is ErrDenied.
	ClaimJobs(JobClaim) ([]Job, error)
	// SwapJob replaces a job whose Fence still is the given one, and is
	// ErrConflict otherwise, also when there is no such job. Tenant, space, kind,
	// subject and generation of a job never change: other ones are ErrConflict.
	SwapJob(j Job, fence int64) error
	// ListJobs lists by id, of any state when the state is "".
	ListJobs(JobQuery) ([]Job, error)
	// DropJob removes a job. What is absent is left alone; a job of a space that
	// is not covered is ErrDenied.
	DropJob(JobID) error
}

// Validate is as said in row.go.
func (j Job) Validate() error {
	return firstError(validKey("job", string(j.Tenant), string(j.Space), string(j.ID), j.Kind, string(j.State)),
		validRef("job", j.Subject), ValidText("job", j.Payload, string(j.Owner), j.Error),
		validTime("job", j.NotBefore, j.LeaseUntil, j.CreatedAt, j.UpdatedAt))
}

// Canonical is as said in row.go.
func (j Job) Canonical() Job {
	j.NotBefore, j.LeaseUntil = Micros(j.NotBefore), Micros(j.LeaseUntil)
	j.CreatedAt, j.UpdatedAt = Micros(j.CreatedAt), Micros(j.UpdatedAt)
	return j
}

// Due reports whether a claim at a time takes the job.
func (j Job) Due(now time.Time) bool {
	return j.State == JobQueued && !j.NotBefore.After(now) || j.State == JobLeased && !j.LeaseUntil.After(now)
}

// Claimed is the job as a claim makes it.
func (j Job) Claimed(c JobClaim) Job {
	j.State, j.Owner, j.LeaseUntil, j.UpdatedAt = JobLeased, c.Owner, Micros(c.Until), Micros(c.Now)
	j.Attempts++
	j.Fence++
	return j
}

// Validate is as said in row.go.
func (c JobClaim) Validate() error {
	if c.Limit <= 0 {
		return fmt.Errorf("%w: claim of %d jobs", ErrInvalid, c.Limit)
	}
	return firstError(validKey("claim", string(c.Owner)), validTexts("claim", c.Kinds), validTime("claim", c.Now, c.Until))
}
