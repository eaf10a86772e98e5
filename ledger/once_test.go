package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/memstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

func callOf(key string) ledger.Call {
	return ledger.Call{Route: "POST /it", Key: key, Request: []byte("what is asked")}
}

// kinds are what was made, each kind once.
func kinds(made []string) (out []string) {
	for _, ref := range made {
		kind, _, _ := strings.Cut(ref, ":")
		out = append(out, kind)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestContract12_OneEffectWhateverFails fails each Update of each operation in
// turn, lost or kept. Repeating the call settles it: the store holds what one
// undisturbed run would have left, and the answer names it.
func TestContract12_OneEffectWhateverFails(t *testing.T) {
	faults := 0
	for name, prepare := range operations {
		t.Run(name, func(t *testing.T) {
			clean := newRig(t, memstore.New())
			want, err := clean.l.Once(clean.ctx(), callOf("k"), prepare(clean))
			clean.must(err)
			_, counts := clean.everything()
			for _, fault := range []storetest.Fault{storetest.Lost, storetest.Kept} {
				for at := 1; ; at++ {
					r := newRig(t, memstore.New())
					op := prepare(r)
					faulty := storetest.NewFaulty(r.l.Store, fault, at)
					r.l.Store = faulty
					got := r.settled(op)
					if _, left := r.everything(); !cmp.Equal(counts, left) {
						t.Errorf("fault %d at %d: %s", fault, at, cmp.Diff(counts, left))
					}
					if diff := cmp.Diff(kinds(want.Made), kinds(got.Made)); diff != "" {
						t.Errorf("fault %d at %d: made %s", fault, at, diff)
					}
					r.wantReplay(op, got.Made)
					r.check()
					if t.Failed() || faulty.Updates() < at {
						break
					}
					faults++
				}
			}
		})
	}
	t.Logf("%d faults in %d operations", faults, len(operations))
}

// settled repeats a call until its outcome is known.
func (r *rig) settled(op operation) ledger.Outcome {
	r.Helper()
	for range 3 {
		got, err := r.l.Once(r.ctx(), callOf("k"), op)
		if errors.Is(err, dhruva.ErrUnavailable) {
			continue
		}
		r.must(err)
		return got
	}
	r.Fatal("the outcome is never known")
	return ledger.Outcome{}
}

// wantReplay repeats a call that was done: nothing changes, not even a time.
func (r *rig) wantReplay(op operation, made []string) {
	r.Helper()
	before, _ := r.everything()
	got, err := r.l.Once(r.ctx(), callOf("k"), func(l *ledger.Ledger) error {
		r.Error("a call that was done is run again")
		return op(l)
	})
	r.must(err)
	if diff := cmp.Diff(ledger.Outcome{Replayed: true, Made: made}, got); diff != "" {
		r.Errorf("replayed: %s", diff)
	}
	if after, _ := r.everything(); before != after {
		r.Errorf("the replay changed something: %s", cmp.Diff(before, after))
	}
}

// TestContract12_EqualCallsAtOnce: of 20 equal calls at once one has an effect;
// the others are told what it made, or when to come back.
func TestContract12_EqualCallsAtOnce(t *testing.T) {
	// On every store: one Update, one after another that made a home for it, a step
	// before the last, and several steps.
	everywhere := []string{"create space", "create FRESH session", "send", "import"}
	for name, prepare := range operations {
		t.Run(name, func(t *testing.T) {
			clean := newRig(t, memstore.New())
			_, err := clean.l.Once(clean.ctx(), callOf("k"), prepare(clean))
			clean.must(err)
			_, counts := clean.everything()
			once := func(claim time.Duration) func(*rig) {
				return func(r *rig) {
					r.atOnce(20, prepare(r), claim)
					if _, left := r.everything(); !cmp.Equal(counts, left) {
						r.Error(cmp.Diff(counts, left))
					}
				}
			}
			if slices.Contains(everywhere, name) {
				each(t, once(0))
				each(t, once(time.Hour))
				return
			}
			r := newRig(t, memstore.New())
			once(0)(r)
			r.check()
		})
	}
}

func (r *rig) atOnce(n int, op operation, claim time.Duration) {
	r.Helper()
	var done, replayed, later atomic.Int64
	var made sync.Map
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			c := callOf("k")
			c.Claim = claim
			got, err := r.l.Once(r.ctx(), c, op)
			var running *ledger.Running
			switch {
			case errors.As(err, &running):
				if later.Add(1); running.After <= 0 {
					r.Errorf("come back after %v", running.After)
				}
				return
			case err != nil:
				r.Error(err)
			case got.Replayed:
				replayed.Add(1)
			default:
				done.Add(1)
			}
			made.Store(strings.Join(got.Made, " "), true)
		})
	}
	wg.Wait()
	answers := 0
	made.Range(func(any, any) bool { answers++; return true })
	if done.Load() != 1 || answers != 1 || done.Load()+replayed.Load()+later.Load() != int64(n) {
		r.Errorf("%d done, %d replayed, %d to come back, %d different answers", done.Load(), replayed.Load(), later.Load(), answers)
	}
}

