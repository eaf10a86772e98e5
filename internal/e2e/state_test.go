package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/internal/testkit"
)

// S25 against the built binary: the prompt that the provider received holds
// nothing of what was said between a checkpoint and its mount, mounted and
// forked.
func TestS25_AustraliaNewZealand(t *testing.T) { eachStore(t, australiaNewZealand) }

func australiaNewZealand(t *testing.T, at place) {
	upstream := testkit.NewProvider(t)
	s := startAt(t, at, upstream)
	ctx, c := context.Background(), s.admin()
	_, err := c.CreateSpace(ctx, client.SpaceInput{Name: "trips"})
	s.must(err)
	session, err := c.CreateSession(ctx, "trips", client.SessionInput{})
	s.must(err)
	send := func(id dhruva.SessionID, text string) client.SendResult {
		t.Helper()
		out, err := c.Send(ctx, id, client.SendInput{Message: text, Provider: "openai"})
		s.must(err)
		return out
	}
	send(session.ID, "Plan ten days in Australia: AU-TURN-1")
	send(session.ID, "Sydney first: AU-TURN-2")
	au, err := c.CreateCheckpoint(ctx, "trips", client.CheckpointInput{Session: session.ID, Title: "Australia", Summary: "Ten days.", Decisions: []client.Item{{Text: "Fly to Sydney"}}})
	s.must(err)
	send(session.ID, "Forget it, New Zealand: NZ-TURN-1")
	send(session.ID, "Queenstown for skiing: NZ-TURN-2")
	_, err = c.Mount(ctx, session.ID, client.MountInput{Checkpoint: au.Hash.String()[:8]})
	s.must(err)
	check := func(out client.SendResult, mode dhruva.Mode, want ...string) {
		t.Helper()
		prompt := upstreamPrompt(t, upstream.Last())
		for _, bad := range []string{"NZ-TURN", "New Zealand", "Queenstown", "AU-TURN"} {
			if strings.Contains(prompt, bad) {
				t.Errorf("%s: %q leaks into\n%s", mode, bad, prompt)
			}
		}
		for _, w := range append(want, "Fly to Sydney") {
			if !strings.Contains(prompt, w) {
				t.Errorf("%s: %q is missing from\n%s", mode, w, prompt)
			}
		}
		if out.Mode != mode || !strings.HasSuffix(out.Badge, au.Hash.Short()) {
			t.Errorf("answered mode %s, badge %s", out.Mode, out.Badge)
		}
	}
	check(send(session.ID, "Which city did we choose to ski in? POST-1"), dhruva.ModeMounted, "POST-1")
	check(send(session.ID, "And after that? POST-2"), dhruva.ModeMounted, "POST-1", "POST-2")

	fork, err := c.ForkCheckpoint(ctx, au.Hash.String(), client.ForkInput{})
	s.must(err)
	check(send(fork.ID, "Which city first, Sydney or Queens? FORK-1"), dhruva.ModeForked, "FORK-1")
	check(send(fork.ID, "Then? FORK-2"), dhruva.ModeForked, "FORK-1", "FORK-2")
}

// upstreamPrompt is the one user message of a Chat Completions request.
func upstreamPrompt(t *testing.T, r testkit.Request) string {
	t.Helper()
	var body struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal(r.Body, &body); err != nil || len(body.Messages) != 1 || body.Messages[0].Role != "user" {
		t.Fatalf("not one user message: %v\n%s", err, r.Body)
	}
	return body.Messages[0].Content
}

// 20 parallel sends leave numbers without gaps and adjacent pairs.
func TestS12_ParallelSends(t *testing.T) { eachStore(t, parallelSends) }

func parallelSends(t *testing.T, at place) {
	s := startAt(t, at, nil)
	ctx, c := context.Background(), s.admin()
	_, err := c.CreateSpace(ctx, client.SpaceInput{Name: "busy"})
	s.must(err)
	session, err := c.CreateSession(ctx, "busy", client.SessionInput{})
	s.must(err)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, err := c.Send(ctx, session.ID, client.SendInput{Message: fmt.Sprint("parallel message ", i), Provider: "echo"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	turns, err := c.Turns(ctx, session.ID, 0, 100)
	s.must(err)
	if len(turns.Items) != 40 {
		t.Fatalf("%d turns", len(turns.Items))
	}
	for i, turn := range turns.Items {
		if turn.Seq != int64(i+1) || (turn.Role == dhruva.RoleUser) != (i%2 == 0) {
			t.Errorf("turn %d: number %d, role %s", i, turn.Seq, turn.Role)
		}
	}
}
