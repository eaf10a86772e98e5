package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// outlineCases are about checkpoints without their texts.
var outlineCases = []testCase{
	{"ListOutlines", testListOutlines},
	{"OutlineTitles", testOutlineTitles},
	{"Ancestry", testAncestry},
	{"AncestryEnds", testAncestryEnds},
	{"LongAncestry", testLongAncestry},
	{"HideCheckpoint", testHideCheckpoint},
	{"CheckpointsOfAnItem", testCheckpointsOfItem},
	{"ItemsOfManyCheckpoints", testItemsOfMany},
}

func testListOutlines(f *fixture) {
	var all []dhruva.Checkpoint
	f.write(spaceA, func(tx dhruva.Tx) {
		all = manyCheckpoints(f, tx, 20)
		for n := range all[:7] {
			f.must(tx.HideCheckpoint(all[n].Hash, at(n)))
			all[n].HiddenAt = at(n)
		}
		full := fullCheckpoint()
		f.must(tx.PutCheckpoint(full))
		all = append(all, full)
	})
	slices.SortFunc(all, func(a, b dhruva.Checkpoint) int {
		if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
			return c
		}
		return b.Hash.Compare(a.Hash)
	})
	list := func(scope dhruva.Scope, q dhruva.OutlineQuery, want []dhruva.Checkpoint) {
		f.Helper()
		var outlines []dhruva.Outline
		for _, c := range want {
			outlines = append(outlines, c.Outline())
		}
		f.read(scope, func(tx dhruva.Tx) {
			rows, err := tx.ListOutlines(q)
			same(f, rows, err, outlines)
		})
	}
	list(spaceA, dhruva.OutlineQuery{Space: "a"}, all)
	list(tenant, dhruva.OutlineQuery{Space: "a"}, all)
	list(spaceA, dhruva.OutlineQuery{Space: "b"}, nil)
	list(tenant, dhruva.OutlineQuery{}, nil)
	list(spaceA, dhruva.OutlineQuery{Space: "a", Branch: "Main"}, slices.DeleteFunc(slices.Clone(all), func(c dhruva.Checkpoint) bool { return c.Branch != "Main" }))
	for n := range all {
		page := dhruva.Page{After: all[n].Hash.String(), Limit: 3}
		list(spaceA, dhruva.OutlineQuery{Space: "a", Page: page}, all[n+1:min(n+4, len(all))])
	}
	list(spaceA, dhruva.OutlineQuery{Space: "a", Page: dhruva.Page{After: digest("never").String()}}, nil)
	f.read(spaceA, func(tx dhruva.Tx) {
		_, err := tx.ListOutlines(dhruva.OutlineQuery{Space: "a", Page: dhruva.Page{After: "no hash"}})
		f.is(err, dhruva.ErrInvalid)
	})
}

// testOutlineTitles: the first title item, wherever it stands, and none.
func testOutlineTitles(f *fixture) {
	items := map[string][]dhruva.Item{
		"":      {{ID: "i", Kind: dhruva.KindSummary, Text: "summary"}, {ID: "j", Kind: "Title", Text: "no title"}},
		"first": {{ID: "i", Kind: dhruva.KindTask, Text: "task"}, {ID: "j", Kind: dhruva.KindTitle, Text: "first"}, {ID: "k", Kind: dhruva.KindTitle, Text: "second"}},
		"t":     {{ID: "i", Kind: dhruva.KindTitle, Text: "t"}},
	}
	hashes := map[string]dhruva.Hash{}
	f.write(spaceA, func(tx dhruva.Tx) {
		for title, of := range items {
			c := sealed(dhruva.Checkpoint{Tenant: "t1", Space: "a", ID: dhruva.CheckpointID("c" + title), Items: of})
			f.must(tx.PutCheckpoint(c))
			hashes[title] = c.Hash
		}
	})
	look := func(of string, title string) {
		f.Helper()
		f.read(spaceA, func(tx dhruva.Tx) {
			walk, err := tx.Ancestry(hashes[of], 1)
			f.must(err)
			same(f, walk[0].Title, err, title)
			rows, err := tx.ListOutlines(dhruva.OutlineQuery{Space: "a"})
			row, err := found(rows, err, func(o dhruva.Outline) bool { return o.Hash == hashes[of] })
			same(f, row.Title, err, title)
		})
	}
	for title := range items {
		look(title, title)
	}
	f.write(spaceA, func(tx dhruva.Tx) { f.must(tx.RedactItem(hashes["first"], "j")) })
	look("first", "") // it is still the first
}

