package sqlstore_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

var kills = flag.Int("kills", 0, "cycles of the kill tests; 0: 100, in a campaign 1,000, under the race detector 10")

const noteWriters = 8

// noteForever is the child that is killed: concurrent writers note in its two
// spaces, in sessions of their own and in shared ones, and say what is
// acknowledged. A writer that is told "unavailable" says so with a question
// mark, and goes on when its parent says a line.
func noteForever(ctx context.Context, s *sqlstore.Store, do task) error {
	again := make(chan struct{})
	go func() {
		bufio.NewReader(os.Stdin).ReadString('\n')
		close(again)
	}()
	errs := make([]error, noteWriters)
	var wg sync.WaitGroup
	for w := range noteWriters {
		wg.Go(func() {
			for n := 0; errs[w] == nil; n++ {
				errs[w] = noteSomewhere(ctx, s, do, w, n)
				if errors.Is(errs[w], dhruva.ErrUnavailable) {
					say("? %q", errs[w].Error())
					<-again
					errs[w] = nil
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func noteSomewhere(ctx context.Context, s dhruva.Store, do task, w, n int) error {
	id := fmt.Sprintf("%s-%d-%d", do.Name, w, n)
	word, spaces := "s", do.Spaces[w%2:w%2+1]
	switch w % 4 {
	case 2: // both, or neither
		id, spaces = pairOf+id, do.Spaces
	case 3:
		word = fmt.Sprint(w)
	}
	at, err := note(ctx, s, id, word, spaces...)
	if err == nil {
		say("%v", acknowledged{id, at})
	}
	return err
}

// pairOf begins the id of a note in both spaces.
const pairOf = "pair-"

// killing is a store whose writers are killed, and what must be in it.
type killing struct {
	*testing.T
	database
	random *rand.Rand
	// every so many cycles everything is looked at, not only what is new.
	every int
	acks  []acknowledged // all
	// seen and said are how far the feed and the shared session of the space that
	// outlives the cycles were looked at.
	long       string
	seen, said int64
	unknown    int
	crashes    int
}

// TestKilledProcessLosesNothingAcknowledged kills a writing process again and
// again; on a database with a server of its own, every tenth time the server too,
// sometimes under a process that goes on.
func TestKilledProcessLosesNothingAcknowledged(t *testing.T) {
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			seed := testkit.Seed(t)
			k := &killing{T: t, database: e.create(t), random: rand.New(rand.NewPCG(seed, 1)), every: testkit.Count(5, 25, 100)}
			cycles := *kills
			if cycles == 0 {
				cycles = testkit.Count(10, 100, 1000)
			}
			for cycle := range cycles {
				k.cycle(cycle, cycle%k.every == k.every-1 || cycle == cycles-1)
				if t.Failed() {
					t.Fatalf("cycle %d", cycle)
				}
			}
			testkit.Figure(t, "%d kills of a writing process, %d of the server; %d updates acknowledged, all kept; %d of unknown outcome",
				cycles, k.crashes, len(k.acks), k.unknown)
		})
	}
}

// cycle is one life and death of a writing process. Every space lives for some
// cycles, so that looking at all of it stays affordable.
func (k *killing) cycle(n int, everything bool) {
	if n%100 == 0 {
		k.long, k.seen, k.said = fmt.Sprint("long-", n/100), 0, 0
	}
	p := spawn(k.T, task{Role: "notes", URL: k.url, Name: fmt.Sprint("c", n), Spaces: []string{k.long, fmt.Sprint("now-", n/5)}})
	acks := k.listen(p, 1+k.random.IntN(60))
	if n%10 == 9 && k.crash != nil {
		k.crashes++
		k.crash()
		if k.random.IntN(2) == 0 { // the process lives on
			p.tell("again")
			acks = append(acks, k.listen(p, 1+k.random.IntN(60))...)
		}
	}
	for _, line := range p.kill() {
		acks = k.heard(acks, line)
	}
	k.acks = append(k.acks, acks...)
	k.look(p.task, acks, everything)
}

// listen hears a number of acknowledgements.
func (k *killing) listen(p *process, n int) (acks []acknowledged) {
	for len(acks) < n {
		acks = k.heard(acks, p.line())
	}
	return acks
}

func (k *killing) heard(acks []acknowledged, line string) []acknowledged {
	if strings.HasPrefix(line, "?") {
		if k.unknown++; k.crashes == 0 {
			k.Errorf("without a crash: %s", line)
		}
		return acks
	}
	a, err := parseAck(line)
	if err != nil {
		k.Fatal(err)
	}
	return append(acks, a)
}

// look opens the store anew and looks at what the cycle wrote, or at
// everything.
func (k *killing) look(do task, acks []acknowledged, everything bool) {
	ctx := context.Background()
	s, err := sqlstore.Open(ctx, k.url, sqlstore.Options{})
	if err != nil {
		k.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			k.Error(err)
		}
	}()
	allKept(k.T, s, acks)
	k.follow(s, do.Spaces[1])
	scopes := []dhruva.Scope{dhruva.SpaceScope(owner, dhruva.SpaceID(do.Spaces[1]))}
	if everything {
		allKept(k.T, s, k.acks)
		scopes = []dhruva.Scope{dhruva.TenantScope(owner)}
		if err := s.Integrity(ctx); err != nil {
			k.Error(err)
		}
	}
	if err := storetest.Check(ctx, s, scopes...); err != nil {
		k.Error(err)
	}
}

// follow reads on in the long space's feed and shared session: neither has a
// gap, each change is of a note that is there, and what was noted in both spaces
// is in both.
func (k *killing) follow(s dhruva.Store, now string) {
	scope := dhruva.SpaceScope(owner, dhruva.SpaceID(k.long))
	var refs []string
	for c, err := range s.Changes(context.Background(), scope, k.seen) {
		if err != nil || c.Seq != k.seen+1 {
			k.Errorf("change %d follows %d: %v", c.Seq, k.seen, err)
			return
		}
		k.seen, refs = c.Seq, append(refs, c.Ref)
	}
	err := s.View(context.Background(), dhruva.TenantScope(owner), func(tx dhruva.Tx) error {
		e, err := tx.Epoch(scope.Space())
		if err != nil || e.Head != k.seen {
			k.Errorf("the feed ends at %d, the head is %d: %v", k.seen, e.Head, err)
		}
		for _, id := range refs {
			k.whole(tx, dhruva.SourceID(id), scope.Space(), dhruva.SpaceID(now))
		}
		return k.turns(tx, dhruva.SessionID(k.long+"-s"))
	})
	if err != nil {
		k.Error(err)
	}
}

// whole: a change without its note, or half of a pair, was not one Update.
func (k *killing) whole(tx dhruva.Tx, id dhruva.SourceID, long, now dhruva.SpaceID) {
	if _, err := tx.Source(long, 1, id); err != nil {
		k.Errorf("a change tells of %s: %v", id, err)
	}
	if _, err := tx.Source(now, 1, id); strings.HasPrefix(string(id), pairOf) != (err == nil) {
		k.Errorf("%s is in one space, and in the other: %v", id, err)
	}
}

func (k *killing) turns(tx dhruva.Tx, id dhruva.SessionID) error {
	session, err := tx.Session(id)
	if errors.Is(err, dhruva.ErrNotFound) { // killed before its first turn
		return nil
	}
	if err != nil {
		return err
	}
	turns, err := tx.ListTurns(dhruva.TurnQuery{Session: id, After: k.said})
	for _, row := range turns {
		if row.Seq != k.said+1 {
			k.Errorf("turn %d follows %d", row.Seq, k.said)
		}
		k.said = row.Seq
	}
	if session.LastSeq != k.said {
		k.Errorf("the turns end at %d, the session says %d", k.said, session.LastSeq)
	}
	return err
}
