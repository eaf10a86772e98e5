package recall

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func fill(docs ...Doc) *Index {
	x := New()
	for _, d := range docs {
		x.Add(d)
	}
	return x
}

func refs(hits []Hit) []string {
	out := []string{}
	for _, h := range hits {
		out = append(out, h.Ref)
	}
	return out
}

func ask(x *Index, text string) []string { return refs(x.Search(Query{Text: text})) }

var dog = []Doc{
	{Ref: "u1", Group: "a", Pos: 1, Role: User, Text: "My dog is called Biscuit and she is allergic to chicken."},
	{Ref: "a1", Group: "a", Pos: 2, Role: Responder, Text: "Noted."},
}

func TestFewTurns(t *testing.T) {
	one, two := fill(dog[0]), fill(dog...)
	more := fill(append([]Doc{
		{Ref: "u2", Group: "b", Pos: 1, Role: User, Text: "Book a table for four on Friday."},
		{Ref: "a2", Group: "b", Pos: 2, Role: Responder, Text: "I called the restaurant; your table is booked."},
		{Ref: "u3", Group: "c", Pos: 1, Role: User, Text: "I moved to Lisbon."},
	}, dog...)...)
	for _, c := range []struct {
		x     *Index
		query string
		want  []string
	}{
		{New(), "What is my dog called?", []string{}},
		{one, "What is my dog called?", []string{"u1"}},
		{two, "What is my dog called?", []string{"u1"}},
		{two, "Can my dog eat chicken?", []string{"u1"}},
		{two, "zebra quantum", []string{}},
		{two, "", []string{}},
		{two, "what is the and of", []string{}},
		{two, "\xff\x00?!", []string{}},
		{two, "tell me about Biscut", []string{"u1"}}, // a slip
		{more, "What is my dog called?", []string{"u1", "a2"}},
		{more, "Where did I move?", []string{"u3"}},
		{more, "zebra quantum", []string{}},
	} {
		if diff := cmp.Diff(c.want, ask(c.x, c.query)); diff != "" {
			t.Errorf("%d turns, %q (-want +got):\n%s", c.x.Len(), c.query, diff)
		}
	}
}

func TestReplaceAndRemove(t *testing.T) {
	x := fill(dog...)
	x.Add(Doc{Ref: "u1", Group: "a", Pos: 1, Role: User, Text: "My cat is called Muffin."})
	if x.Len() != 2 {
		t.Errorf("Len %d after replacing a turn, want 2", x.Len())
	}
	if got := ask(x, "biscuit chicken"); len(got) != 0 {
		t.Errorf("the replaced text still found: %v", got)
	}
	if !x.Remove("u1") || x.Remove("u1") {
		t.Error("Remove must say whether the turn was there")
	}
	x.Remove("a1")
	if x.Len() != 0 || len(ask(x, "muffin noted")) != 0 {
		t.Error("something is left")
	}
	checkEmpty(t, x)
}

// checkEmpty proves invariant 3: an index that lost its last turn holds nothing.
func checkEmpty(t interface{ Errorf(string, ...any) }, x *Index) {
	d := &x.dict
	for name, n := range map[string]int{
		"forms": len(d.formIDs), "stems": len(d.stems.ids), "4-grams": len(d.grams.ids),
		"groups": len(x.groupIDs), "speakers": len(x.speakers), "refs": len(x.refs),
	} {
		if n != 0 {
			t.Errorf("%d %s are left", n, name)
		}
	}
	for _, f := range d.forms {
		if len(f.posts) != 0 {
			t.Errorf("postings are left")
		}
	}
	if x.all.sum != (sums{}) || x.all.by != [2]spanSums{} || x.all.groups != 0 {
		t.Errorf("sums are left: %+v %+v", x.all.sum, x.all.by)
	}
}

func TestProfileFollowsRoles(t *testing.T) {
	people := []Doc{{Ref: "p", Group: "g", Speaker: "Ann", Text: "hello there"}}
	if got := fill(people...).Evaluate(Query{Text: "hello"}).Profile; got != Peer {
		t.Errorf("people: %v", got)
	}
	if got := fill(dog...).Evaluate(Query{Text: "dog"}).Profile; got != Assistant {
		t.Errorf("chat: %v", got)
	}
}