// remembers is an operation of one Update.
func (r *rig) remembers(space dhruva.SpaceID, text string) operation {
	return func(l *ledger.Ledger) error {
		_, err := l.Remember(r.ctx(), ledger.RememberInput{Space: space, Text: text})
		return err
	}
}

func TestContract12_AnotherCallUnderTheSameKey(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		once := func(ctx context.Context, c ledger.Call, text string) (ledger.Outcome, error) {
			return r.l.Once(ctx, c, r.remembers(sp.ID, text))
		}
		first := must[ledger.Outcome](r)(once(r.ctx(), callOf("k"), "the first thing"))
		other := callOf("k")
		other.Request = []byte("something else")
		_, err := once(r.ctx(), other, "the second thing")
		var reused *ledger.Reused
		if !errors.As(err, &reused) || !errors.Is(err, dhruva.ErrConflict) {
			r.Fatalf("another request: %v", err)
		}
		route := callOf("k")
		route.Route = "POST /that"
		who := r.owner
		who.ID = "somebody else"
		for what, got := range map[string]func() (ledger.Outcome, error){
			"route":     func() (ledger.Outcome, error) { return once(r.ctx(), route, "the third thing") },
			"principal": func() (ledger.Outcome, error) { return once(r.as(who), callOf("k"), "the fourth thing") },
			"key":       func() (ledger.Outcome, error) { return once(r.ctx(), callOf("K"), "the fifth thing") },
		} {
			if out := must[ledger.Outcome](r)(got()); out.Replayed || cmp.Equal(out.Made, first.Made) {
				r.Errorf("another %s is the same call: %+v", what, out)
			}
		}
		if out := must[ledger.Outcome](r)(once(r.ctx(), callOf("k"), "")); !out.Replayed || !cmp.Equal(out.Made, first.Made) {
			r.Errorf("the first call again: %+v", out)
		}
	})
}

// A key limited in what it may do is not told what others of its owner made.
func TestContract12_WhoMayNotMakeItIsNotTold(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		c := callOf("k")
		c.Rights = []dhruva.KeyScope{dhruva.MemoryWrite}
		must[ledger.Outcome](r)(r.l.Once(r.ctx(), c, r.remembers(sp.ID, "a thing")))
		_, err := r.l.Once(r.with(dhruva.MemoryRead), c, r.remembers(sp.ID, "a thing"))
		r.is(err, dhruva.ErrDenied)
	})
}

// What is stored of a call names neither the caller's key nor the request.
func TestContract12_OnlyKeyedHashesAreStored(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		c := callOf("secret-key-of-the-caller")
		must[ledger.Outcome](r)(r.l.Once(r.ctx(), c, r.remembers(sp.ID, "a thing")))
		other := r.owner
		other.ID = "other"
		must[ledger.Outcome](r)(r.l.Once(r.as(other), c, r.remembers(sp.ID, "a thing")))
		rows := r.calls()
		if len(rows) != 2 || rows[0].Key == rows[1].Key || rows[0].Request == rows[1].Request {
			r.Errorf("two principals' calls can be told to be alike: %+v", rows)
		}
		text := fmt.Sprintf("%+v %s", rows, must[[]byte](r)(json.Marshal(rows)))
		if strings.Contains(text, c.Key) || strings.Contains(text, string(c.Request)) {
			r.Errorf("in the clear: %s", text)
		}
	})
}

