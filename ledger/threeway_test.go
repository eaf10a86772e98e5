package ledger_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/ledger"
)

// mergeDraw draws the items of three checkpoints: what one had, and what two sides
// made of it by leaving, editing, removing and adding.
type mergeDraw struct {
	*rapid.T
	n int
}

// words are few, so that sides say the same, and the opposite.
var words = []string{"use", "redis", "kafka", "C", "C++", "not", "नमस्ते", "दुनिया", "数据库", "for", "queues", "never"}

func (d *mergeDraw) text() string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 4).Draw(d.T, "text"), " ")
}

func (d *mergeDraw) attrs(kind dhruva.ItemKind) []dhruva.Attr {
	if kind != dhruva.KindTask || rapid.Bool().Draw(d.T, "plain") {
		return nil
	}
	return []dhruva.Attr{{Name: dhruva.AttrStatus, Value: rapid.SampledFrom([]string{"open", "done"}).Draw(d.T, "status")}}
}

func (d *mergeDraw) item(kind dhruva.ItemKind) dhruva.Item {
	d.n++
	// ids are no order of age: the smaller one may be of either side
	id := fmt.Sprintf("%02d-%d", rapid.IntRange(0, 99).Draw(d.T, "id"), d.n)
	return dhruva.Item{ID: dhruva.ItemID(id), Kind: kind, Text: d.text(), Attrs: d.attrs(kind)}
}

func (d *mergeDraw) items(most int) (out []dhruva.Item) {
	for _, kind := range dhruva.ItemKinds() {
		n := rapid.IntRange(0, most).Draw(d.T, "of "+string(kind))
		if kind == dhruva.KindTitle || kind == dhruva.KindObjective || kind == dhruva.KindSummary {
			n = min(n, 1)
		} else if kind != dhruva.KindDecision && kind != dhruva.KindTask {
			n = min(n, 1)
		}
		for range n {
			out = append(out, d.item(kind))
		}
	}
	return out
}

// side is what a side made of the base.
func (d *mergeDraw) side(base []dhruva.Item) (out []dhruva.Item) {
	taken := map[dhruva.ItemKind]bool{}
	for _, i := range base {
		switch rapid.IntRange(0, 4).Draw(d.T, "fate") {
		case 0:
			i.Text = d.text()
		case 1:
			i.Attrs = d.attrs(i.Kind)
		case 2:
			continue
		}
		taken[i.Kind] = true
		out = append(out, i)
	}
	for _, i := range d.items(2) {
		if single(i.Kind) && taken[i.Kind] {
			continue
		}
		out = append(out, i)
	}
	slices.SortStableFunc(out, func(a, b dhruva.Item) int { return kindOf(a) - kindOf(b) })
	return out
}

func single(k dhruva.ItemKind) bool {
	return k == dhruva.KindTitle || k == dhruva.KindObjective || k == dhruva.KindSummary
}

func kindOf(i dhruva.Item) int { return slices.Index(dhruva.ItemKinds(), i.Kind) }

func freshIDs() func() dhruva.ItemID {
	n := 0
	return func() dhruva.ItemID { n++; return dhruva.ItemID(fmt.Sprint("fresh-", n)) }
}

func find(items []dhruva.Item, id dhruva.ItemID) *dhruva.Item {
	for _, i := range items {
		if i.ID == id {
			return &i
		}
	}
	return nil
}

func says(items []dhruva.Item, want dhruva.Item) bool {
	return slices.ContainsFunc(items, func(i dhruva.Item) bool {
		return i.Kind == want.Kind && dhruva.Normalize(i.Text) == dhruva.Normalize(want.Text)
	})
}

// differ is a diff of two lists of items, which is only made when there is one:
// the merge laws look at many.
func differ(a, b []dhruva.Item) string {
	same := slices.EqualFunc(a, b, func(x, y dhruva.Item) bool { return x.ID == y.ID && x.Kind == y.Kind && equal(&x, &y) })
	if same {
		return ""
	}
	return cmp.Diff(a, b)
}

