package storetest

import (
	"time"

	"github.com/dhruva-memory/dhruva"
)

// job is of few kinds and about few things, so that they meet.
func (d draw) job() dhruva.Job {
	s := d.row()
	return dhruva.Job{Tenant: s.Tenant(), Space: s.Space(), ID: dhruva.JobID(d.id()), Kind: pick(d, "kind", "k", "k", "K", ""),
		Subject: pick(d, "subject", "x", "y", ""), Generation: d.small() / 3, Payload: d.text(),
		State: pick(d, "state", dhruva.JobQueued, dhruva.JobQueued, dhruva.JobLeased, dhruva.JobDone, dhruva.JobDead), Attempts: d.n(),
		NotBefore: at(d.n()), Owner: dhruva.NodeID(d.id()), Fence: d.small() / 2, LeaseUntil: at(d.n()), CreatedAt: at(d.n())}
}

func (d draw) jobOps() []func() op {
	return []func() op{
		func() op { return write("PutJob", dhruva.Tx.PutJob, d.job()) },
		func() op { return write("PutJob", dhruva.Tx.PutJob, d.job()) },
		func() op { return ask("Job", dhruva.Tx.Job, dhruva.JobID(d.id())) },
		func() op {
			c := dhruva.JobClaim{Owner: dhruva.NodeID(d.id()), Now: at(d.n()).Add(pick[time.Duration](d, "more", 0, 999, 1000)), Until: at(d.n() + 2), Limit: d.n()}
			for range d.n() % 3 {
				c.Kinds = append(c.Kinds, pick(d, "kind", "k", "K", "", "k"))
			}
			return ask("ClaimJobs", dhruva.Tx.ClaimJobs, c)
		},
		func() op { // of the job that is there, mostly, under a fence that is near
			row, like, more := d.job(), d.n() > 0, d.small()/3
			return put("SwapJob", func(tx dhruva.Tx) error {
				fence := more
				if old, err := tx.Job(row.ID); like && err == nil {
					row := row
					row.Tenant, row.Space, row.Kind, row.Subject, row.Generation = old.Tenant, old.Space, old.Kind, old.Subject, old.Generation
					return tx.SwapJob(row, old.Fence+more)
				}
				return tx.SwapJob(row, fence)
			}, row, like, more)
		},
		func() op {
			return ask("ListJobs", dhruva.Tx.ListJobs, dhruva.JobQuery{Space: d.space(), Kind: d.filter("k", "K", d.text()),
				State: pick(d, "state", "", "", dhruva.JobQueued, dhruva.JobLeased, dhruva.JobDead), Page: d.page()})
		},
		func() op {
			id := dhruva.JobID(pick(d, "job", d.id(), d.text()))
			return put("DropJob", func(tx dhruva.Tx) error { return tx.DropJob(id) }, id)
		},
	}
}

func (d draw) callOps() []func() op {
	row := func() dhruva.Idempotency {
		i := dhruva.Idempotency{Tenant: d.owner(), Principal: dhruva.PrincipalID(pick(d, "principal", "x", "x", "X", d.id())),
			Route: pick(d, "route", "r", "r", "r", "R", ""), Key: d.hash(),
			Request: d.hash(), State: pick(d, "state", dhruva.CallBegun, dhruva.CallBegun, dhruva.CallBegun, dhruva.CallBegun, dhruva.CallDone), Fence: d.small() / 2, Until: at(d.n())}
		for range d.n() % 3 {
			i.Results = append(i.Results, d.text())
		}
		if d.flag() {
			i.ExpiresAt = at(d.n())
		}
		return i
	}
	return []func() op{
		func() op { return write("PutIdempotency", dhruva.Tx.PutIdempotency, row()) },
		func() op {
			i, more := row(), d.small()/3
			return put("SwapIdempotency", func(tx dhruva.Tx) error { // mostly under the fence that is there
				old, _ := tx.Idempotency(i.Principal, i.Route, i.Key)
				return tx.SwapIdempotency(i, old.Fence+more)
			}, i, more)
		},
		func() op {
			p, route, key := dhruva.PrincipalID(pick(d, "principal", "x", "x", "X", d.id())), pick(d, "route", "r", "r", "R", d.text()), d.hash()
			return call("Idempotency", func(tx dhruva.Tx) (dhruva.Idempotency, error) { return tx.Idempotency(p, route, key) }, p, route, key)
		},
		func() op {
			before, limit := at(d.n()).Add(pick[time.Duration](d, "more", 0, 999, 1000)), d.n()
			return call("ExpireIdempotency", func(tx dhruva.Tx) (int, error) { return tx.ExpireIdempotency(before, limit) }, before, limit)
		},
	}
}