func TestNeighboursStopAtTheExchange(t *testing.T) {
	x := fill(
		Doc{Ref: "1", Group: "g", Pos: 1, Role: User, Text: "one"}, Doc{Ref: "2", Group: "g", Pos: 2, Role: Responder, Text: "two"},
		Doc{Ref: "3", Group: "g", Pos: 3, Role: Responder, Text: "three"}, Doc{Ref: "4", Group: "g", Pos: 4, Role: User, Text: "four"},
		Doc{Ref: "5", Group: "h", Pos: 5, Role: Responder, Text: "five"},
	)
	beside := func(p Profile, ref string) string {
		a := x.all.around[p.column()][x.refs[ref]]
		var out []string
		for _, n := range []int32{a.p2, a.p1, a.n1, a.n2} {
			if n < 0 {
				out = append(out, "-")
			} else {
				out = append(out, x.turns[n].ref)
			}
		}
		return strings.Join(out, "")
	}
	for _, c := range []struct {
		p         Profile
		ref, want string
	}{
		{Peer, "1", "--23"}, {Peer, "3", "124-"}, {Peer, "4", "23--"}, {Peer, "5", "----"},
		{Assistant, "1", "--23"}, {Assistant, "2", "-13-"}, {Assistant, "3", "12--"}, {Assistant, "4", "----"},
	} {
		if got := beside(c.p, c.ref); got != c.want {
			t.Errorf("%v, beside %s: %s, want %s", c.p, c.ref, got, c.want)
		}
	}
}

func TestAllowFillsTheAnswer(t *testing.T) {
	x := New()
	for i := range 600 {
		x.Add(Doc{Ref: fmt.Sprint("no", i), Group: fmt.Sprint("n", i), Role: User, Text: "harbour cranes lift the crates"})
	}
	for i := range 12 {
		x.Add(Doc{
			Ref: fmt.Sprint("yes", i), Group: fmt.Sprint("y", i), Role: User,
			Text: "a much longer turn that names the harbour once among very many other unrelated words about gardens",
		})
	}
	hits := x.Search(Query{Text: "harbour cranes crates", Allow: func(r string) bool { return strings.HasPrefix(r, "yes") }})
	if len(hits) != 10 {
		t.Errorf("%d hits, want 10: the filter must act before the top k", len(hits))
	}
	for _, h := range hits {
		if !strings.HasPrefix(h.Ref, "yes") {
			t.Errorf("hit %s is not allowed", h.Ref)
		}
	}
}

func TestPruningKeepsTheBest(t *testing.T) {
	x := New()
	for i := range 5 * candidates {
		d := Doc{Ref: fmt.Sprint("t", i), Group: fmt.Sprint("g", i), Role: User, Text: "the harbour at dawn"}
		d.Time = day(2030, 1, 1).AddDate(0, 0, -i) // the last one added is the earliest
		if i == 3*candidates {
			d.Text = "the harbour crane at dawn"
		}
		x.Add(d)
	}
	want := []string{fmt.Sprint("t", 3*candidates)}
	for i := range defaultK - 1 {
		want = append(want, fmt.Sprint("t", 5*candidates-1-i))
	}
	if diff := cmp.Diff(want, ask(x, "harbour crane")); diff != "" {
		t.Errorf("the best, then the earliest of equals (-want +got):\n%s", diff)
	}
}

// A pasted text is searched by its rarest words, wherever they stand.
func TestLongQueries(t *testing.T) {
	var common strings.Builder
	for i := range 100 {
		common.WriteString(syntheticWord(uint64(i)) + " ")
	}
	x := fill(dog...)
	for i := range 5 {
		x.Add(Doc{Ref: fmt.Sprint("c", i), Group: fmt.Sprint("c", i), Role: User, Text: common.String()})
	}
	for _, query := range []string{common.String() + "Biscuit allergic chicken", "Biscuit allergic chicken " + strings.Repeat(common.String(), 100)} {
		if hits := ask(x, query); !slices.Contains(hits, "u1") {
			t.Errorf("%d bytes: hits %v lack u1", len(query), hits)
		}
	}
}

// Words with shared stems, look-alikes, names, dates and questions.
var vocabulary = strings.Fields(`dog dogs biscuit biscuits chicken harbour harbor walk walked walking Caroline Melanie Mel
 yesterday May 2023 7 where? when? the my Lisbon in park two photograph photo station relation relations ?`)

