package storetest

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
)

// valueCases are about what a row may hold, for every kind of row and each of
// its fields.
var valueCases = []testCase{
	{"Rows", testRows},
	{"BareRows", testBareRows},
	{"Copies", testCopies},
	{"ListsAreCopies", testListCopies},
	{"BadText", testBadText},
	{"EmptyKeys", testEmptyKeys},
	{"LongTexts", testLongTexts},
	{"WidestKeys", testWidestKeys},
	{"Numbers", testNumbers},
	{"Times", testTimes},
	{"YearsOutOfRange", testYears},
	{"LargeText", testLargeText},
}

// trial puts a row and reads it back in an update that is not kept.
func (f *fixture) trial(k kind, what string, row any, scopes ...dhruva.Scope) {
	f.Helper()
	want := k.canonical(row)
	err := f.Update(f.ctx, scopes, func(tx dhruva.Tx) error {
		if err := k.put(tx, row); err != nil {
			return err
		}
		got, err := k.get(tx, row)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			f.Fatalf("%s %s: %v (-want +got):\n%.2000s", k.name, what, err, d)
		}
		return errRollback
	})
	if err != errRollback {
		f.Fatalf("%s %s: %v", k.name, what, err)
	}
}

// holds wants a row to be read back in a view.
func (f *fixture) holds(k kind, want any) {
	f.Helper()
	f.read(k.scopes[0], func(tx dhruva.Tx) {
		got, err := k.get(tx, want)
		if d := cmp.Diff(k.canonical(want), got); err != nil || d != "" {
			f.Fatalf("%s: %v (-want +got):\n%s", k.name, err, d)
		}
	})
}

// hasDefault are the kinds of which there is one even when none was put.
var hasDefault = []string{"epoch", "audit head"}

// testRows: absent, put, replaced by a row that has nothing but its key, and
// back; or a conflict.
func testRows(f *fixture) {
	for _, k := range kinds() {
		full, bare := k.full(), k.bare()
		put := func(row any) (err error) {
			f.must(f.Update(f.ctx, k.scopes, func(tx dhruva.Tx) error {
				err = k.put(tx, row)
				return nil
			}))
			return err
		}
		f.read(k.scopes[0], func(tx dhruva.Tx) {
			got, err := k.get(tx, full)
			if !slices.Contains(hasDefault, k.name) {
				if f.is(err, dhruva.ErrNotFound); !reflect.ValueOf(got).IsZero() {
					f.Errorf("%s: %v beside %v", k.name, got, err)
				}
			}
		})
		f.must(put(full))
		f.holds(k, full)
		f.is(put(bare), k.again)
		if k.again != nil {
			f.holds(k, full)
			continue
		}
		f.holds(k, bare)
		f.must(put(full))
		f.holds(k, full)
		if f.Failed() {
			f.Fatal(k.name)
		}
	}
}

// testBareRows: what has no value comes back so.
func testBareRows(f *fixture) {
	for _, k := range kinds() {
		f.trial(k, "bare", k.bare(), k.scopes...)
	}
}

// testCopies: neither what was put in nor what came out shares memory with a row.
func testCopies(f *fixture) {
	for _, k := range kinds() {
		row := k.full()
		f.must(f.Update(f.ctx, k.scopes, func(tx dhruva.Tx) error { return k.put(tx, row) }))
		scribble(row)
		for range 2 {
			f.read(k.scopes[0], func(tx dhruva.Tx) {
				got, err := k.get(tx, k.full())
				if d := cmp.Diff(k.full(), got); err != nil || d != "" {
					f.Fatalf("%s: %v (-want +got):\n%s", k.name, err, d)
				}
				scribble(got)
			})
		}
	}
}

// testListCopies: nor does what any other read gives.
func testListCopies(f *fixture) {
	p := at1a(1)
	f.everywhere(func(tx dhruva.Tx) { f.must(fill(tx, p)) })
	printed := func() string { // a copy for sure
		b, err := json.Marshal(f.all(p))
		f.must(err)
		return string(b)
	}
	before := printed()
	for _, a := range f.all(p) {
		scribble(a.Value)
	}
	same(f, printed(), nil, before)
}

