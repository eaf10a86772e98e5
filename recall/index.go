package recall

import (
	"strings"
	"sync"
	"time"
)

// Role says who speaks in a chat with a model; people have no role.
type Role uint8

const (
	NoRole    Role = iota // a person among people
	User                  // the person who talks to a model
	Other                 // system, tool
	Responder             // the model
)

// Doc is one turn as the index takes it in. The index keeps none of its text.
type Doc struct {
	Ref      string    // opaque reference, unique in the index
	Group    string    // session or conversation: what the turns beside it belong to
	Pos      int64     // order within the group; equal positions are ordered by Ref
	Speaker  string    // who says it, in conversations between people
	Role     Role      // who says it, in chats with a model
	Time     time.Time // when it was said; zero when unknown
	TimeText string    // the date in words, searchable between people; made from Time when empty
	Text     string
	Caption  string // words that describe an attached picture
}

// turn is what the index keeps of a Doc.
type turn struct {
	ref      string
	group    int32
	pos      int64
	when     time.Time
	speaker  string // lower case
	role     Role
	flags    flags
	dates    dateSet
	seq      []uint32 // forms: the body in order, then the metadata
	body     int32    // stems in the body
	asked    int32    // of which in question sentences
	chars    int32    // 4-grams in the body
	passages int32
}

// links are the neighbours of a turn in its group, -1 for none.
type links struct{ prev, next int32 }

// group is a session: its turns in order.
type group struct {
	name  string
	turns []int32
}

// Index is an inverted index of one space. The zero value is not usable; see New.
type Index struct {
	mu       sync.RWMutex
	dict     dictionary
	turns    []turn
	free     []int32
	refs     map[string]int32
	groups   []group
	groupIDs map[string]int32
	spare    []int32 // unused group numbers
	speakers map[string]int
	all      scope // every document
	pool     sync.Pool
}

// New gives an empty index.
func New() *Index {
	return &Index{
		dict:     newDictionary(),
		refs:     map[string]int32{},
		groupIDs: map[string]int32{},
		speakers: map[string]int{},
	}
}

// Len is the number of documents in the index.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.refs)
}

// Add puts a document into the index, in place of one with the same Ref.
func (x *Index) Add(d Doc) {
	a := analyzeDoc(d)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(d.Ref)
	x.insert(d, a)
}

// Remove takes a document out and says whether it was there. Nothing of it
// stays: its postings, and the terms that no other document uses, are gone
// when Remove returns.
func (x *Index) Remove(ref string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.remove(ref)
}

func (x *Index) insert(d Doc, a analysis) {
	n := x.slot()
	t := turn{
		ref: strings.Clone(d.Ref), pos: d.Pos, when: d.Time, role: d.Role, flags: a.flags,
		dates: a.dates, speaker: strings.ToLower(fold(d.Speaker)), body: int32(len(a.body)),
		passages: passageCount(int32(len(a.body))), seq: make([]uint32, 0, len(a.body)+len(a.meta)),
	}
	for _, w := range a.body {
		if w.question {
			t.asked++
		}
		f := x.dict.intern(w)
		t.chars += int32(len(x.dict.forms[f].grams))
		t.seq = append(t.seq, f)
	}
	for _, w := range a.meta {
		t.seq = append(t.seq, x.dict.intern(w))
	}
	x.dict.post(n, t.seq, a.body)
	x.dict.countGrams(t.seq[:t.body], 1)
	t.group = x.groupFor(d.Group)
	if t.speaker != "" {
		x.speakers[t.speaker]++
	}
	x.turns[n] = t
	x.refs[t.ref] = n
	x.link(n)
}

// slot gives a free place for a turn.
func (x *Index) slot() int32 {
	if n := len(x.free); n > 0 {
		s := x.free[n-1]
		x.free = x.free[:n-1]
		return s
	}
	x.turns = append(x.turns, turn{})
	x.all.links = append(x.all.links, links{-1, -1})
	for i := range x.all.around {
		x.all.around[i] = append(x.all.around[i], around{})
	}
	return int32(len(x.turns) - 1)
}

func (x *Index) remove(ref string) bool {
	n, ok := x.refs[ref]
	if !ok {
		return false
	}
	x.unlink(n)
	t := &x.turns[n]
	x.dict.countGrams(t.seq[:t.body], -1)
	x.dict.unpost(n, t.seq)
	if x.speakers[t.speaker]--; x.speakers[t.speaker] <= 0 {
		delete(x.speakers, t.speaker)
	}
	delete(x.refs, ref)
	x.turns[n] = turn{}
	x.free = append(x.free, n)
	return true
}

func (x *Index) groupFor(name string) int32 {
	if g, ok := x.groupIDs[name]; ok {
		return g
	}
	g := int32(len(x.groups))
	if n := len(x.spare); n > 0 {
		g, x.spare = x.spare[n-1], x.spare[:n-1]
	} else {
		x.groups = append(x.groups, group{})
		x.all.groupLen = append(x.all.groupLen, 0)
	}
	x.groups[g].name = strings.Clone(name)
	x.groupIDs[x.groups[g].name] = g
	return g
}

// before is the order of turns: by time, and where that is the same or not
// known, by group and position.
func (x *Index) before(a, b int32) bool {
	s, t := &x.turns[a], &x.turns[b]
	switch {
	case !s.when.Equal(t.when):
		return s.when.Before(t.when)
	case s.group != t.group:
		return x.groups[s.group].name < x.groups[t.group].name
	case s.pos != t.pos:
		return s.pos < t.pos
	}
	return s.ref < t.ref
}
