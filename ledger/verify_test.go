package ledger_test

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/testkit"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/memstore"
)

// tampered is a store somebody has written in behind everybody's back: one of its
// checkpoints reads otherwise.
type tampered struct {
	dhruva.Store
	edit func(*dhruva.Checkpoint)
}

func (s tampered) View(ctx context.Context, scope dhruva.Scope, fn func(dhruva.Tx) error) error {
	return s.Store.View(ctx, scope, func(tx dhruva.Tx) error { return fn(tamperedTx{tx, s.edit}) })
}

type tamperedTx struct {
	dhruva.Tx
	edit func(*dhruva.Checkpoint)
}

func (t tamperedTx) Checkpoint(h dhruva.Hash) (dhruva.Checkpoint, error) {
	c, err := t.Tx.Checkpoint(h)
	if err == nil {
		t.edit(&c)
	}
	return c, err
}

func (t tamperedTx) ListCheckpoints(q dhruva.CheckpointQuery) ([]dhruva.Checkpoint, error) {
	rows, err := t.Tx.ListCheckpoints(q)
	for n := range rows {
		t.edit(&rows[n])
	}
	return rows, err
}

// flips are all changes of one byte of what the hash covers: each is a value that
// can be reached from a checkpoint, and a byte of it.
func flips(v reflect.Value, path string, outside map[string]bool) (out []flip) {
	if outside[path] {
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		for n := range v.Len() {
			out = append(out, flip{path, n})
		}
		out = append(out, flip{path, v.Len()}) // and one more
	case reflect.Int64, reflect.Int:
		for n := range 8 {
			out = append(out, flip{path, n})
		}
	case reflect.Uint8:
		out = append(out, flip{path, 0})
	case reflect.Slice, reflect.Array:
		for n := range v.Len() {
			out = append(out, flips(v.Index(n), fmt.Sprintf("%s/%d", path, n), outside)...)
		}
		if v.Kind() == reflect.Slice && v.Len() > 0 {
			out = append(out, flip{path, 0}, flip{path, 1}) // the last one taken away, the first one twice
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			for n := range 8 {
				out = append(out, flip{path, n})
			}
			return out
		}
		for n := range v.NumField() {
			name := v.Type().Field(n).Name
			out = append(out, flips(v.Field(n), strings.TrimPrefix(path+"/"+name, "/"), outside)...)
		}
	}
	return out
}

type flip struct {
	path string
	at   int
}

// in makes the change.
func (f flip) in(c *dhruva.Checkpoint) {
	v := reflect.ValueOf(c).Elem()
	for part := range strings.SplitSeq(f.path, "/") {
		var n int
		if _, err := fmt.Sscan(part, &n); err == nil {
			v = v.Index(n)
		} else {
			v = v.FieldByName(part)
		}
	}
	switch v.Kind() {
	case reflect.String:
		b := []byte(v.String() + "\x00")[:max(v.Len(), f.at+1)]
		b[f.at] ^= 1
		v.SetString(string(b))
	case reflect.Int64, reflect.Int:
		v.SetInt(v.Int() ^ 1<<(8*f.at))
	case reflect.Uint8:
		v.SetUint(v.Uint() ^ 1)
	case reflect.Slice:
		if f.at == 0 {
			v.Set(v.Slice3(0, v.Len()-1, v.Len()-1))
		} else {
			v.Set(reflect.Append(v.Slice3(0, v.Len(), v.Len()), v.Index(0)))
		}
	default: // a time, in microseconds
		at := v.Interface().(time.Time)
		v.Set(reflect.ValueOf(time.UnixMicro(at.UnixMicro() ^ 1<<(7*f.at)).UTC()))
	}
}

// outsideHash are the fields that contracts and docs/format.md leave out of the
// hash. (An item that is marked as purged has no content that could be changed.)
func outsideHash(c dhruva.Checkpoint) map[string]bool {
	out := map[string]bool{"Tenant": true, "ID": true, "Branch": true, "Generation": true, "HiddenAt": true, "Hash": true}
	for n := range c.Items {
		out[fmt.Sprintf("Items/%d/Redacted", n)] = true
	}
	return out
}