// lineage puts n checkpoints, each the child of the one before it.
func lineage(f *fixture, tx dhruva.Tx, s dhruva.Scope, n int, root dhruva.Hash) (out []dhruva.Checkpoint) {
	parents := []dhruva.Hash{root}
	if root.IsZero() {
		parents = nil
	}
	for i := range n {
		c := sealed(dhruva.Checkpoint{Tenant: s.Tenant(), Space: s.Space(), ID: dhruva.CheckpointID(fmt.Sprint(s.Space(), len(parents), i, root.Short())),
			Parents: parents, CreatedAt: at(-i), Branch: "main"})
		f.must(tx.PutCheckpoint(c))
		out, parents = append(out, c), []dhruva.Hash{c.Hash, digest("merged")}[:1+i%2]
	}
	return out
}

// walked wants a walk to go back from the last of some checkpoints.
func (f *fixture) walked(scope dhruva.Scope, limit int, rows ...dhruva.Checkpoint) {
	f.Helper()
	var want []dhruva.Outline
	for n, c := range slices.Backward(rows) {
		if len(rows)-n <= limit {
			want = append(want, c.Outline())
		}
	}
	f.read(scope, func(tx dhruva.Tx) {
		got, err := tx.Ancestry(rows[len(rows)-1].Hash, limit)
		same(f, got, err, want)
	})
}

// testAncestry: first parents, whatever their times, the hidden ones too.
func testAncestry(f *fixture) {
	var all, side []dhruva.Checkpoint
	f.write(spaceA, func(tx dhruva.Tx) {
		all = lineage(f, tx, spaceA, 30, dhruva.Hash{})
		f.must(tx.HideCheckpoint(all[7].Hash, at(1)))
		all[7].HiddenAt = at(1)
		side = lineage(f, tx, spaceA, 3, all[10].Hash)
	})
	for _, scope := range []dhruva.Scope{spaceA, tenant} {
		for _, limit := range []int{1, 2, 29, 30, 31, 1 << 40} {
			f.walked(scope, limit, all...)
		}
		f.walked(scope, 9, all[:8]...)
		f.walked(scope, 99, append(slices.Clone(all[:11]), side...)...)
	}
	f.read(spaceA, func(tx dhruva.Tx) {
		for _, limit := range []int{0, -1} {
			got, err := tx.Ancestry(all[3].Hash, limit)
			empty(f, got, err)
		}
		for _, h := range []dhruva.Hash{{}, digest("never")} {
			got, err := tx.Ancestry(h, 5)
			empty(f, got, err)
		}
	})
	for _, scope := range []dhruva.Scope{spaceB, other} {
		f.read(scope, func(tx dhruva.Tx) {
			got, err := tx.Ancestry(all[3].Hash, 5)
			empty(f, got, err)
		})
	}
}

// testAncestryEnds: at a parent that is absent or elsewhere, and never in a circle.
func testAncestryEnds(f *fixture) {
	var mine, theirs, lost []dhruva.Checkpoint
	round := fullCheckpoint()
	round.ID, round.Hash, round.Parents = "round", digest("round"), []dhruva.Hash{digest("round")}
	f.write(tenant, func(tx dhruva.Tx) {
		theirs = lineage(f, tx, spaceB, 2, dhruva.Hash{})
		mine = lineage(f, tx, spaceA, 3, theirs[1].Hash)
		lost = lineage(f, tx, spaceA, 2, digest("absent"))
		f.must(tx.PutCheckpoint(round))
	})
	f.walked(tenant, 9, mine...)
	f.walked(spaceA, 9, mine...)
	f.walked(spaceA, 9, lost...)
	f.walked(tenant, 9, theirs...)
	f.walked(spaceA, 4, round, round, round, round)
}

