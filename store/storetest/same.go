package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/dhruva-memory/dhruva"
)

// Same drives two stores with the same random updates and views and wants the
// same answers: values, kinds of error, what is kept, and the feed. open
// returns two empty stores, a measure and the one under test, and how to close
// them; it is called for each of rapid's runs.
func Same(t *testing.T, open func() (measure, tested dhruva.Store, done func())) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, done := open()
		defer done()
		d := draw{t, rapid.IntRange(0, 6).Draw(t, "about")}
		for range rapid.IntRange(3, 12).Draw(t, "transactions") {
			d.transaction().compare(t, a, b)
		}
		for _, scope := range []dhruva.Scope{spaceA, spaceB} {
			after := rapid.Int64Range(-1, 9).Draw(t, "after")
			if d := cmp.Diff(answerOfFeed(a, scope, after), answerOfFeed(b, scope, after)); d != "" {
				t.Fatalf("feed of %s after %d (-measure +tested):\n%s", scope, after, d)
			}
		}
	})
}

// transaction is one update or view.
type transaction struct {
	view   bool
	fail   bool
	scopes []dhruva.Scope
	ops    []op
}

// op is one call of a Tx method.
type op struct {
	name string
	run  func(dhruva.Tx) (any, error)
}

// answer is what came of an op, comparable between stores.
type answer struct {
	Op    string
	Value any
	Error string
}

var sentinels = []error{dhruva.ErrNotFound, dhruva.ErrConflict, dhruva.ErrInvalid, dhruva.ErrDenied, dhruva.ErrFenced,
	dhruva.ErrUnavailable, dhruva.ErrTooLarge, errRollback}

// class is what a caller may depend on of an error.
func class(err error) string {
	if err == nil {
		return ""
	}
	for _, s := range sentinels {
		if errors.Is(err, s) {
			return s.Error()
		}
	}
	return "unclassified"
}

func (x transaction) run(s dhruva.Store) (answers []answer) {
	ctx := context.Background()
	fn := func(tx dhruva.Tx) error {
		for _, o := range x.ops {
			v, err := o.run(tx)
			answers = append(answers, answer{o.name, v, class(err)})
		}
		if x.fail {
			return errRollback
		}
		return nil
	}
	var err error
	if x.view {
		err = s.View(ctx, x.scopes[0], fn)
	} else {
		err = s.Update(ctx, x.scopes, fn)
	}
	return append(answers, answer{"end", nil, class(err)})
}

func (x transaction) compare(t *rapid.T, a, b dhruva.Store) {
	if d := cmp.Diff(x.run(a), x.run(b), cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("scopes %v, view %v (-measure +tested):\n%s", x.scopes, x.view, d)
	}
}

func answerOfFeed(s dhruva.Store, scope dhruva.Scope, after int64) (out []answer) {
	for c, err := range s.Changes(context.Background(), scope, after) {
		out = append(out, answer{fmt.Sprint(c.Seq), c, class(err)})
	}
	return out
}

// draw makes rows from few ids, so that they meet.
type draw struct {
	*rapid.T
	// about is the group of methods that a run is about, or all of them.
	about int
}

func (d draw) transaction() transaction {
	x := transaction{
		view: rapid.IntRange(0, 5).Draw(d.T, "view") == 5,
		fail: rapid.IntRange(0, 5).Draw(d.T, "fail") == 5,
		scopes: pick(d, "scopes", []dhruva.Scope{tenant}, []dhruva.Scope{tenant, system}, []dhruva.Scope{spaceB, spaceA},
			[]dhruva.Scope{spaceA}, []dhruva.Scope{spaceB}, []dhruva.Scope{system}, []dhruva.Scope{other}, []dhruva.Scope{spaceA, other}),
	}
	for range rapid.IntRange(6, 24).Draw(d.T, "ops") {
		x.ops = append(x.ops, d.op())
	}
	return x
}

func pick[T any](d draw, what string, from ...T) T { return rapid.SampledFrom(from).Draw(d.T, what) }