// calls are the rows of two principals' calls.
func (r *rig) calls() (rows []dhruva.Idempotency) {
	r.Helper()
	for _, id := range []dhruva.PrincipalID{r.owner.ID, "other"} {
		rec := &keyOf{Keyring: r.keys}
		l := *r.l
		l.Keys = rec
		_, err := l.Once(r.as(dhruva.Principal{Tenant: tenant, ID: id, Scopes: r.owner.Scopes}), callOf("secret-key-of-the-caller"), func(*ledger.Ledger) error { return nil })
		r.must(err)
		r.view(func(tx dhruva.Tx) error {
			row, err := tx.Idempotency(id, "POST /it", rec.macs[0])
			rows = append(rows, row)
			return err
		})
	}
	return rows
}

// keyOf notes the hashes that are made.
type keyOf struct {
	dhruva.Keyring
	macs []dhruva.Hash
}

func (k *keyOf) MAC(p dhruva.Purpose, t dhruva.TenantID, msg []byte) []byte {
	out := k.Keyring.MAC(p, t, msg)
	if p == dhruva.PurposeIdempotency {
		k.macs = append(k.macs, dhruva.Hash(out))
	}
	return out
}

// A call that was refused leaves its key to a corrected one.
func TestContract12_ARefusedCallLeavesItsKey(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		for _, claim := range []time.Duration{0, time.Hour} {
			c := callOf("k" + claim.String())
			c.Claim = claim
			_, err := r.l.Once(r.ctx(), c, r.remembers(sp.ID, " "))
			r.is(err, dhruva.ErrInvalid)
			c.Request = []byte("corrected")
			if out := must[ledger.Outcome](r)(r.l.Once(r.ctx(), c, r.remembers(sp.ID, "a thing"+claim.String()))); out.Replayed || out.Last(ledger.MadeSource) == "" {
				r.Errorf("corrected: %+v", out)
			}
		}
	})
}

// One that failed after its first step may be repeated at once, as the same
// request alone.
func TestContract12_AFailedCallMayBeRepeated(t *testing.T) {
	each(t, func(r *rig) {
		down := errors.New("the model is down")
		c := callOf("k")
		c.Claim = time.Hour
		_, err := r.l.Once(r.ctx(), c, func(l *ledger.Ledger) error {
			_, err := l.EnsureSpace(r.ctx(), "made before the failure")
			r.must(err)
			return down
		})
		r.is(err, down)
		other := c
		other.Request = []byte("another")
		_, err = r.l.Once(r.ctx(), other, func(*ledger.Ledger) error { return nil })
		var reused *ledger.Reused
		if !errors.As(err, &reused) {
			r.Errorf("another request: %v", err)
		}
		out := must[ledger.Outcome](r)(r.l.Once(r.ctx(), c, func(l *ledger.Ledger) error {
			sp, err := l.EnsureSpace(r.ctx(), "made before the failure")
			r.must(err)
			return r.remembers(sp.ID, "a thing")(l)
		}))
		if out.Replayed || out.Last(ledger.MadeSpace) == "" {
			r.Errorf("repeated: %+v", out)
		}
	})
}

// odd is a store whose n-th Update is kept, and fails in words of its own.
type odd struct {
	dhruva.Store
	left int
}

func (o *odd) Update(ctx context.Context, s []dhruva.Scope, fn func(dhruva.Tx) error) error {
	err := o.Store.Update(ctx, s, fn)
	if o.left--; o.left == 0 && err == nil {
		return errors.New("the connection was reset")
	}
	return err
}