// badTexts are no texts.
var badTexts = []string{"a\x00b", "\xff", "\xed\xa0\x80", "half \xe4\xb8", "\x00", "\xc0\x80"}

// refused wants ErrInvalid for each row, and that the transaction can go on.
func (f *fixture) refused(k kind, what string, rows ...any) {
	f.Helper()
	f.is(f.Update(f.ctx, k.scopes, func(tx dhruva.Tx) error {
		for _, row := range rows {
			if f.is(k.put(tx, row), dhruva.ErrInvalid); f.Failed() {
				f.Fatalf("%s: %s: %+v", k.name, what, row)
			}
		}
		f.must(k.put(tx, k.full()))
		return errRollback
	}), errRollback)
}

// testBadText: every text of every row.
func testBadText(f *fixture) {
	for _, k := range kinds() {
		for _, path := range leaves(k.full(), isText) {
			var rows []any
			for _, text := range badTexts {
				rows = append(rows, with(k.full(), func(v reflect.Value) { v.SetString(text) }, path))
			}
			f.refused(k, path, rows...)
		}
	}
	f.write(tenant, func(tx dhruva.Tx) {
		for _, text := range badTexts {
			for _, c := range []dhruva.Change{{Ref: text}, {Kind: dhruva.ChangeKind(text)}} {
				_, err := tx.AppendChange("a", c)
				f.is(err, dhruva.ErrInvalid)
			}
			_, err := tx.AppendChange(dhruva.SpaceID(text), fullChange())
			f.is(err, dhruva.ErrInvalid)
			f.is(tx.BindHint("a", digest("h"), dhruva.SessionID(text)), dhruva.ErrInvalid)
			_, err = tx.ClaimJobs(dhruva.JobClaim{Owner: "o", Kinds: []string{text}, Limit: 1})
			f.is(err, dhruva.ErrInvalid)
			_, err = tx.ClaimJobs(dhruva.JobClaim{Owner: dhruva.NodeID(text), Limit: 1})
			f.is(err, dhruva.ErrInvalid)
		}
		e, err := tx.Epoch("a")
		same(f, e.Head, err, 0)
	})
}

// keyTexts are the texts that a row must have.
func (k kind) keyTexts() []string {
	return leaves(k.bare(), func(v reflect.Value) bool { return isText(v) && v.String() != "" })
}

func testEmptyKeys(f *fixture) {
	for _, k := range kinds() {
		for _, path := range k.keyTexts() {
			if k.name == "lease" && path == ".Tenant" || k.name == "grant" && path == ".Space" {
				continue // that would be one of the installation, one of the tenant
			}
			f.refused(k, "empty "+path, with(k.full(), func(v reflect.Value) { v.SetString("") }, path))
		}
	}
	f.write(tenant, func(tx dhruva.Tx) {
		turn, leaf, key, job := fullTurn(), fullLeaf(), fullKey(), fullJob()
		turn.Seq, leaf.Seq, key.Hash = 0, 1, nil
		_, change := tx.AppendChange("", fullChange())
		_, claim := tx.ClaimJobs(dhruva.JobClaim{Limit: 1})
		_, none := tx.ClaimJobs(dhruva.JobClaim{Owner: "o"})
		_, less := tx.ClaimJobs(dhruva.JobClaim{Owner: "o", Limit: -1})
		_, calls := tx.ExpireIdempotency(at(0), 0)
		job.Kind = ""
		for n, err := range []error{
			change, claim, none, less, calls, tx.AppendTurn(turn), tx.PutLeaf(leaf), tx.PutKey(key), tx.SwapJob(job, 0),
			tx.PutCheckpoint(dhruva.Checkpoint{Tenant: "t1", Space: "a", ID: "c"}),
			tx.SwapBranch(dhruva.Branch{Space: "a", Name: "b"}, dhruva.Hash{}),
			tx.PutIdempotency(dhruva.Idempotency{Tenant: "t1", Principal: "p", Route: "r", State: "s"}),
			tx.SwapIdempotency(dhruva.Idempotency{Tenant: "t1", Principal: "p", Route: "r", State: "s"}, 0),
			tx.PutUser(dhruva.User{Tenant: "t1", ID: "u", Issuer: "i"}), tx.PutUser(dhruva.User{Tenant: "t1", ID: "u", Subject: "s"}),
			tx.PutVector(dhruva.Vector{Tenant: "t1", Space: "a", Source: "s", Model: "m", Values: []float32{float32(math.NaN())}}),
			tx.PutVector(dhruva.Vector{Tenant: "t1", Space: "a", Source: "s", Model: "m", Values: []float32{0, float32(math.Inf(-1))}}),
			tx.PlaceLeaf("leaf", 0), tx.PlaceLeaf("leaf", -1), tx.BindHint("a", digest("h"), ""), tx.BindHint("", digest("h"), "s"),
			tx.CompactChanges("a", 1),
		} {
			if f.is(err, dhruva.ErrInvalid); f.Failed() {
				f.Fatalf("write %d", n)
			}
		}
	})
}