// byID is a list whatever its order was.
func byID(items []dhruva.Item) []dhruva.Item {
	out := slices.Clone(items)
	slices.SortFunc(out, func(a, b dhruva.Item) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return out
}

// TestMergeLaws: the laws of the three-way merge, over drawn histories.
func TestMergeLaws(t *testing.T) {
	const least = 10_000
	checks(t, testkit.Count(2000, least, 50_000))
	cases, conflicts, types := 0, 0, map[ledger.ConflictType]int{}
	rapid.Check(t, func(rt *rapid.T) {
		d := &mergeDraw{T: rt}
		base := d.items(3)
		ours, theirs := d.side(base), d.side(base)
		cases++
		merged, all, open, err := ledger.MergeItems(base, ours, theirs, ledger.Picks{}, freshIDs())
		if err != nil || len(all) != len(open) {
			rt.Fatalf("%v: %d conflicts, %d open", err, len(all), len(open))
		}
		conflicts += len(all)
		for _, c := range all {
			types[c.Type]++
		}
		sidesAgree(rt, base, ours, theirs, merged, all)
		nothingLost(rt, base, ours, theirs, merged, all)
		conflictsAreReal(rt, base, ours, theirs, all)
		everyPickResolves(rt, d, base, ours, theirs, all)
		again, none, _, err := ledger.MergeItems(base, ours, ours, ledger.Picks{}, freshIDs())
		if diff := differ(untitled(ours), again); err != nil || len(none) > 0 || diff != "" {
			rt.Fatalf("with itself: %v %v (-ours +merged)\n%s", err, none, diff)
		}
	})
	if !testkit.Raced && cases < least || types[ledger.ConflictBothEdited] == 0 || types[ledger.ConflictEditedRemoved] == 0 || types[ledger.ConflictContradicting] == 0 {
		t.Errorf("%d cases with %v", cases, types)
	}
	testkit.Figure(t, "%d merges with %d conflicts: %v", cases, conflicts, types)
}

func untitled(items []dhruva.Item) (out []dhruva.Item) {
	for _, i := range items {
		if i.Kind != dhruva.KindTitle {
			out = append(out, i)
		}
	}
	return out
}

// sidesAgree: merging the other way round holds the same items and conflicts.
func sidesAgree(t *rapid.T, base, ours, theirs, merged []dhruva.Item, all []ledger.Conflict) {
	back, conflicts, _, err := ledger.MergeItems(base, theirs, ours, ledger.Picks{}, freshIDs())
	if diff := differ(byID(merged), byID(back)); err != nil || diff != "" {
		t.Fatalf("the other way round: %v\n%s", err, diff)
	}
	same := slices.EqualFunc(all, conflicts, func(a, b ledger.Conflict) bool {
		return a.ID == b.ID && a.Type == b.Type && equal(a.Base, b.Base) && differ(a.Ours, b.Theirs)+differ(a.Theirs, b.Ours) == ""
	})
	if !same {
		t.Fatalf("conflicts the other way round:\n%s", cmp.Diff(all, conflicts))
	}
}

func inConflict(all []ledger.Conflict, i dhruva.Item) bool {
	return slices.ContainsFunc(all, func(c ledger.Conflict) bool {
		return slices.ContainsFunc(slices.Concat(c.Ours, c.Theirs), func(o dhruva.Item) bool { return o.ID == i.ID && o.Kind == i.Kind })
	})
}

func equal(a, b *dhruva.Item) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Text == b.Text && slices.Equal(a.Attrs, b.Attrs)
}

// nothingLost: what one side did and the other left alone is done, and nothing is
// there that neither has.
func nothingLost(t *rapid.T, base, ours, theirs, merged []dhruva.Item, all []ledger.Conflict) {
	for n, side := range [][]dhruva.Item{ours, theirs} {
		other := [][]dhruva.Item{theirs, ours}[n]
		for _, i := range side {
			if single(i.Kind) || inConflict(all, i) {
				continue
			}
			was, there := find(base, i.ID), find(other, i.ID)
			switch {
			case was == nil && there == nil: // new here
				if !says(merged, i) {
					t.Fatalf("new %q is lost", i.Text)
				}
			case was != nil && equal(was, there): // the other side left it alone
				if got := find(merged, i.ID); !equal(got, &i) {
					t.Fatalf("%q became %v", i.Text, got)
				}
			case was != nil && there == nil && equal(was, &i): // removed there, left alone here
				if find(merged, i.ID) != nil {
					t.Fatalf("%q was removed and is there", i.Text)
				}
			}
		}
	}
	ids := map[dhruva.ItemID]bool{}
	for _, i := range merged {
		if ids[i.ID] || i.Kind == dhruva.KindTitle || find(ours, i.ID) == nil && find(theirs, i.ID) == nil {
			t.Fatalf("%s %s %q: twice, a title, or of neither side", i.Kind, i.ID, i.Text)
		}
		ids[i.ID] = true
	}
	if !slices.IsSortedFunc(merged, func(a, b dhruva.Item) int { return kindOf(a) - kindOf(b) }) {
		t.Fatalf("kinds out of order: %v", merged)
	}
}