// An update that was kept although it failed, in whatever way, is known again:
// by its last one the call is done, and after another it goes on at once.
func TestContract12_AnOddFailureIsSettledToo(t *testing.T) {
	for at, replayed := range map[int]bool{1: false, 2: true} {
		r := newRig(t, memstore.New())
		op := operations["import"](r)
		r.l.Store = &odd{Store: r.l.Store, left: at}
		out, err := r.l.Once(r.ctx(), callOf("k"), op)
		if replayed != (err == nil && out.Replayed) {
			t.Errorf("at %d: %+v, %v", at, out, err)
		}
		if !replayed {
			out = must[ledger.Outcome](r)(r.l.Once(r.ctx(), callOf("k"), op))
		}
		if _, counts := r.everything(); counts["turns"] != 110 || out.Turns() != 110 {
			t.Errorf("at %d: %v, %+v", at, counts, out)
		}
		r.wantReplay(op, out.Made)
	}
}

// A process that dies between two steps leaves the call begun. Until its time is
// over it counts as running; then the call goes on where it was.
func TestContract12_ACrashBetweenSteps(t *testing.T) {
	each(t, func(r *rig) {
		op := operations["import"](r)
		r.still = true
		r.dies(callOf("k"), op, 2)
		var running *ledger.Running
		if _, err := r.l.Once(r.ctx(), callOf("k"), op); !errors.As(err, &running) || running.After != 2*time.Second || running.RetryAfter() != running.After {
			r.Fatalf("while it may be running: %v", err)
		}
		r.now = r.now.Add(59 * time.Second)
		if _, err := r.l.Once(r.ctx(), callOf("k"), op); !errors.As(err, &running) || running.After != time.Second {
			r.Fatalf("in its last second: %v", err)
		}
		r.now = r.now.Add(time.Second)
		out := must[ledger.Outcome](r)(r.l.Once(r.ctx(), callOf("k"), op))
		if out.Replayed || out.Turns() != 110 {
			r.Errorf("%d turns: %+v", out.Turns(), out)
		}
		if _, counts := r.everything(); counts["turns"] != 110 {
			r.Errorf("%v", counts)
		}
		r.wantReplay(op, out.Made)
	})
}

// dies runs a call whose process ends when it begins its n-th Update.
func (r *rig) dies(c ledger.Call, op operation, n int) {
	r.Helper()
	died := errors.New("died")
	defer func() {
		if got := recover(); got != died {
			r.Errorf("the process lives: %v", got)
		}
		r.l.Store = storetest.Rerun{Store: r.store}
	}()
	r.l.Store = &dying{Store: r.l.Store, left: n, how: died}
	_, err := r.l.Once(r.ctx(), c, op)
	r.must(err)
}

// dying is a store whose process ends before an Update.
type dying struct {
	dhruva.Store
	left int
	how  error
}

func (d *dying) Update(ctx context.Context, s []dhruva.Scope, fn func(dhruva.Tx) error) error {
	if d.left--; d.left == 0 {
		panic(d.how)
	}
	return d.Store.Update(ctx, s, fn)
}

// A call that was taken for dead and comes back leaves nothing, and is told what
// the other one made.
func TestContract12_ATakenOverCallLeavesNothing(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		r.still = true
		c := callOf("k")
		c.Claim = 10 * time.Minute
		var second ledger.Outcome
		first, err := r.l.Once(r.ctx(), c, func(l *ledger.Ledger) error {
			r.now = r.now.Add(10 * time.Minute) // it was slow
			second = must[ledger.Outcome](r)(r.l.Once(r.ctx(), c, r.remembers(sp.ID, "what the second one says")))
			err := r.remembers(sp.ID, "what the first one says")(l)
			r.is(err, dhruva.ErrConflict)
			return errors.Join(err, r.remembers(sp.ID, "again")(l))
		})
		r.must(err)
		if !first.Replayed || second.Replayed || !cmp.Equal(first.Made, second.Made) {
			r.Errorf("first %+v, second %+v", first, second)
		}
		if _, counts := r.everything(); counts["turns"] != 1 || counts["ready"] != 1 {
			r.Errorf("%v", counts)
		}
	})
}