// testLongTexts: a key has a limit, which is said as ErrInvalid; every other
// text is kept whole. No store has a limit of its own.
func testLongTexts(f *fixture) {
	long := noise(64<<10, 1)
	for _, k := range kinds() {
		var free []string
		for n, path := range leaves(k.full(), isText) {
			row := with(k.full(), func(v reflect.Value) { v.SetString(noise(dhruva.MaxKeyBytes+1, uint64(n))) }, path)
			if k.valid(row) == nil {
				free = append(free, path)
				f.trial(k, path, row, k.scopes...)
				continue
			}
			f.refused(k, "long "+path, row)
		}
		for _, path := range k.keyTexts() {
			if slices.Contains(free, path) {
				f.Errorf("%s: %s is a key, and has no limit", k.name, path)
			}
		}
		if len(free) > 0 {
			f.trial(k, "long texts", with(k.full(), func(v reflect.Value) { v.SetString(long) }, free...), k.scopes...)
		}
	}
}

// testWidestKeys: a row whose every text is as long as a key may be. (An index
// entry of Postgres holds about 2,700 bytes.)
func testWidestKeys(f *fixture) {
	t, s := dhruva.TenantID(noise(dhruva.MaxKeyBytes, 1)), dhruva.SpaceID(noise(dhruva.MaxKeyBytes, 2))
	for _, k := range kinds() {
		scopes := []dhruva.Scope{dhruva.SpaceScope(t, s), dhruva.TenantScope(t)}
		if k.scopes[0] == system {
			scopes = k.scopes
		}
		f.trial(k, "of the widest keys", widest(k.full(), t, s), scopes...)
	}
	f.write(dhruva.SpaceScope(t, s), func(tx dhruva.Tx) {
		_, err := tx.AppendChange(s, dhruva.Change{Ref: noise(64<<10, 3)})
		f.must(err)
		f.must(tx.BindHint(s, digest("h"), dhruva.SessionID(noise(dhruva.MaxKeyBytes, 4))))
	})
	same(f, len(f.feed(dhruva.SpaceScope(t, s), 0)), nil, 1)
	for _, scope := range []dhruva.Scope{dhruva.TenantScope(t + "x"), dhruva.SpaceScope("t1", s+"x"), dhruva.SpaceScope("t1", "\xff"), dhruva.TenantScope("a\x00")} {
		f.is(f.View(f.ctx, scope, func(dhruva.Tx) error { return nil }), dhruva.ErrInvalid)
		f.is(f.Update(f.ctx, []dhruva.Scope{scope}, func(dhruva.Tx) error { return nil }), dhruva.ErrInvalid)
	}
}

func widest(row any, t dhruva.TenantID, s dhruva.SpaceID) any {
	n := uint64(9)
	out := addressable(row)
	walk(out, "", func(path string, v reflect.Value) {
		n++
		switch {
		case path == ".Tenant" && v.String() != "":
			v.SetString(string(t))
		case path == ".Space":
			v.SetString(string(s))
		case isText(v) && v.String() != "":
			v.SetString(noise(dhruva.MaxKeyBytes, n))
		case path == ".Hash": // of a key
			v.SetBytes([]byte(noise(dhruva.MaxKeyBytes, n)))
		}
	})
	return out.Interface()
}

