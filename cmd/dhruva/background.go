package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/memory"
)

// thisNode is this process as a node of the installation.
func thisNode(pace memory.Pace) memory.Node {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return memory.Node{
		ID: dhruva.NodeID(dhruva.NewID()), Name: fmt.Sprintf("%s, process %d", host, os.Getpid()), Version: version(),
		System: dhruva.SystemScope(), Pace: pace,
	}
}

// work begins the background work of this process; close ends it.
func (in *installation) work() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- in.memory.Run(ctx, in.node) }()
	in.rest = func() error {
		cancel()
		return <-done
	}
}

// settleTime bounds the background work of a process that stays for one command.
const settleTime = 5 * time.Second

// settle does what a command left to be done, where no server does. What it does
// not reach, the next process does.
func (in *installation) settle() error {
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	if err := in.memory.Settle(ctx, in.node); err != nil {
		in.log.WarnContext(ctx, "background work is left to the next process", "error", err)
	}
	return nil
}

// workOf is how background work stands, for who asks the server how it is.
func (in *installation) workOf() *client.Work {
	s, ok := in.memory.Standing()
	if !ok {
		return nil
	}
	out := &client.Work{At: s.At, Nodes: s.Live}
	for _, t := range s.Tenants {
		out.PendingLeaves += t.Pending
		out.WaitingJobs += t.Queued + t.Leased
		out.DeadJobs += t.Dead
		out.FeedLag = max(out.FeedLag, t.Lag)
	}
	return out
}

// lateLeaf is how long a leaf may wait for its place before somebody should look.
const lateLeaf = time.Minute

// workChecks are what doctor says of background work. served: a server runs.
func workChecks(s ledger.Standing, lease time.Duration, served bool) []finding {
	out := []finding{nodesCheck(s, lease, served)}
	for _, t := range s.Tenants {
		of := ""
		if len(s.Tenants) > 1 {
			of = " of tenant " + string(t.Tenant)
		}
		out = append(out, jobsCheck(t, of), auditCheck(s, t, of, served), feedCheck(t, of))
	}
	return out
}

func nodesCheck(s ledger.Standing, lease time.Duration, served bool) finding {
	const check = "nodes"
	if dead := len(s.Nodes) - s.Live; dead > 0 {
		f := finding{check, "warning", fmt.Sprintf("%d run, %d ended without leaving", s.Live, dead), "none needed: a server removes them within two minutes"}
		if !served {
			f.Fix = "start `dhruva serve`: it removes them"
		}
		return f
	}
	late, since := lateNodes(s, lease)
	if late == 0 {
		return finding{check, "ok", fmt.Sprintf("%d run", s.Live), ""}
	}
	f := finding{check, "warning", fmt.Sprintf("%d %s, %d not heard from since %s", s.Live-late, plural(s.Live-late, "answers", "answer"), late, since.Format(time.RFC3339)),
		"none needed if they were killed: a server removes them within two minutes"}
	if !served {
		f.Fix = "none needed if they were killed: the next `dhruva serve` removes them"
	}
	return f
}

// nodeWord is what a node is given beyond the longest time between two of its words,
// which is half a lease.
const nodeWord = 2 * time.Second

// lateNodes counts those that stand, and have not said for too long that they live;
// since is the last word of those.
func lateNodes(s ledger.Standing, lease time.Duration) (late int, since time.Time) {
	word := lease/2 + nodeWord
	for _, n := range s.Nodes {
		if said := n.Until.Add(-lease); s.At.Sub(said) > word {
			late++
			if said.After(since) {
				since = said
			}
		}
	}
	return late, since
}

func jobsCheck(t ledger.TenantStanding, of string) finding {
	const check = "jobs"
	if t.Dead > 0 {
		return finding{check, "problem", fmt.Sprintf("%s%s %s given up", most(t.Dead), of, plural(t.Dead, "was", "were")),
			"`dhruva job list --state dead` says why; `dhruva job retry JOB` tries again"}
	}
	return finding{check, "ok", fmt.Sprintf("%s%s wait, %s are worked on", most(t.Queued), of, most(t.Leased)), ""}
}

func auditCheck(s ledger.Standing, t ledger.TenantStanding, of string, served bool) finding {
	const check = "audit log"
	detail := fmt.Sprintf("%d leaves%s have their place, %s wait", t.Placed, of, most(t.Pending))
	if t.Pending == 0 || s.At.Sub(t.Oldest) < lateLeaf {
		return finding{check, "ok", detail, ""}
	}
	if !served {
		return finding{check, "warning", detail, "start `dhruva serve`, or run any command: they get their places"}
	}
	return finding{check, "warning", detail + fmt.Sprintf(", the oldest since %s", t.Oldest.Format(time.RFC3339)), "see the server's log"}
}

func feedCheck(t ledger.TenantStanding, of string) finding {
	const check = "feeds"
	detail := fmt.Sprintf("%d changes%s are kept, the last follower is %d behind", t.Kept, of, t.Lag)
	return finding{check, "ok", detail, ""}
}

// most is a count that ends somewhere.
func most(n int) string {
	if n >= ledger.StandingMost {
		return fmt.Sprintf("%d or more", n)
	}
	return fmt.Sprint(n)
}