// conflictsAreReal: a reported conflict is always there.
func conflictsAreReal(t *rapid.T, base, ours, theirs []dhruva.Item, all []ledger.Conflict) {
	seen := map[dhruva.ItemID]bool{}
	for _, c := range all {
		if seen[c.ID] {
			t.Fatalf("two conflicts of %s", c.ID)
		}
		seen[c.ID] = true
		for _, i := range c.Ours {
			if !equal(find(ours, i.ID), &i) || equal(find(base, i.ID), &i) {
				t.Fatalf("%s: ours did not do %q", c.Type, i.Text)
			}
		}
		for _, i := range c.Theirs {
			if !equal(find(theirs, i.ID), &i) || equal(find(base, i.ID), &i) {
				t.Fatalf("%s: theirs did not do %q", c.Type, i.Text)
			}
		}
		switch c.Type {
		case ledger.ConflictEditedRemoved:
			if len(c.Ours)+len(c.Theirs) != 1 || c.Base == nil {
				t.Fatalf("%+v", c)
			}
		case ledger.ConflictContradicting:
			contradicts := slices.ContainsFunc(c.Ours, func(o dhruva.Item) bool {
				return slices.ContainsFunc(c.Theirs, func(i dhruva.Item) bool { return ledger.Contradict(o.Text, i.Text) })
			})
			if !contradicts || c.Kind != dhruva.KindDecision {
				t.Fatalf("%+v", c)
			}
		default:
			if len(c.Ours) != 1 || len(c.Theirs) != 1 || equal(&c.Ours[0], &c.Theirs[0]) {
				t.Fatalf("%+v", c)
			}
		}
	}
}

// everyPickResolves: a random answer to each conflict leaves none open, and what was
// agreed stays.
func everyPickResolves(t *rapid.T, d *mergeDraw, base, ours, theirs []dhruva.Item, all []ledger.Conflict) {
	p := ledger.Picks{Picks: map[dhruva.ItemID]string{}, Edits: map[dhruva.ItemID]string{}}
	want := map[dhruva.ItemID]string{}
	for _, c := range all {
		switch how := rapid.SampledFrom([]string{"ours", "theirs", "both", "neither", "edit"}).Draw(t, "pick"); how {
		case "edit":
			p.Edits[c.ID] = "as a person says"
			want[c.ID] = how
		default:
			p.Picks[c.ID], want[c.ID] = how, how
		}
	}
	merged, _, open, err := ledger.MergeItems(base, ours, theirs, p, freshIDs())
	if err != nil || len(open) > 0 {
		t.Fatalf("%v: %d open", err, len(open))
	}
	for _, c := range all {
		for n, side := range [][]dhruva.Item{c.Ours, c.Theirs} {
			for _, i := range side {
				taken := want[c.ID] == "both" || want[c.ID] == []string{"ours", "theirs"}[n]
				found := slices.ContainsFunc(merged, func(m dhruva.Item) bool {
					return m.Kind == i.Kind && (equal(&m, &i) || single(i.Kind) && strings.Contains(m.Text, i.Text))
				})
				if taken && !found {
					t.Fatalf("%s of %s: %q is not there", want[c.ID], c.Type, i.Text)
				}
			}
		}
		got := find(merged, c.ID)
		if want[c.ID] == "edit" && (got == nil || got.Text != "as a person says") || want[c.ID] == "neither" && got != nil {
			t.Fatalf("%s of %s: %v", want[c.ID], c.Type, got)
		}
	}
	if len(all) > 0 {
		p.Picks = map[dhruva.ItemID]string{ledger.PickAll: ledger.PickOurs}
		if _, _, open, err := ledger.MergeItems(base, ours, theirs, p, freshIDs()); err != nil || len(open) > 0 {
			t.Fatalf("one pick for all: %v, %d open", err, len(open))
		}
	}
	for id := range want {
		if _, _, _, err := ledger.MergeItems(base, ours, ours, ledger.Picks{Picks: map[dhruva.ItemID]string{id: "ours"}}, freshIDs()); err == nil {
			t.Fatalf("a pick for %s, which is no conflict, was taken", id)
		}
	}
}