// S25 of contracts (25): every change of a byte that the hash covers is detected, in
// every kind of value; what is said about a checkpoint is outside.
func TestContract25_VerifySeesEveryByte(t *testing.T) {
	r := newRig(t, memstore.New())
	f := r.forked()
	r.talk(f.main.ID, "cited", 1)
	in := full(f.main.ID)
	in.Tasks[0].Cites = []dhruva.Cite{{From: 3, Through: 3}}
	in.Decisions[0].Cites = []dhruva.Cite{{From: 3, Through: 4}, {From: 4, Through: 4}}
	in.Parents = []string{f.tip.Hash.String(), f.side.Hash.String()}
	c := r.commit(in)
	all := flips(reflect.ValueOf(c), "", outsideHash(c))
	kinds := map[string]int{}
	for _, change := range all {
		l := *r.l
		l.Store = tampered{r.store, func(row *dhruva.Checkpoint) {
			if row.Hash == c.Hash {
				change.in(row)
			}
		}}
		if rep := must[ledger.VerifyReport](r)(l.Verify(r.ctx(), f.space)); len(rep.Failures) == 0 {
			t.Errorf("a change of %s at %d is not seen", change.path, change.at)
		}
		kinds[fieldOf(change.path)]++
	}
	for _, want := range []string{"Space", "Parents", "CreatedAt", "Author", "Window/Session", "Window/Base", "Window/Through", "Items",
		"Items/ID", "Items/Kind", "Items/Text", "Items/Attrs", "Items/Attrs/Name", "Items/Attrs/Value", "Items/Cites", "Items/Cites/From", "Items/Cites/Through", "Items/Salt", "Items/Digest"} {
		if kinds[want] == 0 {
			t.Errorf("nothing of %s was changed: %v", want, kinds)
		}
	}
	testkit.Figure(t, "%d changes of one byte, all seen", len(all))
	r.must(second(r.l.AddRemark(r.ctx(), ledger.RemarkInput{Checkpoint: c.Hash.String(), Text: "outside the hash"})))
	r.check()
}

// fieldOf is a path without its numbers.
func fieldOf(path string) string {
	parts := slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return strings.Trim(s, "0123456789") == "" })
	return strings.Join(parts, "/")
}

// A purged item keeps its digest, and nothing can be put in its place.
func TestContract25_StubsHoldNothing(t *testing.T) {
	r := newRig(t, memstore.New())
	f := r.forked()
	d := f.tip.Of(dhruva.KindDecision)[0]
	r.update(f.space, func(tx dhruva.Tx) error { return tx.RedactItem(f.tip.Hash, d.ID) })
	for name, forge := range map[string]func(*dhruva.Item){
		"text": func(i *dhruva.Item) { i.Text = "forged" }, "cites": func(i *dhruva.Item) { i.Cites = []dhruva.Cite{{From: 1, Through: 1}} },
		"attributes": func(i *dhruva.Item) { i.Attrs = []dhruva.Attr{{Name: "a", Value: "b"}} }, "salt": func(i *dhruva.Item) { i.Salt[0] = 1 },
		"digest": func(i *dhruva.Item) { i.Digest[0] ^= 1 },
	} {
		l := *r.l
		l.Store = tampered{r.store, func(c *dhruva.Checkpoint) {
			for n := range c.Items {
				if c.Items[n].ID == d.ID && c.Hash == f.tip.Hash {
					forge(&c.Items[n])
				}
			}
		}}
		if rep := must[ledger.VerifyReport](r)(l.Verify(r.ctx(), f.space)); len(rep.Failures) == 0 {
			t.Errorf("forged %s is not seen", name)
		}
	}
	r.check()
}

// deep writes a lineage of n checkpoints behind the ledger's back, with a side
// branch that is merged every hundred.
func (r *rig) deep(space dhruva.SpaceID, n int) (all []dhruva.Checkpoint) {
	r.Helper()
	at := r.now
	make1 := func(i int, parents ...dhruva.Hash) dhruva.Checkpoint {
		at = at.Add(time.Second)
		c := dhruva.Checkpoint{Tenant: r.owner.Tenant, Space: space, ID: dhruva.CheckpointID(dhruva.NewID()), Parents: parents, CreatedAt: at, Author: "Ana", Branch: "main", Generation: 1}
		c.Items = []dhruva.Item{
			{ID: "title", Kind: dhruva.KindTitle, Text: fmt.Sprint("step ", i)},
			{ID: "kept", Kind: dhruva.KindDecision, Text: "decided at the beginning"},
			{ID: dhruva.ItemID(fmt.Sprint("new-", i/1000)), Kind: dhruva.KindDecision, Text: fmt.Sprint("decided in thousand ", i/1000)},
		}
		for k := range c.Items {
			c.Items[k].Digest = dhruva.DigestItem(c.Items[k])
		}
		c.Hash = dhruva.HashCheckpoint(&c)
		return c
	}
	var head dhruva.Hash
	for len(all) < n {
		var some []dhruva.Checkpoint
		for range min(200, n-len(all)) {
			var parents []dhruva.Hash
			if i := len(all) + len(some); i > 0 {
				if parents = []dhruva.Hash{head}; i%100 == 99 {
					rows := append(slices.Clone(all), some...)
					parents = append(parents, rows[i-50].Hash)
				}
			}
			c := make1(len(all)+len(some), parents...)
			some, head = append(some, c), c.Hash
		}
		r.update(space, func(tx dhruva.Tx) error {
			for _, c := range some {
				if err := tx.PutCheckpoint(c); err != nil {
					return err
				}
			}
			return nil
		})
		all = append(all, some...)
	}
	r.update(space, func(tx dhruva.Tx) error {
		return tx.SwapBranch(dhruva.Branch{Space: space, Name: "main", Head: head, Disposition: "active", UpdatedAt: at}, dhruva.Hash{})
	})
	r.mu.Lock()
	r.now = at
	r.mu.Unlock()
	return all
}