func (d draw) id() string {
	return pick(d, "id", "x", "y", "xx", "X", "\u00e9", "x", "y", "x", "y", "")
}
func (d draw) text() string {
	return pick(d, "text", "", "text", "Text", "\u4e2d", "text", "text", "", "Text", "nul\x00", "\xff")
}
func (d draw) small() int64 { return rapid.Int64Range(0, 4).Draw(d.T, "small") }
func (d draw) n() int       { return int(d.small()) }
func (d draw) flag() bool   { return rapid.Bool().Draw(d.T, "flag") }
func (d draw) row() (r dhruva.Scope) {
	return pick(d, "row's scope", spaceA, spaceA, spaceB, dhruva.SpaceScope("t2", "a"))
}
func (d draw) space() dhruva.SpaceID { return pick[dhruva.SpaceID](d, "space", "a", "a", "b", "") }
func (d draw) hash() dhruva.Hash {
	if n := d.n(); n > 0 {
		return digest(fmt.Sprint(n))
	}
	return dhruva.Hash{}
}
func (d draw) page() dhruva.Page {
	return dhruva.Page{After: pick(d, "after", "", "", d.id()), Limit: pick(d, "limit", 0, 1, 2, 3)}
}

func (d draw) op() op {
	groups := [][]func() op{d.tenantOps(), d.sessionOps(), slices.Concat(d.turnOps(), d.sessionOps()[:1]), d.checkpointOps(), d.sourceOps(), d.keyOps()}
	makers := slices.Concat(groups...)
	if d.about < len(groups) {
		makers = groups[d.about]
	}
	return makers[rapid.IntRange(0, len(makers)-1).Draw(d.T, "op")]()
}

// call names an op and keeps its arguments.
func call[T any](name string, run func(dhruva.Tx) (T, error)) op {
	return op{name, func(tx dhruva.Tx) (any, error) { return run(tx) }}
}

func put(name string, run func(dhruva.Tx) error) op {
	return op{name, func(tx dhruva.Tx) (any, error) { return nil, run(tx) }}
}

func (d draw) tenantOps() []func() op {
	return []func() op{
		func() op {
			row := dhruva.Tenant{ID: pick[dhruva.TenantID](d, "tenant", "t1", "t2", ""), Name: d.text(), CreatedAt: at(d.n())}
			return put("PutTenant", func(tx dhruva.Tx) error { return tx.PutTenant(row) })
		},
		func() op {
			id := pick[dhruva.TenantID](d, "tenant", "t1", "t2", "")
			return call("Tenant", func(tx dhruva.Tx) (dhruva.Tenant, error) { return tx.Tenant(id) })
		},
		func() op {
			s := d.row()
			row := dhruva.Space{Tenant: s.Tenant(), ID: s.Space(), Name: d.text(), Owner: dhruva.PrincipalID(d.id()), Home: d.flag(),
				CreatedAt: at(d.n()), UpdatedAt: at(d.n())}
			if d.n() == 0 {
				row.DeletedAt = at(1)
			}
			return put("PutSpace", func(tx dhruva.Tx) error { return tx.PutSpace(row) })
		},
		func() op {
			id := d.space()
			return call("Space", func(tx dhruva.Tx) (dhruva.Space, error) { return tx.Space(id) })
		},
		func() op {
			name := d.text()
			return call("SpacesNamed", func(tx dhruva.Tx) ([]dhruva.Space, error) { return tx.SpacesNamed(name) })
		},
		func() op {
			id := dhruva.PrincipalID(d.id())
			return call("HomeSpace", func(tx dhruva.Tx) (dhruva.Space, error) { return tx.HomeSpace(id) })
		},
		func() op {
			p := dhruva.Page{After: string(d.space()), Limit: d.n()}
			return call("ListSpaces", func(tx dhruva.Tx) ([]dhruva.Space, error) { return tx.ListSpaces(p) })
		},
		func() op {
			id := d.space()
			return call("Epoch", func(tx dhruva.Tx) (dhruva.Epoch, error) { return tx.Epoch(id) })
		},
		func() op {
			row := dhruva.Epoch{Space: d.space(), Generation: d.small(), Fence: d.small(), ACLVersion: d.small(), Head: d.small()}
			return put("PutEpoch", func(tx dhruva.Tx) error { return tx.PutEpoch(row) })
		},
		func() op {
			id, c := d.space(), dhruva.Change{Seq: d.small(), Kind: dhruva.ChangeSource, Ref: d.text(), At: at(d.n())}
			return call("AppendChange", func(tx dhruva.Tx) (int64, error) { return tx.AppendChange(id, c) })
		},
	}
}

