package dhruva

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The examples of RFC 8785: sorting by UTF-16 code units, and strings.
func TestCanonicalJSONIsRFC8785(t *testing.T) {
	sorted := map[string]string{"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
		"\U0001f600": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"}
	for _, c := range []struct {
		in   any
		want string
	}{
		{sorted, `{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`},
		{"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"/", `"€$\u000f\nA'B\"\\\\\"/"`},
		{"<&>\u2028\u2029\b\t\f\r\x1f\x7f", "\"<&>\u2028\u2029\\b\\t\\f\\r\\u001f\x7f\""},
		{map[string]any{"b": []any{}, "a": map[string]any{}, "c": []any{true, false, nil, -7, "x,]}"}}, `{"a":{},"b":[],"c":[true,false,null,-7,"x,]}"]}`},
		{[]int64{0, maxExact, -maxExact}, `[0,9007199254740991,-9007199254740991]`},
		{json.RawMessage(` { "z" : [ 1 , { "y" : 2 , "x" : 1 } ] , "a" : "\u003c" } `), `{"a":"<","z":[1,{"x":1,"y":2}]}`},
		{42, `42`},
	} {
		got, err := CanonicalJSON(c.in)
		if err != nil || string(got) != c.want {
			t.Errorf("%v:\n got %s %v\nwant %s", c.in, got, err, c.want)
		}
	}
	for _, bad := range []any{1.5, 1e300, int64(maxExact + 1), int64(math.MinInt64), uint64(math.MaxUint64), func() {}} {
		if got, err := CanonicalJSON(map[string]any{"a": bad}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%T: %s %v", bad, got, err)
		}
	}
}

// FuzzCanonicalJSON: whatever JSON holds no fraction has a form that says the
// same, and whose form is itself.
func FuzzCanonicalJSON(f *testing.F) {
	for _, s := range []string{`{"b":[1,{"c":"\u00e9\n"}],"a":null}`, `"\ud83d\ude00"`, `[[],{},"",0]`, `{"":{"":""}}`, `-0`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var v any
		if json.Unmarshal(in, &v) != nil {
			return
		}
		once, err := CanonicalJSON(v)
		if err != nil {
			return
		}
		var back any
		if err := json.Unmarshal(once, &back); err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		if d := cmp.Diff(v, back); d != "" {
			t.Fatalf("%s: %s", once, d)
		}
		if twice, err := CanonicalJSON(back); err != nil || string(twice) != string(once) {
			t.Fatalf("%s, then %s %v", once, twice, err)
		}
	})
}

func sampleReceipt() Receipt {
	return Receipt{
		Tenant: "local", Space: "0190b8a0-0000-7000-8000-000000000001", ID: "0190b8a0-0000-7000-8000-000000000002", Principal: "local",
		Kind: "recall", State: "final", Path: "api", Memory: MemoryRecalled,
		Recall:     RecallAccount{Status: RecallRecalled, Reason: GatePassed, Evidence: 1, LatencyUs: 1200, Sources: []SourceID{"abc"}},
		Context:    &ContextUsed{Mode: ModeHead, Checkpoints: []Hash{}, Turns: []int64{3, 4}},
		Checkpoint: Hash{1, 2}, CreatedAt: time.UnixMicro(1700000000000001), FinishedAt: time.UnixMicro(1700000000500000),
	}
}

// The test vector of docs/format.md, which was computed apart from this code.
func TestReceiptDigestVector(t *testing.T) {
	const want = "7474d45ee2507bf8f45b7756151b1e9bc86d8b3b248c7000f9797343673a9115"
	got, err := DigestReceipt(sampleReceipt())
	if err != nil || got.String() != want {
		t.Errorf("%s %v, want %s", got, err, want)
	}
}

// A digest is that of the stored row: what a store changes in a row changes
// nothing, whatever else does.
func TestReceiptDigestIsOfTheStoredRow(t *testing.T) {
	r := sampleReceipt()
	want, err := DigestReceipt(r)
	if err != nil {
		t.Fatal(err)
	}
	r.CreatedAt = r.CreatedAt.In(time.FixedZone("x", 3600)).Add(300 * time.Nanosecond)
	r.Context.Checkpoints, r.Edits = nil, []Splice{}
	if got, err := DigestReceipt(r); err != nil || got != want {
		t.Errorf("%s %v, want %s", got, err, want)
	}
	r.Recall.Evidence++
	if got, _ := DigestReceipt(r); got == want {
		t.Error("another receipt has the same digest")
	}
}

func TestLeafOf(t *testing.T) {
	r := sampleReceipt()
	for _, c := range []struct{ kind, state, want string }{
		{"recall", "final", LeafReceipt}, {"proxy", "interrupted", LeafInterrupted}, {ActKeyCreate, "final", ActKeyCreate}, {ActRelease, "final", ActRelease},
	} {
		r.Kind, r.State = c.kind, c.state
		l, err := LeafOf(r)
		if err != nil || l.Kind != c.want || string(l.ID) != string(r.ID) || l.Validate() != nil || !l.At.Equal(r.FinishedAt) || l.Space != r.Space || l.Digest.IsZero() {
			t.Errorf("%s %s: %+v %v", c.kind, c.state, l, err)
		}
	}
	r.State = "open"
	if _, err := LeafOf(r); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "open") {
		t.Errorf("an open receipt has a leaf: %v", err)
	}
	r.State, r.Bytes.Out = "final", math.MaxInt64
	if _, err := LeafOf(r); !errors.Is(err, ErrInvalid) {
		t.Errorf("%v", err)
	}
}