// A lineage of 10,000 is verified, walked, compared and blamed without recursion.
func TestDeepLineage(t *testing.T) {
	n := testkit.Count(500, 2000, 10_000)
	r := newRig(t, memstore.New())
	space := r.space("deep").ID
	all := r.deep(space, n)
	first, last := all[0], all[n-1]
	if rep := must[ledger.VerifyReport](r)(r.l.Verify(r.ctx(), space)); rep.Checked != n || len(rep.Failures) > 0 {
		t.Fatalf("%d checked: %v", rep.Checked, rep.Failures)
	}
	if c := must[ledger.Comparison](r)(r.l.Compare(r.ctx(), last.Hash.String(), first.Hash.String())); c.CommonAncestor.Hash != first.Hash {
		t.Errorf("%+v", c.CommonAncestor)
	}
	for _, o := range must[[]ledger.Origin](r)(r.l.Blame(r.ctx(), last.Hash.String(), "")) {
		want := first.Hash
		if strings.HasPrefix(string(o.Item.ID), "new-") {
			want = all[(n-1)/1000*1000].Hash
		}
		if o.First.Hash != want {
			t.Errorf("%s first appeared in %s", o.Item.ID, o.First.Title)
		}
	}
	if one := must[[]ledger.Origin](r)(r.l.Blame(r.ctx(), last.Hash.String(), "kept")); len(one) != 1 || one[0].Since.Hash != first.Hash {
		t.Errorf("%+v", one)
	}
	s := r.session(space)
	page, next, err := r.l.Reachable(r.ctx(), s.ID, dhruva.Page{Limit: 1000})
	if r.must(err); len(page) != min(n, 1000) || n > 1000 && next == "" {
		t.Errorf("%d reachable", len(page))
	}
	nodes := 0
	for q := (ledger.LineageQuery{Page: dhruva.Page{Limit: 1000}}); ; q.After = next {
		l := must[ledger.Lineage](r)(r.l.Lineage(r.ctx(), space, q))
		if nodes, next = nodes+len(l.Nodes), l.Next; next == "" {
			break
		}
	}
	if nodes != n {
		t.Errorf("%d nodes", nodes)
	}
}

// Verify holds one checkpoint at a time: what it keeps alive does not grow with what
// the checkpoints say.
func TestVerifyMemoryIsBounded(t *testing.T) {
	r := newRig(t, memstore.New())
	space := r.space("wide").ID
	big := strings.Repeat("a long text ", 20_000) // 240 kB
	for n := range 24 {
		r.commit(ledger.CommitInput{Space: space, Title: fmt.Sprint(n), Summary: big})
	}
	most, held := uint64(0), uint64(0)
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	held = m.HeapAlloc
	l := *r.l
	l.Store = tampered{r.store, func(c *dhruva.Checkpoint) {
		for n := range c.Items { // as a store of rows gives them
			c.Items[n].Text = strings.Clone(c.Items[n].Text)
		}
		runtime.GC()
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapAlloc)
	}}
	if rep := must[ledger.VerifyReport](r)(l.Verify(r.ctx(), space)); rep.Checked != 24 || len(rep.Failures) > 0 {
		t.Fatalf("%+v", rep)
	}
	if most > held+8*uint64(len(big)) {
		t.Errorf("%d bytes more were held", most-held)
	}
}

// shownTx shows something else than a store's rows hash to, as one whose columns
// somebody has changed.
type shownTx struct {
	dhruva.Tx
	title string
	skips bool // walks skip a generation
}

func (t shownTx) ListOutlines(q dhruva.OutlineQuery) ([]dhruva.Outline, error) {
	rows, err := t.Tx.ListOutlines(q)
	for i := range rows {
		if t.title != "" {
			rows[i].Title = t.title
		}
	}
	return rows, err
}

func (t shownTx) Ancestry(h dhruva.Hash, n int) ([]dhruva.Outline, error) {
	rows, err := t.Tx.Ancestry(h, n+1)
	if t.skips && len(rows) > 2 {
		rows = append(rows[:1], rows[2:]...)
	}
	return rows[:min(n, len(rows))], err
}

type shownStore struct {
	dhruva.Store
	as shownTx
}

func (s shownStore) View(ctx context.Context, scope dhruva.Scope, fn func(dhruva.Tx) error) error {
	return s.Store.View(ctx, scope, func(tx dhruva.Tx) error {
		as := s.as
		as.Tx = tx
		return fn(as)
	})
}

// Contracts 25: what is kept a second time, to be shown, is covered too.
func TestVerifySeesWhatIsShown(t *testing.T) {
	r := newRig(t, memstore.New())
	space := r.space("work").ID
	s := r.session(space)
	for _, title := range []string{"one", "two", "three"} {
		r.commit(ledger.CommitInput{Session: s.ID, Title: title})
	}
	for name, as := range map[string]shownTx{"": {}, "another title": {title: "FORGED"}, "walks go on": {skips: true}} {
		l := ledger.New(shownStore{r.store, as}, r.keys)
		rep, err := l.Verify(r.ctx(), space)
		r.must(err)
		if said := strings.Join(rep.Failures, "; "); (name == "") != (said == "") || !strings.Contains(said, name) {
			t.Errorf("%q: %s", name, said)
		}
	}
}