// testLongAncestry: long walks, whatever the order of times, and whatever else was
// made between.
func testLongAncestry(f *fixture) {
	const long = 140
	times := map[string]func(n int) int{
		"older parents":   func(n int) int { return n },
		"younger parents": func(n int) int { return -n },
		"one moment":      func(int) int { return 0 },
		"any":             func(n int) int { return n * 7919 % 311 },
		"mostly older":    func(n int) int { return n - n%5*20 },
	}
	for name, seconds := range times {
		for _, others := range []int{0, 2} {
			var line []dhruva.Checkpoint
			for from := 0; from < long; from += 70 {
				f.write(spaceA, func(tx dhruva.Tx) {
					for n := from; n < from+70; n++ {
						c := dhruva.Checkpoint{Tenant: "t1", Space: "a", ID: dhruva.CheckpointID(fmt.Sprint(name, others, n)), CreatedAt: at(seconds(n)), Author: name}
						if n > 0 {
							c.Parents = []dhruva.Hash{line[n-1].Hash}
						}
						for i := range others { // siblings
							side := c
							side.ID, side.Branch = c.ID+dhruva.CheckpointID(fmt.Sprint("side", i)), "side"
							side.Author = string(side.ID)
							f.must(tx.PutCheckpoint(sealed(side)))
						}
						c.Branch = fmt.Sprint("main", others)
						c.Author += c.Branch
						c = sealed(c)
						f.must(tx.PutCheckpoint(c))
						line = append(line, c)
					}
				})
			}
			for _, limit := range []int{63, 64, 65, 100, long - 1, long, long + 1} {
				if f.walked(spaceA, limit, line...); f.Failed() {
					f.Fatal(name, others, limit)
				}
			}
			f.walked(tenant, 1<<40, line[:long/2]...)
		}
	}
}

// testHideCheckpoint: once, and for lists only.
func testHideCheckpoint(f *fixture) {
	var all []dhruva.Checkpoint
	f.write(spaceA, func(tx dhruva.Tx) {
		all = manyCheckpoints(f, tx, 3)
		f.is(tx.HideCheckpoint(digest("never"), at(1)), dhruva.ErrNotFound)
		for _, when := range badTimes() {
			f.is(tx.HideCheckpoint(all[1].Hash, when), dhruva.ErrInvalid)
			f.is(tx.HideCheckpoint(digest("never"), when), dhruva.ErrInvalid)
		}
	})
	hide := func(tx dhruva.Tx) error { return tx.HideCheckpoint(all[1].Hash, at(5).Add(1999)) }
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceB}, hide), dhruva.ErrDenied)
	f.is(f.Update(f.ctx, []dhruva.Scope{spaceA}, func(tx dhruva.Tx) error {
		f.must(hide(tx))
		return errRollback
	}), errRollback)
	look := func() {
		f.Helper()
		f.read(tenant, func(tx dhruva.Tx) {
			got, err := tx.Checkpoint(all[1].Hash)
			same(f, got, err, all[1])
			got, err = tx.CheckpointByID(all[1].ID)
			same(f, got, err, all[1])
			rows, err := tx.CheckpointsByPrefix(all[1].Hash.String()[:9], 2)
			same(f, rows, err, []dhruva.Checkpoint{all[1]})
		})
	}
	look()
	f.write(spaceA, func(tx dhruva.Tx) {
		f.must(hide(tx))
		f.must(tx.HideCheckpoint(all[1].Hash, at(9))) // hidden it is
		f.must(tx.HideCheckpoint(all[1].Hash, at(1)))
	})
	all[1].HiddenAt = at(5).Add(1000)
	look()
	f.read(spaceA, func(tx dhruva.Tx) {
		for _, q := range []dhruva.CheckpointQuery{{Space: "a"}, {}, {Space: "a", Page: dhruva.Page{After: all[1].Hash.String()}}} {
			rows, err := tx.ListCheckpoints(q)
			f.must(err)
			for _, c := range rows {
				if c.Hash == all[1].Hash || q.After != "" && c.CreatedAt.Equal(all[1].CreatedAt) && c.Hash.Compare(all[1].Hash) > 0 {
					f.Errorf("listed: %s", c.Hash.Short())
				}
			}
			if q.After == "" {
				same(f, len(rows), err, 2)
			}
		}
		rows, err := tx.ListCheckpoints(dhruva.CheckpointQuery{Space: "a", Item: "1"})
		empty(f, rows, err)
	})
}