func (d draw) sessionOps() []func() op {
	return []func() op{
		func() op {
			s := d.row()
			row := session(s, d.id(), at(d.n()))
			row.Title, row.Kind, row.LastSeq, row.ForkedFrom = d.text(), pick(d, "kind", dhruva.SessionChat, dhruva.SessionProxy), d.small(), d.hash()
			if d.flag() {
				row.Mount = &dhruva.Mount{Checkpoint: d.hash(), Depth: d.n(), Base: d.small(), At: at(d.n())}
			}
			if d.n() == 0 {
				row.DeletedAt = at(1)
			}
			return put("PutSession", func(tx dhruva.Tx) error { return tx.PutSession(row) })
		},
		func() op {
			id := dhruva.SessionID(d.id())
			return call("Session", func(tx dhruva.Tx) (dhruva.Session, error) { return tx.Session(id) })
		},
		func() op {
			q := dhruva.SessionQuery{Space: d.space(), Kind: pick(d, "kind", "", dhruva.SessionProxy), Page: d.page()}
			return call("ListSessions", func(tx dhruva.Tx) ([]dhruva.Session, error) { return tx.ListSessions(q) })
		},
		func() op {
			row := dhruva.Chain{Space: d.space(), Hash: d.hash(), Session: dhruva.SessionID(d.id()), Seq: d.small()}
			return put("PutChain", func(tx dhruva.Tx) error { return tx.PutChain(row) })
		},
		func() op {
			id, h := d.space(), d.hash()
			return call("Chain", func(tx dhruva.Tx) (dhruva.Chain, error) { return tx.Chain(id, h) })
		},
		func() op {
			id, h, s := d.space(), d.hash(), dhruva.SessionID(d.id())
			return put("BindHint", func(tx dhruva.Tx) error { return tx.BindHint(id, h, s) })
		},
		func() op {
			id, h := d.space(), d.hash()
			return call("SessionHint", func(tx dhruva.Tx) (dhruva.SessionID, error) { return tx.SessionHint(id, h) })
		},
	}
}

func (d draw) turnOps() []func() op {
	return []func() op{
		func() op {
			row := turn(d.row(), d.id(), d.small())
			row.Content, row.Interim = d.text(), d.flag()
			return put("AppendTurn", func(tx dhruva.Tx) error { return tx.AppendTurn(row) })
		},
		func() op {
			id, seq := dhruva.SessionID(d.id()), d.small()
			return call("Turn", func(tx dhruva.Tx) (dhruva.Turn, error) { return tx.Turn(id, seq) })
		},
		func() op {
			q := dhruva.TurnQuery{Session: dhruva.SessionID(d.id()), After: d.small() - 1, Through: d.small(), Limit: d.n(), Newest: d.flag()}
			return call("ListTurns", func(tx dhruva.Tx) ([]dhruva.Turn, error) { return tx.ListTurns(q) })
		},
		func() op {
			row := receipt(d.row(), d.id())
			row.Session, row.Kind, row.CreatedAt = dhruva.SessionID(d.id()), d.text(), at(d.n())
			if d.flag() {
				row.Space = ""
			}
			if d.flag() {
				row.Context = &dhruva.ContextUsed{Turns: []int64{}, Checkpoints: []dhruva.Hash{d.hash()}}
			}
			return put("PutReceipt", func(tx dhruva.Tx) error { return tx.PutReceipt(row) })
		},
		func() op {
			id := dhruva.ReceiptID(d.id())
			return call("Receipt", func(tx dhruva.Tx) (dhruva.Receipt, error) { return tx.Receipt(id) })
		},
		func() op {
			q := dhruva.ReceiptQuery{Space: d.space(), Session: dhruva.SessionID(pick(d, "session", "", d.id())), Kind: pick(d, "kind", "", d.text()), Page: d.page()}
			return call("ListReceipts", func(tx dhruva.Tx) ([]dhruva.Receipt, error) { return tx.ListReceipts(q) })
		},
	}
}

