package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"pgregory.net/rapid"

	"github.com/dhruva-memory/dhruva"
)

// chooser draws numbers below n.
type chooser interface {
	choose(n int, what string) int
}

// shrinking draws from rapid, seeded from a seed.
type (
	shrinking struct{ *rapid.T }
	seeded    struct{ *rand.Rand }
)

func (s shrinking) choose(n int, what string) int { return rapid.IntRange(0, n-1).Draw(s.T, what) }
func (s seeded) choose(n int, _ string) int       { return s.IntN(n) }

// draw makes calls with few ids, so that rows meet.
type draw struct {
	chooser
	// tag is in the names of tenants and of all that is the installation's.
	tag string
	// about is the group of methods that a story is about, or all of them.
	about int
}

// subjects are what stories are about: one group each, and some about all.
func subjects() int { return len(draw{chooser: seeded{rand.New(rand.NewPCG(0, 0))}}.groups()) * 4 / 3 }

// groups are the methods, by what they are about.
func (d draw) groups() [][]func() op {
	sessions := d.sessionOps()
	return [][]func() op{
		d.tenantOps(), d.feedOps(), sessions, slices.Concat(d.turnOps(), sessions[:1]), slices.Concat(d.checkpointOps(), d.lineageOps()),
		d.branchOps(), d.headMoveOps(), d.noteOps(), d.claimOps(), d.worktreeOps(), d.documentOps(), d.sourceOps(), d.recordOps(),
		d.replayOps(), d.receiptOps(), d.auditOps(), d.jobOps(), d.callOps(), d.keyOps(), d.userOps(), d.grantOps(),
	}
}

func (d draw) op() op {
	groups := d.groups()
	makers := slices.Concat(groups...)
	if d.about < len(groups) {
		makers = groups[d.about]
	}
	return makers[d.choose(len(makers), "op")]()
}

// reads are the makers of calls that only read.
func (d draw) reads() (out []func() op) {
	for _, makers := range d.groups() {
		for _, maker := range makers {
			if !isWriting(maker().name) {
				out = append(out, maker)
			}
		}
	}
	return out
}

func (d draw) transaction() transaction {
	t, o, a, b := d.tenant(), d.other(), d.in("a"), d.in("b")
	tenant, both := []dhruva.Scope{t}, []dhruva.Scope{t, system}
	x := transaction{
		view: d.choose(8, "view") == 7,
		fail: d.choose(8, "fail") == 7,
		scopes: pick(d, "scopes", tenant, both, []dhruva.Scope{b, a}, []dhruva.Scope{a}, []dhruva.Scope{b}, []dhruva.Scope{system},
			[]dhruva.Scope{o}, tenant, both, tenant, both, []dhruva.Scope{a}, []dhruva.Scope{a, o}),
	}
	for range d.choose(19, "ops") + 6 {
		x.ops = append(x.ops, d.op())
	}
	return x
}

func pick[T any](d draw, what string, from ...T) T { return from[d.choose(len(from), what)] }

func (d draw) tenant() dhruva.Scope { return dhruva.TenantScope(dhruva.TenantID("t1" + d.tag)) }
func (d draw) other() dhruva.Scope  { return dhruva.TenantScope(dhruva.TenantID("t2" + d.tag)) }
func (d draw) in(s dhruva.SpaceID) dhruva.Scope {
	return dhruva.SpaceScope(d.tenant().Tenant(), s)
}

func (d draw) id() string {
	return pick(d, "id", "x", "y", "x", "X", "y", "xx", "x", "\u00e9", "y", "x", "X", "y", "x", "y", "")
}

// installed is the name of something of the installation.
func (d draw) installed() string {
	if id := d.id(); id != "" {
		return d.tag + id
	}
	return ""
}

func (d draw) text() string {
	if d.choose(25, "bad text") == 24 {
		return pick(d, "bad", badTexts...)
	}
	return pick(d, "text", "", "text", "Text", "\u4e2d", "text", "text")
}

// filter is a text to select by, mostly none.
func (d draw) filter(from ...string) string {
	return pick(d, "filter", "", "", "", pick(d, "by", from...))
}

func (d draw) small() int64 { return int64(d.choose(5, "small")) }
func (d draw) n() int       { return int(d.small()) }
func (d draw) flag() bool   { return d.choose(2, "flag") == 1 }

// row is where a row is to stand.
func (d draw) row() dhruva.Scope {
	return pick(d, "row's scope", d.in("a"), d.in("a"), d.in("b"), dhruva.SpaceScope(d.other().Tenant(), "a"))
}
func (d draw) owner() dhruva.TenantID {
	own := d.tenant().Tenant()
	return pick(d, "row's tenant", own, own, own, own, d.other().Tenant(), own, own, "")
}
func (d draw) space() dhruva.SpaceID { return pick[dhruva.SpaceID](d, "space", "a", "a", "b", "") }
func (d draw) source() dhruva.SourceID {
	return dhruva.SourceID(d.id())
}
func (d draw) generation() int64 { return d.small() % 3 }
func (d draw) hash() dhruva.Hash {
	if n := d.n(); n > 0 {
		return digest(fmt.Sprint(n))
	}
	return dhruva.Hash{}
}
func (d draw) page() dhruva.Page {
	return dhruva.Page{After: pick(d, "after", "", "", d.id(), d.text()), Limit: pick(d, "limit", 0, 1, 2, 3)}
}

// beyond is a page of what is the installation's: of this story only.
func (d draw) beyond() dhruva.Page {
	p := d.page()
	p.After = d.tag + p.After
	return p
}

// call names an op and keeps its arguments.
func call[T any](name string, run func(dhruva.Tx) (T, error), args ...any) op {
	return op{name, args, func(tx dhruva.Tx) (any, error) { return run(tx) }}
}

// put is a call that answers nothing.
func put(name string, run func(dhruva.Tx) error, args ...any) op {
	return op{name, args, func(tx dhruva.Tx) (any, error) { return nil, run(tx) }}
}

// write is put of one row.
func write[T any](name string, run func(dhruva.Tx, T) error, row T) op {
	return put(name, func(tx dhruva.Tx) error { return run(tx, row) }, row)
}

// ask is a call with one argument.
func ask[A, T any](name string, run func(dhruva.Tx, A) (T, error), a A) op {
	return call(name, func(tx dhruva.Tx) (T, error) { return run(tx, a) }, a)
}