func TestContradict(t *testing.T) {
	for _, probe := range []struct {
		a, b string
		want bool
	}{
		{"Use Redis", "Do not use Redis", true},
		{"Use Redis.", "don’t use redis", true},
		{"We should ship it", "We shouldn't ship it", true},
		{"We can ship it", "We cannot ship it", true},
		{"Use Redis for the queue", "Use Kafka for the queue", true},
		{"Use C", "Use C++", true},
		{"Use C++", "use  c++!", false},
		{"Redis", "Kafka", false}, // one word alone may be anything
		{"Redis", "not Redis", true},
		{"Use Redis for the queue", "Use Kafka for the log", false},
		{"Use Redis", "Use Redis", false},
		{"Use Redis", "Keep backups for thirty days", false},
		{"हम रेडिस का उपयोग करेंगे", "हम रेडिस का उपयोग नहीं करेंगे", true},
		{"हम हिंदी में लिखेंगे", "हम अंग्रेज़ी में लिखेंगे", true},
		{"हम हिंदी में लिखेंगे", "हम हिंदी में लिखेंगे", false},
		{"使用数据库", "不使用数据库", true},
		{"我们用甲方案", "我们用乙方案", true},
		{"我们用甲方案", "他们明天回来了", false},
		{"Не используем Redis", "Используем Redis", true},
		{"Wir nehmen Redis nicht", "Wir nehmen Redis", true},
		{"not never use it", "use it", false}, // twice is not at all
		{"", "not", false},
	} {
		for _, got := range []bool{ledger.Contradict(probe.a, probe.b), ledger.Contradict(probe.b, probe.a)} {
			if got != probe.want {
				t.Errorf("%q and %q: %v", probe.a, probe.b, got)
			}
		}
	}
}

// D19 and state-plane 7.19: items are compared in all scripts.
func TestD19_CompareIsUnicodeAware(t *testing.T) {
	decision := func(id, text string) dhruva.Item {
		return dhruva.Item{ID: dhruva.ItemID(id), Kind: dhruva.KindDecision, Text: text}
	}
	for _, probe := range []struct {
		a, b   string
		shared bool
	}{
		{"हिंदी में लिखें", "हिंदी  में लिखें", true}, {"使用数据库", "使用数据库", true}, {"使用数据库", "使用缓存", false},
		{"C", "C++", false}, {"C#", "C", false}, {"caf\u00e9", "cafe\u0301", true}, {"हिंदी", "使用", false}, {"!!!", "???", false},
		{"Use Pydantic", "use pydantic.", true}, {"ΧΡΗΣΗ", "χρηση", true}, {"用数据库。", "用数据库", true}, {"Use Go", "Use Gopher", false},
	} {
		c := ledger.CompareItems([]dhruva.Item{decision("a", probe.a)}, []dhruva.Item{decision("b", probe.b)})[kindOf(decision("", ""))]
		if got := len(c.Shared) == 1; got != probe.shared || !got && (len(c.OnlyA) != 1 || len(c.OnlyB) != 1) || len(c.Changed) != 0 {
			t.Errorf("%q and %q: %+v", probe.a, probe.b, c)
		}
	}
}

// Compare is a partition of both sides, whichever is which.
func TestCompareLaws(t *testing.T) {
	checks(t, testkit.Count(300, 2000, 20_000))
	rapid.Check(t, func(rt *rapid.T) {
		d := &mergeDraw{T: rt}
		a := d.items(3)
		b := d.side(a)
		left, right := 0, 0
		for n, k := range ledger.CompareItems(a, b) {
			left, right = left+len(k.OnlyA)+len(k.Shared)+len(k.Changed), right+len(k.OnlyB)+len(k.Shared)+len(k.Changed)
			back := ledger.CompareItems(b, a)[n]
			if len(back.OnlyA) != len(k.OnlyB) || len(back.OnlyB) != len(k.OnlyA) || len(back.Shared) != len(k.Shared) {
				rt.Fatalf("the other way round: %+v\n%+v", k, back)
			}
			for _, p := range k.Changed {
				if p.A.ID != p.B.ID && !single(k.Kind) {
					rt.Fatalf("changed, of two ids: %+v", p)
				}
			}
		}
		if left != len(a) || right != len(b) {
			rt.Fatalf("%d of %d, %d of %d", left, len(a), right, len(b))
		}
		for _, k := range ledger.CompareItems(a, a) {
			if len(k.OnlyA)+len(k.OnlyB)+len(k.Changed) > 0 {
				rt.Fatalf("with itself: %+v", k)
			}
		}
	})
}