// checkpoint is one of a few, so that hashes and ids meet.
func (d draw) checkpoint() dhruva.Checkpoint {
	s := d.row()
	c := dhruva.Checkpoint{Tenant: s.Tenant(), Space: s.Space(), ID: dhruva.CheckpointID(d.id()), Branch: d.text(), CreatedAt: at(d.n()),
		Window: dhruva.Window{Session: dhruva.SessionID(d.id())}, Generation: d.small()}
	for n := range d.n() {
		c.Items = append(c.Items, dhruva.Item{ID: dhruva.ItemID(fmt.Sprint(n)), Kind: dhruva.KindTask, Text: d.text(),
			Attrs: []dhruva.Attr{{Name: "n", Value: d.id()}}[:d.n()%2], Cites: []dhruva.Cite{}})
	}
	c.Hash = d.hash() // not its own: a store does not look
	return c
}

func (d draw) checkpointOps() []func() op {
	return []func() op{
		func() op {
			row := d.checkpoint()
			return put("PutCheckpoint", func(tx dhruva.Tx) error { return tx.PutCheckpoint(row) })
		},
		func() op {
			h := d.hash()
			return call("Checkpoint", func(tx dhruva.Tx) (dhruva.Checkpoint, error) { return tx.Checkpoint(h) })
		},
		func() op {
			id := dhruva.CheckpointID(d.id())
			return call("CheckpointByID", func(tx dhruva.Tx) (dhruva.Checkpoint, error) { return tx.CheckpointByID(id) })
		},
		func() op {
			h := digest(fmt.Sprint(d.small())).String()
			prefix, limit := pick(d, "prefix", "", h[:1], h[:5], h, "z", h+"0"), d.n()-1
			return call("CheckpointsByPrefix", func(tx dhruva.Tx) ([]dhruva.Checkpoint, error) { return tx.CheckpointsByPrefix(prefix, limit) })
		},
		func() op {
			q := dhruva.CheckpointQuery{Space: d.space(), Branch: pick(d, "branch", "", d.text()), Session: dhruva.SessionID(pick(d, "session", "", d.id())),
				Page: dhruva.Page{After: pick(d, "after", d.hash().String(), "", "bad"), Limit: d.n()}}
			return call("ListCheckpoints", func(tx dhruva.Tx) ([]dhruva.Checkpoint, error) { return tx.ListCheckpoints(q) })
		},
		func() op {
			row, old := dhruva.Branch{Space: d.space(), Name: d.id(), Head: d.hash(), Disposition: d.text(), UpdatedAt: at(d.n())}, d.hash()
			return put("SwapBranch", func(tx dhruva.Tx) error { return tx.SwapBranch(row, old) })
		},
		func() op {
			id, name := d.space(), d.id()
			return call("Branch", func(tx dhruva.Tx) (dhruva.Branch, error) { return tx.Branch(id, name) })
		},
		func() op {
			id := d.space()
			return call("ListBranches", func(tx dhruva.Tx) ([]dhruva.Branch, error) { return tx.ListBranches(id) })
		},
	}
}

