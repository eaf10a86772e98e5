package storetest

import (
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// callCases are about the memory of calls that may be repeated.
var callCases = []testCase{
	{"PutIdempotency", testPutCall},
	{"SwapIdempotency", testSwapCall},
	{"ExpireIdempotency", testExpireCalls},
	{"PutIdempotencyAtOnce", testPutCallAtOnce},
	{"SwapIdempotencyAtOnce", testSwapCallAtOnce},
}

// testPutCall: from whatever scope of the tenant, each principal, route and key
// is a call of its own.
func testPutCall(f *fixture) {
	row := fullIdempotency()
	f.write(spaceA, func(tx dhruva.Tx) {
		f.must(tx.PutIdempotency(row))
		again := row
		again.State, again.Fence = dhruva.CallDone, 9
		f.is(tx.PutIdempotency(again), dhruva.ErrConflict)
		for n, change := range []func(*dhruva.Idempotency){
			func(i *dhruva.Idempotency) { i.Principal = "Principal" }, func(i *dhruva.Idempotency) { i.Route = "route " },
			func(i *dhruva.Idempotency) { i.Key = digest("another") },
		} {
			other := row
			change(&other)
			other.Fence = int64(n)
			f.must(tx.PutIdempotency(other))
			got, err := tx.Idempotency(other.Principal, other.Route, other.Key)
			same(f, got, err, other)
		}
	})
	for _, scope := range []dhruva.Scope{spaceA, spaceB, tenant} {
		f.write(scope, func(tx dhruva.Tx) {
			got, err := tx.Idempotency(row.Principal, row.Route, row.Key)
			same(f, got, err, row)
			f.is(tx.PutIdempotency(row), dhruva.ErrConflict)
		})
	}
	f.write(other, func(tx dhruva.Tx) {
		theirs := row
		theirs.Tenant = "t2"
		f.must(tx.PutIdempotency(theirs))
		f.is(tx.PutIdempotency(row), dhruva.ErrDenied)
	})
}

func testSwapCall(f *fixture) {
	row := fullIdempotency()
	get := func(tx dhruva.Tx) (dhruva.Idempotency, error) {
		return tx.Idempotency(row.Principal, row.Route, row.Key)
	}
	f.write(tenant, func(tx dhruva.Tx) {
		f.is(tx.SwapIdempotency(row, row.Fence), dhruva.ErrConflict) // absent
		f.must(tx.PutIdempotency(row))
		next := row
		next.Request, next.Fence, next.Until, next.Results, next.CreatedAt, next.ExpiresAt = digest("r"), 3, at(9), nil, at(8), time.Time{}
		f.is(tx.SwapIdempotency(next, 1), dhruva.ErrConflict)
		f.is(tx.SwapIdempotency(next, 3), dhruva.ErrConflict)
		got, err := get(tx)
		same(f, got, err, row)
		f.must(tx.SwapIdempotency(next, 2))
		got, err = get(tx)
		same(f, got, err, next)
		f.is(tx.SwapIdempotency(next, 2), dhruva.ErrConflict)
	})
	f.write(spaceB, func(tx dhruva.Tx) { // marked done by the update that did it
		done := row
		done.State, done.Fence = dhruva.CallDone, 3
		f.must(tx.SwapIdempotency(done, 3))
		f.is(tx.SwapIdempotency(done, 3), dhruva.ErrConflict) // done is for good
		f.is(tx.SwapIdempotency(row, 3), dhruva.ErrConflict)
		got, err := get(tx)
		same(f, got, err, done)
	})
}

func testExpireCalls(f *fixture) {
	call := func(key string, expires time.Time) dhruva.Idempotency {
		return dhruva.Idempotency{Tenant: "t1", Principal: dhruva.PrincipalID(key[:1]), Route: "r", Key: digest(key), State: dhruva.CallDone, ExpiresAt: expires}
	}
	f.write(tenant, func(tx dhruva.Tx) {
		for key, expires := range map[string]time.Time{"never": {}, "d": at(4), "c": at(3), "b": at(3), "a": at(2), "e": at(5), "f": at(5).Add(1000)} {
			f.must(tx.PutIdempotency(call(key, expires)))
		}
	})
	f.write(other, func(tx dhruva.Tx) {
		theirs := call("theirs", at(1))
		theirs.Tenant = "t2"
		f.must(tx.PutIdempotency(theirs))
	})
	expire := func(before time.Time, limit int, left ...string) {
		f.Helper()
		f.write(spaceA, func(tx dhruva.Tx) {
			_, err := tx.ExpireIdempotency(before, limit)
			f.must(err)
		})
		f.read(tenant, func(tx dhruva.Tx) {
			var got []string
			for _, key := range []string{"a", "b", "c", "d", "e", "f", "never"} {
				if _, err := tx.Idempotency(dhruva.PrincipalID(key[:1]), "r", digest(key)); err == nil {
					got = append(got, key)
				} else {
					f.is(err, dhruva.ErrNotFound)
				}
			}
			same(f, got, nil, left)
		})
	}
	expire(at(2), 9, "a", "b", "c", "d", "e", "f", "never") // before, not at
	expire(at(4), 2, "c", "d", "e", "f", "never")           // the longest expired, then by principal
	expire(at(5).Add(999), 9, "e", "f", "never")            // less than a microsecond after
	f.write(tenant, func(tx dhruva.Tx) {
		n, err := tx.ExpireIdempotency(at(9), 9)
		same(f, n, err, 2)
		n, err = tx.ExpireIdempotency(at(9), 9)
		same(f, n, err, 0)
	})
	f.read(other, func(tx dhruva.Tx) {
		_, err := tx.Idempotency("t", "r", digest("theirs"))
		f.must(err)
	})
}

func testPutCallAtOnce(f *fixture) {
	for round := range 10 {
		next := func(w int) dhruva.Idempotency {
			row := fullIdempotency()
			row.Key, row.Results = digest(fmt.Sprint(round)), []string{fmt.Sprint(w)}
			return row
		}
		w := f.swapsAtOnce(func(tx dhruva.Tx, w int) error { return tx.PutIdempotency(next(w)) })
		f.read(spaceB, func(tx dhruva.Tx) {
			got, err := tx.Idempotency(next(w).Principal, next(w).Route, next(w).Key)
			same(f, got, err, next(w))
		})
	}
}

func testSwapCallAtOnce(f *fixture) {
	row := fullIdempotency()
	f.write(tenant, func(tx dhruva.Tx) { f.must(tx.PutIdempotency(row)) })
	for round := range int64(10) {
		next := func(w int) dhruva.Idempotency {
			row := fullIdempotency()
			row.Fence, row.Results = round+3, []string{fmt.Sprint(w)}
			return row
		}
		w := f.swapsAtOnce(func(tx dhruva.Tx, w int) error { return tx.SwapIdempotency(next(w), round+2) })
		f.read(spaceB, func(tx dhruva.Tx) {
			got, err := tx.Idempotency(row.Principal, row.Route, row.Key)
			same(f, got, err, next(w))
		})
	}
}
