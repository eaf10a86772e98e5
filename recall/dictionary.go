package recall

import (
	"hash/maphash"
	"slices"
)

// posting is one form in one stretch of a turn. A long body is cut into blocks
// of passageStride stems; a short one is block 0.
type posting struct {
	turn  int32
	block uint16
	said  uint8 // in statements
	asked uint8 // in questions
	meta  uint8 // in the speaker's name and the date
}

// form is one raw word. Its letters are not kept.
type form struct {
	key   uint64
	stem  uint32
	grams []uint32
	posts []posting
}

// bundle lists the forms of a stem, or the forms that hold a 4-gram (once for
// each time they hold it).
type bundle struct {
	key   uint64
	forms []uint32
	df    int32 // turns whose body holds the 4-gram; not kept for stems
	stamp int32 // the count in which the turn at hand was last seen
}

// dictionary interns words under keyed hashes: the index can tell that a query
// uses a word, and cannot say which words it holds.
type dictionary struct {
	seed      maphash.Seed
	formIDs   map[uint64]uint32
	forms     []form
	freeForms []uint32
	stems     bundles
	grams     bundles
	stamp     int32
}

// bundles is a table of bundles with reuse of freed numbers.
type bundles struct {
	ids  map[uint64]uint32
	rows []bundle
	free []uint32
}

func newDictionary() dictionary {
	return dictionary{
		seed:    maphash.MakeSeed(),
		formIDs: map[uint64]uint32{},
		stems:   bundles{ids: map[uint64]uint32{}},
		grams:   bundles{ids: map[uint64]uint32{}},
	}
}

func (d *dictionary) key(s string) uint64 { return maphash.String(d.seed, s) }

func (b *bundles) intern(key uint64) uint32 {
	if id, ok := b.ids[key]; ok {
		return id
	}
	id := uint32(len(b.rows))
	if n := len(b.free); n > 0 {
		id, b.free = b.free[n-1], b.free[:n-1]
		b.rows[id] = bundle{key: key}
	} else {
		b.rows = append(b.rows, bundle{key: key})
	}
	b.ids[key] = id
	return id
}

func (b *bundles) find(key uint64) ([]uint32, bool) {
	id, ok := b.ids[key]
	if !ok {
		return nil, false
	}
	return b.rows[id].forms, true
}

func (b *bundles) add(id, form uint32) { b.rows[id].forms = append(b.rows[id].forms, form) }

// drop takes every entry of a form out of a bundle, and the bundle when it is empty.
func (b *bundles) drop(id, form uint32) {
	row := &b.rows[id]
	row.forms = slices.DeleteFunc(row.forms, func(f uint32) bool { return f == form })
	if len(row.forms) > 0 {
		return
	}
	if _, live := b.ids[row.key]; live && b.ids[row.key] == id {
		delete(b.ids, row.key)
		b.rows[id] = bundle{}
		b.free = append(b.free, id)
	}
}

// intern gives the number of a word's form, made on first sight.
func (d *dictionary) intern(t term) uint32 {
	key := d.key(t.raw)
	if id, ok := d.formIDs[key]; ok {
		return id
	}
	id := uint32(len(d.forms))
	if n := len(d.freeForms); n > 0 {
		id, d.freeForms = d.freeForms[n-1], d.freeForms[:n-1]
	} else {
		d.forms = append(d.forms, form{})
	}
	f := form{key: key, stem: d.stems.intern(d.key(stem(t.raw)))}
	d.stems.add(f.stem, id)
	grams(t.raw, func(g string) {
		n := d.grams.intern(d.key(g))
		f.grams = append(f.grams, n)
		d.grams.add(n, id)
	})
	d.forms[id] = f
	d.formIDs[key] = id
	return id
}

// countGrams adds a turn's body to, or takes it from, the df of its 4-grams.
func (d *dictionary) countGrams(body []uint32, sign int32) {
	d.stamp++
	for _, f := range body {
		for _, g := range d.forms[f].grams {
			if row := &d.grams.rows[g]; row.stamp != d.stamp {
				row.stamp = d.stamp
				row.df += sign
			}
		}
	}
}

// blockOf is the block of the i-th of n stems.
func blockOf(i, n int) uint16 {
	if n <= passageWhole {
		return 0
	}
	return uint16(i / passageStride)
}

// blockSpan is the stretch of a body of n stems that a block covers.
func blockSpan(block, n int) (from, to int) {
	if n <= passageWhole {
		return 0, n
	}
	return block * passageStride, min((block+1)*passageStride, n)
}

// passageCount is how many passages a body of n stems has.
func passageCount(n int32) int32 {
	if n <= passageWhole {
		return 1
	}
	return (n+passageStride-1)/passageStride - 1
}

// post writes the postings of a turn: seq holds the body's forms, then the
// metadata's, which stand in the body's last block.
func (d *dictionary) post(turn int32, seq []uint32, body []term) {
	last := blockOf(max(len(body)-1, 0), len(body))
	for i, f := range seq {
		block := last
		if i < len(body) {
			block = blockOf(i, len(body))
		}
		p := d.posting(f, turn, block)
		switch {
		case i >= len(body):
			bump(&p.meta)
		case body[i].question:
			bump(&p.asked)
		default:
			bump(&p.said)
		}
	}
}

// postings is how many postings the forms have together.
func (d *dictionary) postings(forms []uint32) int {
	n := 0
	for _, f := range forms {
		n += len(d.forms[f].posts)
	}
	return n
}

func bump(n *uint8) {
	if *n < 255 {
		*n++
	}
}

// posting is the form's posting for a block. Turns are posted one after the
// other and blocks in order, so it is the last one or a new one.
func (d *dictionary) posting(f uint32, turn int32, block uint16) *posting {
	posts := &d.forms[f].posts
	if n := len(*posts); n > 0 && (*posts)[n-1].turn == turn && (*posts)[n-1].block == block {
		return &(*posts)[n-1]
	}
	*posts = append(*posts, posting{turn: turn, block: block})
	return &(*posts)[len(*posts)-1]
}

// unpost takes a turn out of the postings of its forms; forms that no turn
// uses any more are forgotten.
func (d *dictionary) unpost(turn int32, seq []uint32) {
	for _, id := range seq {
		f := &d.forms[id]
		if f.key == 0 && f.posts == nil {
			continue // forgotten a moment ago: the word occurs twice
		}
		f.posts = slices.DeleteFunc(f.posts, func(p posting) bool { return p.turn == turn })
		if len(f.posts) == 0 {
			d.forget(id)
		}
	}
}

func (d *dictionary) forget(id uint32) {
	f := d.forms[id]
	delete(d.formIDs, f.key)
	d.stems.drop(f.stem, id)
	for _, g := range f.grams {
		d.grams.drop(g, id)
	}
	d.forms[id] = form{}
	d.freeForms = append(d.freeForms, id)
}