// testNumbers: all 64 bits, where a row takes them.
func testNumbers(f *fixture) {
	for _, k := range kinds() {
		for _, path := range leaves(k.full(), isNumber) {
			if k.name == "epoch" && (path == ".Head" || path == ".Tail") { // the store's own
				continue
			}
			for _, n := range []int64{math.MaxInt64, math.MinInt64, math.MaxInt32 + 1, -1, 0, 1} {
				if row := with(k.full(), func(v reflect.Value) { v.SetInt(n) }, path); k.valid(row) == nil {
					f.trial(k, path, row, k.scopes...)
				}
			}
		}
	}
	v := fullVector()
	v.Values = []float32{math.MaxFloat32, math.SmallestNonzeroFloat32, -math.MaxFloat32, 0, float32(math.Copysign(0, -1)), 1. / 3}
	f.write(tenant, func(tx dhruva.Tx) {
		f.must(tx.PutVector(v))
		rows, err := tx.ListVectors(dhruva.VectorQuery{Space: "a", Generation: 2, Model: v.Model})
		same(f, rows, err, []dhruva.Vector{v})
		if math.Float32bits(rows[0].Values[4]) != 1<<31 {
			f.Error("the sign of zero is lost")
		}
	})
}

// testTimes: microseconds, UTC, before 1970, and none.
func testTimes(f *fixture) {
	zone := time.FixedZone("x", 3*3600)
	for _, c := range []struct{ in, want time.Time }{
		{time.Time{}, time.Time{}},
		{time.Date(1, 1, 1, 0, 0, 0, 1999, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC)},
		{time.Date(2026, 1, 2, 3, 4, 5, 123456789, zone), time.Date(2026, 1, 2, 0, 4, 5, 123456000, time.UTC)},
		{time.Date(1969, 12, 31, 23, 59, 59, 999999999, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC)},
		{time.Unix(0, 0), time.Unix(0, 0).UTC()},
		{time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC)},
	} {
		for _, k := range kinds() {
			paths := leaves(k.full(), isTime)
			row := with(k.full(), func(v reflect.Value) { v.Set(reflect.ValueOf(c.in)) }, paths...)
			f.is(f.Update(f.ctx, k.scopes, func(tx dhruva.Tx) error {
				f.must(k.put(tx, row))
				got, err := k.get(tx, row)
				f.must(err)
				walk(addressable(got), k.name, func(path string, v reflect.Value) {
					if isTime(v) && v.Interface() != any(c.want) { // == also compares the location
						f.Fatalf("%s: %#v, want %#v", path, v, c.want)
					}
				})
				return errRollback
			}), errRollback)
		}
	}
}

// badYears are times that no row can hold; badTimes are those, and none.
func badYears() (out []time.Time) {
	for _, year := range []int{0, -1, 10000, 300000} {
		out = append(out, time.Date(year, 5, 5, 0, 0, 0, 0, time.UTC))
	}
	return out
}

func badTimes() []time.Time { return append(badYears(), time.Time{}, time.Time{}.Add(999)) }

func testYears(f *fixture) {
	for _, k := range kinds() {
		for _, path := range leaves(k.full(), isTime) {
			var rows []any
			for _, when := range badYears() {
				rows = append(rows, with(k.full(), func(v reflect.Value) { v.Set(reflect.ValueOf(when)) }, path))
			}
			f.refused(k, path, rows...)
		}
	}
}

func testLargeText(f *fixture) {
	text := string(slices.Repeat([]byte("many words \u4e2d "), 1<<20/15))
	row, c, job := turn(spaceA, "s", 1), fullCheckpoint(), fullJob()
	row.Content, c.Items[1].Text, job.Payload = text, text, text
	c = sealed(c)
	f.write(spaceA, func(tx dhruva.Tx) {
		f.must(tx.AppendTurn(row))
		f.must(tx.PutCheckpoint(c))
		f.must(tx.PutJob(job))
	})
	f.read(spaceA, func(tx dhruva.Tx) {
		got, err := tx.Turn("s", 1)
		if f.must(err); got != row {
			f.Error("text of a turn differs")
		}
		gotJob, err := tx.Job("job")
		if f.must(err); gotJob != job {
			f.Error("payload of a job differs")
		}
		item, err := tx.Checkpoint(c.Hash)
		f.must(err)
		f.must(dhruva.VerifyCheckpoint(&item))
	})
}
