package api

import (
	"context"
	"errors"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

// deadJob is a job that was given up.
func (r *rig) deadJob(space dhruva.SpaceID) dhruva.JobID {
	r.t.Helper()
	j := dhruva.Job{Tenant: "local", Space: space, ID: dhruva.JobID(dhruva.NewID()), Kind: "test", Subject: dhruva.NewID(), Generation: 1,
		State: dhruva.JobDead, Attempts: 8, Fence: 8, Error: "the last attempt failed"}
	err := r.store.Update(context.Background(), []dhruva.Scope{dhruva.SpaceScope("local", space)}, func(tx dhruva.Tx) error { return tx.PutJob(j) })
	if err != nil {
		r.t.Fatal(err)
	}
	return j.ID
}

func TestJobs(t *testing.T) {
	r := newRig(t)
	ctx := t.Context()
	sp := must[client.Space](t)(r.CreateSpace(ctx, client.SpaceInput{Name: "work"}))
	id := r.deadJob(sp.ID)
	for _, f := range []client.JobFilter{{}, {Space: "work"}, {State: dhruva.JobDead}, {Kind: "test"}} {
		l := must[client.List[client.Job]](t)(r.Jobs(ctx, f))
		if len(l.Items) != 1 || l.Items[0].ID != id || l.Items[0].Error == "" || l.Items[0].State != dhruva.JobDead {
			t.Errorf("%+v: %+v", f, l)
		}
	}
	if l := must[client.List[client.Job]](t)(r.Jobs(ctx, client.JobFilter{State: dhruva.JobQueued})); len(l.Items) != 0 {
		t.Errorf("%+v", l)
	}
	if j := must[client.Job](t)(r.RetryJob(ctx, id)); j.State != dhruva.JobQueued || j.Attempts != 0 || j.NotBefore.IsZero() {
		t.Errorf("%+v", j)
	}
	if _, err := r.RetryJob(ctx, "none"); !errors.Is(err, dhruva.ErrNotFound) {
		t.Errorf("%v", err)
	}
	k := must[client.NewKey](t)(r.CreateKey(ctx, client.KeyInput{Scopes: []dhruva.KeyScope{dhruva.StateRead, dhruva.StateWrite}}))
	other := &client.Client{BaseURL: r.url, Key: k.Secret}
	if _, err := other.Jobs(ctx, client.JobFilter{}); !errors.Is(err, dhruva.ErrDenied) {
		t.Errorf("%v", err)
	}
	if _, err := other.RetryJob(ctx, id); !errors.Is(err, dhruva.ErrDenied) {
		t.Errorf("%v", err)
	}
}