// One that comes back while the other one runs still is told to wait.
func TestContract12_ATakenOverCallMayHaveToWait(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		r.still = true
		c := callOf("k")
		c.Claim = time.Minute
		var running *ledger.Running
		out, err := r.l.Once(r.ctx(), c, func(first *ledger.Ledger) error {
			r.now = r.now.Add(time.Hour)
			out, err := r.l.Once(r.ctx(), c, func(second *ledger.Ledger) error {
				_, err := second.EnsureSpace(r.ctx(), "a step") // it goes on
				r.must(err)
				r.is(r.remembers(sp.ID, "too late")(first), dhruva.ErrConflict)
				return r.remembers(sp.ID, "in time")(second)
			})
			r.must(err)
			if out.Replayed {
				r.Errorf("%+v", out)
			}
			return nil
		})
		if r.must(err); !out.Replayed {
			r.Errorf("%+v", out)
		}
		c.Key = "another"
		_, err = r.l.Once(r.ctx(), c, func(*ledger.Ledger) error {
			_, err := r.l.Once(r.ctx(), c, func(*ledger.Ledger) error { return nil })
			return err
		})
		if !errors.As(err, &running) || running.After > time.Minute {
			r.Errorf("%v", err)
		}
	})
}

func TestContract12_CallsAreForgotten(t *testing.T) {
	each(t, func(r *rig) {
		sp := r.space("work")
		r.still = true
		forever := callOf("for ever"[:3])
		forever.Forever = true
		n := 0
		do := func(c ledger.Call, request string) (bool, error) {
			n++
			c.Request = []byte(request)
			out, err := r.l.Once(r.ctx(), c, r.remembers(sp.ID, fmt.Sprintf("thing number %d", n)))
			return out.Replayed, err
		}
		for _, c := range []ledger.Call{callOf("k"), forever} {
			if replayed := must[bool](r)(do(c, "first")); replayed {
				r.Fatal("replayed")
			}
		}
		r.now = r.now.Add(24 * time.Hour)
		if replayed := must[bool](r)(do(callOf("k"), "first")); !replayed {
			r.Error("forgotten within a day")
		}
		r.now = r.now.Add(time.Microsecond)
		if replayed := must[bool](r)(do(callOf("k"), "another")); replayed {
			r.Error("remembered after a day")
		}
		r.l.Limits.CallKept = time.Minute
		r.now = r.now.Add(25 * time.Hour)
		must[bool](r)(do(callOf("k"), "third"))
		r.now = r.now.Add(2 * time.Minute)
		if replayed := must[bool](r)(do(callOf("k"), "third")); replayed {
			r.Error("the limit is not the one that was set")
		}
		r.now = r.now.AddDate(100, 0, 0)
		if replayed := must[bool](r)(do(forever, "first")); !replayed {
			r.Error("forgotten, although it is for ever")
		}
	})
}

func TestContract12_KeysOfCalls(t *testing.T) {
	r := newRig(t, memstore.New())
	for key, ok := range map[string]bool{
		"k": true, strings.Repeat("k", 255): true, `~!"{}`: true,
		"": false, strings.Repeat("k", 256): false, "a b": false, "é": false, "a\n": false, "a\x00": false, "a\x7f": false, "\xff": false,
	} {
		_, err := r.l.Once(r.ctx(), callOf(key), func(*ledger.Ledger) error { return nil })
		if ok != (err == nil) || !ok && !errors.Is(err, dhruva.ErrInvalid) {
			t.Errorf("%q: %v", key, err)
		}
	}
	c := callOf("k")
	c.Route = ""
	_, err := r.l.Once(r.ctx(), c, func(*ledger.Ledger) error { return nil })
	r.is(err, dhruva.ErrInvalid)
	_, err = r.l.Once(context.Background(), callOf("k"), func(*ledger.Ledger) error { return nil })
	r.is(err, dhruva.ErrUnauthenticated)
}

// An operation that goes on after its last Update is wrong, and fails.
func TestAnUpdateAfterTheLastFails(t *testing.T) {
	r := newRig(t, memstore.New())
	sp := r.space("work")
	_, err := r.l.Once(r.ctx(), callOf("k"), func(l *ledger.Ledger) error {
		r.must(r.remembers(sp.ID, "the last thing")(l))
		return r.remembers(sp.ID, "one more thing")(l)
	})
	if err == nil || errors.Is(err, dhruva.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if _, counts := r.everything(); counts["turns"] != 1 {
		t.Errorf("%v", counts)
	}
}
