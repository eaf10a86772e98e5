package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/memory"
)

// words make texts that share words with each other and with the questions, so
// that what leaks would be found.
var words = []string{"harbour", "ticket", "lighthouse", "Monday", "budget", "ferry", "captain", "port 6543", "red", "seven", "storm", "map"}

func sentence(t *rapid.T, label string) string {
	n := rapid.IntRange(3, 7).Draw(t, label+" words")
	out := "The"
	for range n {
		out += " " + rapid.SampledFrom(words).Draw(t, label)
	}
	return out + "."
}

// Non-interference: what a mounted session is given is a function of its visible
// set. Two stores that differ in everything else (turns before the mount, other
// sessions, other checkpoints, other spaces) give byte-identical prompts and
// the same evidence.
func TestS24_NonInterference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		concluded, question := sentence(rt, "concluded"), sentence(rt, "question")
		var after []string
		for range rapid.IntRange(0, 8).Draw(rt, "turns after") {
			after = append(after, sentence(rt, "after"))
		}
		noise := func(label string) (out []string) {
			for i := range rapid.IntRange(0, 4).Draw(rt, label) {
				out = append(out, fmt.Sprintf("%s NOISE-%s-%d", sentence(rt, label), label, i))
			}
			return out
		}
		give := func(before, elsewhere, later []string) memory.Preview {
			r := newRig(t)
			moment := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
			r.m.Now, r.m.Ledger.Now, r.m.Recall.Now = func() time.Time { return moment }, func() time.Time { return moment }, func() time.Time { return moment }
			r.m.Limits.HistoryTurns = 4 // so that evidence has something to bring back
			sp, other := r.space("here"), r.space("elsewhere")
			s := r.session(sp.ID)
			base := r.commit(s, ledger.CommitInput{Title: "base", Summary: concluded, Decisions: items(concluded + " Decided.")})
			for _, text := range before {
				r.send(s, text)
			}
			neighbour := r.session(sp.ID)
			for _, text := range elsewhere {
				r.send(neighbour, text)
				r.send(r.session(other.ID), text+" there")
			}
			if len(elsewhere) > 0 {
				r.commit(neighbour, ledger.CommitInput{Title: "noise", Summary: elsewhere[0], Decisions: items(elsewhere...)})
			}
			_, err := r.m.Ledger.Mount(r.ctx(), s.ID, base.Hash.String(), 1)
			r.must(err)
			for _, text := range after {
				r.send(s, text)
			}
			for _, text := range later {
				r.send(neighbour, text)
			}
			out, err := r.m.Preview(r.ctx(), memory.SendInput{Session: s.ID, Message: question})
			r.must(err)
			return out
		}
		quiet := give(nil, nil, nil)
		loud := give(noise("before"), noise("elsewhere"), noise("later"))
		if diff := cmp.Diff(quiet.Prompt, loud.Prompt); diff != "" {
			rt.Fatalf("the prompt depends on what is not visible:\n%s", diff)
		}
		same := cmpopts.IgnoreFields(dhruva.Evidence{}, "Token", "Source", "Session", "Seq")
		if diff := cmp.Diff(quiet.Evidence, loud.Evidence, same); diff != "" {
			rt.Fatalf("the evidence depends on what is not visible:\n%s", diff)
		}
	})
}
