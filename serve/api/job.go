package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/ledger"
)

func (a *api) jobs() {
	tags := []string{"jobs"}
	route(a, huma.Operation{OperationID: "list-jobs", Method: http.MethodGet, Path: "/jobs", Summary: "List background work", Description: "Needs admin.", Tags: tags}, a.listJobs)
	changes(a, huma.Operation{OperationID: "retry-job", Method: http.MethodPost, Path: "/jobs/{id}/retry", Summary: "Try a job again that was given up",
		Description: "One that waits or is worked on is answered as it is; one that is done is a 409. Needs admin.", Tags: tags}, dhruva.Admin, (*api).retryJob,
		func(a *api, ctx context.Context, in *jobPath, _ ledger.Outcome) (client.Job, error) {
			j, err := a.ledger.Job(ctx, in.ID)
			return jobView(j), err
		})
}

type jobPath struct {
	ID dhruva.JobID `path:"id"`
}

func (a *api) listJobs(ctx context.Context, in *struct {
	Paging
	Space string          `query:"space" doc:"Id or name of a space."`
	Kind  string          `query:"kind"`
	State dhruva.JobState `query:"state" enum:"queued,leased,done,dead"`
}) (client.List[client.Job], error) {
	page, err := in.byID()
	if err != nil {
		return client.List[client.Job]{}, err
	}
	q := dhruva.JobQuery{Kind: in.Kind, State: in.State, Page: page}
	if in.Space != "" {
		s, err := a.space(ctx, in.Space)
		if err != nil {
			return client.List[client.Job]{}, err
		}
		q.Space = s.ID
	}
	rows, next, err := a.ledger.ListJobs(ctx, q)
	return list(rows, next, jobView), err
}

func (a *api) retryJob(ctx context.Context, in *jobPath) (client.Job, error) {
	j, err := a.ledger.RequeueJob(ctx, in.ID)
	return jobView(j), err
}

func jobView(j dhruva.Job) client.Job {
	out := client.Job{
		ID: j.ID, Space: j.Space, Kind: j.Kind, State: j.State, Attempts: j.Attempts, Error: j.Error,
		CreatedAt: j.CreatedAt, UpdatedAt: j.UpdatedAt,
	}
	if j.State == dhruva.JobQueued {
		out.NotBefore = j.NotBefore
	}
	out.Done, out.Total, _ = ledger.JobProgress(j)
	return out
}
