package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

// A server is killed in the middle of a long attach. The next one finishes it by
// itself, gives what the killed one attested its place in the audit log, and takes
// it off the list of nodes.
func TestKillInTheMiddleOfAnAttach(t *testing.T) {
	eachDurableStore(t, func(t *testing.T, at place) {
		limits := "upkeep: {job_lease: 4s, job_attempts: 50, lease: 1s, skew: 500ms, node_lease: 2s}\nbackground: {look: 300ms, sweep: 500ms}\n"
		if err := os.WriteFile(filepath.Join(at.dir, "limits.yaml"), []byte(limits), 0o600); err != nil {
			t.Fatal(err)
		}
		s := startAt(t, at, nil)
		id, turns := s.longSession("origin", 2400)
		s.must(second(s.admin().CreateSpace(t.Context(), client.SpaceInput{Name: "work"})))
		attached := make(chan error, 1)
		go func() { attached <- second(s.admin().Attach(context.Background(), id, "work")) }()
		for s.moved() == 0 { // until some, and not all, has been moved
		}
		s.kill()
		if err := <-attached; err == nil {
			t.Log("the attach was answered before the process was killed")
		}

		s = startAt(t, at, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		s.await(ctx, "the move is done", func() bool {
			l, err := s.admin().Jobs(ctx, client.JobFilter{State: dhruva.JobDone})
			return err == nil && len(l.Items) == 1 && l.Items[0].Done == l.Items[0].Total
		})
		if n := s.sources("work"); n != turns {
			t.Errorf("%d sources came, want %d", n, turns)
		}
		if n := s.sources("origin"); n != 0 {
			t.Errorf("%d sources stayed behind", n)
		}
		s.await(ctx, "one node, and no leaf waits", func() bool {
			h, err := s.admin().Health(ctx)
			return err == nil && h.Work != nil && h.Work.Nodes == 1 && h.Work.PendingLeaves == 0 && h.Work.WaitingJobs == 0
		})
		if report, err := s.admin().Verify(ctx, "work"); err != nil || !report.OK {
			t.Errorf("verify: %+v %v", report, err)
		}
	})
}

// eachDurableStore leaves out the one in memory.
func eachDurableStore(t *testing.T, test func(*testing.T, place)) {
	eachStore(t, func(t *testing.T, at place) {
		if at.store != "memory:" {
			test(t, at)
		}
	})
}

// longSession is an imported one, and how many sources it made.
func (s *server) longSession(space string, turns int) (dhruva.SessionID, int) {
	s.Helper()
	ctx := context.Background()
	s.must(second(s.admin().CreateSpace(ctx, client.SpaceInput{Name: space})))
	in := client.ImportInput{Key: "k"}
	for n := range turns {
		in.Turns = append(in.Turns, client.ImportTurn{Role: dhruva.RoleUser, Text: fmt.Sprintf("Crate number %d stands in hall %d.", n, n%7)})
	}
	got, err := s.admin().Import(ctx, space, in)
	s.must(err)
	return got.Session, s.sources(space)
}

// moved is how many turns the one job has moved, 0 while there is none.
func (s *server) moved() int64 {
	s.Helper()
	l, err := s.admin().Jobs(context.Background(), client.JobFilter{})
	s.must(err)
	if len(l.Items) == 0 {
		return 0
	}
	return l.Items[0].Done
}

func (s *server) sources(space string) (n int) {
	s.Helper()
	for page := (dhruva.Page{Limit: 1000}); ; {
		l, err := s.admin().Sources(context.Background(), space, client.SourceFilter{Page: page})
		s.must(err)
		n += len(l.Items)
		if page.After = l.Next; l.Next == "" {
			return n
		}
	}
}

// await asks until something holds.
func (s *server) await(ctx context.Context, what string, holds func() bool) {
	s.Helper()
	for !holds() {
		if err := ctx.Err(); err != nil {
			s.Fatalf("%s: %v\n%s", what, errors.Join(err, context.Cause(ctx)), s.logs)
		}
	}
}

func second[T any](_ T, err error) error { return err }