func drawDoc(t *rapid.T, chat bool) Doc {
	d := Doc{
		Ref:   fmt.Sprint("r", rapid.IntRange(0, 14).Draw(t, "ref")),
		Group: fmt.Sprint("g", rapid.IntRange(0, 2).Draw(t, "group")),
		Pos:   int64(rapid.IntRange(0, 9).Draw(t, "pos")),
		Text:  drawText(t, 12),
	}
	if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
		d.Text = strings.Repeat(drawText(t, 12)+". ", 20)
	}
	if chat {
		d.Role = rapid.SampledFrom([]Role{User, Responder, Responder, Other}).Draw(t, "role")
	} else {
		d.Speaker = rapid.SampledFrom([]string{"Caroline", "Melanie", ""}).Draw(t, "speaker")
	}
	if rapid.Bool().Draw(t, "dated") {
		d.Time = time.Date(2023, 5, rapid.IntRange(5, 9).Draw(t, "day"), 0, 0, 0, 0, time.UTC)
	}
	return d
}

func drawText(t *rapid.T, n int) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, n).Draw(t, "text"), " ")
}

// sameAnswers compares two indexes through everything a caller can see.
func sameAnswers(t *rapid.T, want, got *Index, q Query, restricted Query) {
	t.Helper()
	if diff := cmp.Diff(want.Evaluate(q), got.Evaluate(restricted)); diff != "" {
		t.Fatalf("%q (-want +got):\n%s", q.Text, diff)
	}
}

func TestAnswersDependOnlyOnTheDocuments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chat := rapid.Bool().Draw(t, "chat")
		x, docs := New(), map[string]Doc{}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			d := drawDoc(t, chat)
			if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
				_, had := docs[d.Ref]
				if x.Remove(d.Ref) != had {
					t.Fatalf("Remove(%s) does not know what it holds", d.Ref)
				}
				delete(docs, d.Ref)
				continue
			}
			x.Add(d)
			docs[d.Ref] = d
		}
		fresh := New()
		for _, ref := range rapid.Permutation(keys(docs)).Draw(t, "order") {
			fresh.Add(docs[ref])
		}
		if x.Len() != len(docs) {
			t.Fatalf("Len %d, want %d", x.Len(), len(docs))
		}
		for range 4 {
			q := Query{Text: drawText(t, 6), K: rapid.IntRange(1, 20).Draw(t, "k")}
			sameAnswers(t, fresh, x, q, q)
		}
		for ref := range docs {
			x.Remove(ref)
		}
		checkEmpty(t, x)
	})
}

// What a query may not see changes nothing: not a hit, not a score.
func TestInvisibleTurnsDoNotInterfere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chat := rapid.Bool().Draw(t, "chat")
		x, visible := New(), map[string]Doc{}
		for i := range rapid.IntRange(0, 30).Draw(t, "turns") {
			d := drawDoc(t, chat)
			d.Ref = fmt.Sprint("r", i)
			if rapid.Bool().Draw(t, "hidden") {
				d.Ref = fmt.Sprint("hidden", i)
			} else {
				visible[d.Ref] = d
			}
			x.Add(d)
		}
		only := New()
		for _, ref := range keys(visible) {
			only.Add(visible[ref])
		}
		q := Query{Text: drawText(t, 6), K: 20}
		r := q
		r.Visible = func(ref string) bool { _, ok := visible[ref]; return ok }
		sameAnswers(t, only, x, q, r)
	})
}

func keys(docs map[string]Doc) []string {
	out := make([]string, 0, len(docs))
	for ref := range docs {
		out = append(out, ref)
	}
	slices.Sort(out)
	return out
}

func TestSearchWhileWriting(t *testing.T) {
	x := New()
	docs := synthetic(300, false)
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, d := range docs {
			x.Add(d)
		}
		for _, d := range docs[:100] {
			x.Remove(d.Ref)
		}
	})
	for range 3 {
		wg.Go(func() {
			for i := range 60 {
				x.Search(Query{Text: "When did Caroline " + syntheticWord(uint64(i)) + "?"})
			}
		})
	}
	wg.Wait()
	if x.Len() != 200 {
		t.Errorf("Len %d, want 200", x.Len())
	}
	text := docs[150].Text
	if diff := cmp.Diff(fill(docs[100:]...).Search(Query{Text: text}), x.Search(Query{Text: text})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