// testCheckpointsOfItem: an item is in all that carried it on, and counts once in
// each.
func testCheckpointsOfItem(f *fixture) {
	var all []dhruva.Checkpoint
	add := func(tx dhruva.Tx, s dhruva.Scope, id string, seconds int, items ...string) {
		c := dhruva.Checkpoint{Tenant: s.Tenant(), Space: s.Space(), ID: dhruva.CheckpointID(id), CreatedAt: at(seconds), Branch: id[:1]}
		for _, i := range items {
			c.Items = append(c.Items, dhruva.Item{ID: dhruva.ItemID(i), Kind: dhruva.KindTask, Text: i})
		}
		c = sealed(c)
		f.must(tx.PutCheckpoint(c))
		all = append(all, c)
	}
	f.write(tenant, func(tx dhruva.Tx) {
		add(tx, spaceA, "m1", 1, "i")
		add(tx, spaceA, "m2", 2, "j", "i", "i")
		add(tx, spaceA, "s3", 3, "I")
		add(tx, spaceB, "m4", 4, "i")
		add(tx, spaceA, "s5", 5, "j", "i")
	})
	list := func(scope dhruva.Scope, q dhruva.CheckpointQuery, want ...int) {
		f.Helper()
		var rows []dhruva.Checkpoint
		for _, n := range want {
			rows = append(rows, all[n-1])
		}
		f.read(scope, func(tx dhruva.Tx) {
			got, err := tx.ListCheckpoints(q)
			same(f, got, err, rows)
		})
	}
	list(spaceA, dhruva.CheckpointQuery{Space: "a", Item: "i"}, 5, 2, 1)
	list(spaceA, dhruva.CheckpointQuery{Item: "i"}, 5, 2, 1)
	list(tenant, dhruva.CheckpointQuery{Item: "i"}, 5, 4, 2, 1)
	list(tenant, dhruva.CheckpointQuery{Space: "b", Item: "i"}, 4)
	list(spaceA, dhruva.CheckpointQuery{Space: "b", Item: "i"})
	list(spaceA, dhruva.CheckpointQuery{Space: "a", Item: "j"}, 5, 2)
	list(spaceA, dhruva.CheckpointQuery{Space: "a", Item: "k"})
	list(spaceA, dhruva.CheckpointQuery{Space: "a", Item: "i", Branch: "m"}, 2, 1)
	list(spaceA, dhruva.CheckpointQuery{Space: "a", Item: "i", Page: dhruva.Page{Limit: 1}}, 5)
	list(spaceA, dhruva.CheckpointQuery{Space: "a", Item: "i", Page: dhruva.Page{Limit: 1, After: all[4].Hash.String()}}, 2)
	list(spaceA, dhruva.CheckpointQuery{Space: "a", Item: "i", Page: dhruva.Page{After: all[2].Hash.String()}}, 2, 1)
	f.must(f.Update(f.ctx, []dhruva.Scope{spaceA, spaceB}, func(tx dhruva.Tx) error {
		got, err := tx.ListCheckpoints(dhruva.CheckpointQuery{Item: "i", Page: dhruva.Page{Limit: 3}})
		same(f, got, err, []dhruva.Checkpoint{all[4], all[3], all[1]})
		return nil
	}))
}

// testItemsOfMany: each checkpoint of a list has its own items, in their order,
// however many they are, and those of several spaces too.
func testItemsOfMany(f *fixture) {
	want := map[dhruva.Hash]dhruva.Checkpoint{}
	for n := range 120 {
		s := []dhruva.Scope{spaceA, spaceB}[n%2]
		c := dhruva.Checkpoint{Tenant: "t1", Space: s.Space(), ID: dhruva.CheckpointID(fmt.Sprint(n)), CreatedAt: at(n / 3)}
		for i := range n % 13 {
			c.Items = append(c.Items, dhruva.Item{ID: dhruva.ItemID(fmt.Sprint(13 - i)), Kind: dhruva.KindTask, Text: strings.Repeat("x", n+i),
				Attrs: []dhruva.Attr{{Name: "n", Value: fmt.Sprint(i)}}[:i%2], Salt: [16]byte{byte(n), byte(i)}})
		}
		c = sealed(c).Canonical()
		want[c.Hash] = c
		f.write(s, func(tx dhruva.Tx) { f.must(tx.PutCheckpoint(c)) })
	}
	f.read(tenant, func(tx dhruva.Tx) {
		for _, list := range []func() ([]dhruva.Checkpoint, error){
			func() ([]dhruva.Checkpoint, error) {
				return tx.ListCheckpoints(dhruva.CheckpointQuery{Page: dhruva.Page{Limit: 1000}})
			},
			func() ([]dhruva.Checkpoint, error) { return tx.CheckpointsByPrefix("", 1000) },
		} {
			rows, err := list()
			same(f, len(rows), err, len(want))
			for _, c := range rows {
				same(f, c, nil, want[c.Hash])
			}
		}
	})
}