func (d draw) sourceOps() []func() op {
	return []func() op{
		func() op {
			row := source(d.row(), d.id())
			row.Generation, row.HeldFor, row.Size, row.Digest = d.small(), d.text(), d.n(), d.hash()
			row.State = pick(d, "state", dhruva.SourceReady, dhruva.SourceHeld)
			return put("PutSource", func(tx dhruva.Tx) error { return tx.PutSource(row) })
		},
		func() op {
			id, g, src := d.space(), d.small(), dhruva.SourceID(d.id())
			return call("Source", func(tx dhruva.Tx) (dhruva.Source, error) { return tx.Source(id, g, src) })
		},
		func() op {
			q := dhruva.SourceQuery{Space: d.space(), Generation: d.small(), State: pick(d, "state", "", dhruva.SourceHeld),
				Class: pick(d, "class", "", dhruva.ClassUserTyped, dhruva.ClassDerived), Page: d.page()}
			return call("ListSources", func(tx dhruva.Tx) ([]dhruva.Source, error) { return tx.ListSources(q) })
		},
		func() op {
			id, g := d.space(), d.small()
			return call("CountSources", func(tx dhruva.Tx) (int, error) { return tx.CountSources(id, g) })
		},
		func() op {
			row := dhruva.Reference{Space: d.space(), Generation: d.small() % 2, Source: dhruva.SourceID(d.id()), Session: dhruva.SessionID(d.id()),
				Seq: d.small() % 2}
			if d.n() == 0 {
				row.Checkpoint, row.Item = d.hash(), dhruva.ItemID(d.id())
			}
			return put("AddReference", func(tx dhruva.Tx) error { return tx.AddReference(row) })
		},
		func() op {
			row := dhruva.Reference{Space: d.space(), Generation: d.small() % 2, Source: dhruva.SourceID(d.id()), Session: dhruva.SessionID(d.id()), Seq: d.small() % 2}
			return put("DropReference", func(tx dhruva.Tx) error { return tx.DropReference(row) })
		},
		func() op {
			id, g, src := d.space(), d.small()%2, dhruva.SourceID(d.id())
			return put("DropSource", func(tx dhruva.Tx) error { return tx.DropSource(id, g, src) })
		},
		func() op {
			id, g, src := d.space(), d.small()%2, dhruva.SourceID(d.id())
			return call("References", func(tx dhruva.Tx) ([]dhruva.Reference, error) { return tx.References(id, g, src) })
		},
		func() op {
			id, g, s, seq := d.space(), d.small()%2, dhruva.SessionID(d.id()), d.small()%2
			return call("SourcesOfTurn", func(tx dhruva.Tx) ([]dhruva.SourceID, error) { return tx.SourcesOfTurn(id, g, s, seq) })
		},
		func() op {
			row := dhruva.Tombstone{Space: d.space(), Generation: d.small(), Source: dhruva.SourceID(d.id()), State: d.text(), CreatedAt: at(d.n())}
			return put("PutTombstone", func(tx dhruva.Tx) error { return tx.PutTombstone(row) })
		},
		func() op {
			id, g, src := d.space(), d.small(), dhruva.SourceID(d.id())
			return call("Tombstone", func(tx dhruva.Tx) (dhruva.Tombstone, error) { return tx.Tombstone(id, g, src) })
		},
	}
}

func (d draw) keyOps() []func() op {
	return []func() op{
		func() op {
			row := dhruva.Key{Tenant: d.row().Tenant(), ID: dhruva.KeyID(d.id()), Hash: []byte(d.id()), Name: d.text(), Test: d.flag(),
				Scopes: []dhruva.KeyScope{dhruva.MemoryRead}[:d.n()%2], CreatedAt: at(d.n())}
			return put("PutKey", func(tx dhruva.Tx) error { return tx.PutKey(row) })
		},
		func() op {
			id := dhruva.KeyID(d.id())
			return call("Key", func(tx dhruva.Tx) (dhruva.Key, error) { return tx.Key(id) })
		},
		func() op {
			h := []byte(d.id())
			return call("KeyByHash", func(tx dhruva.Tx) (dhruva.Key, error) { return tx.KeyByHash(h) })
		},
		func() op {
			p := d.page()
			return call("ListKeys", func(tx dhruva.Tx) ([]dhruva.Key, error) { return tx.ListKeys(p) })
		},
	}
}
