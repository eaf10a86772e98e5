package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// The three-way merge of items is a pure function of what three checkpoints say:
// the common ancestor, ours (the branch that is merged into) and theirs.
//
//   - An item that one side left alone is as the other side has it: changed, or
//     removed. What both made the same is that.
//   - An item that is new on one side is taken. Two that are new, one on each side,
//     of one kind and saying the same (dhruva.Normalize) are one, with the smaller
//     id and the attributes of both.
//   - Objective and summary are one slot each. The title is no part of it.
//   - Everything else is a conflict, and a person decides.
//
// Stubs of purged items say nothing and are passed over.

// ConflictType says why a person must decide.
type ConflictType string

// The types.
const (
	// ConflictBothEdited: both sides changed an item, or filled a slot, differently.
	ConflictBothEdited ConflictType = "both_edited"
	// ConflictEditedRemoved: one side changed an item that the other removed.
	ConflictEditedRemoved ConflictType = "edited_removed"
	// ConflictContradicting: decisions that are new or edited on each side
	// contradict each other (Contradict).
	ConflictContradicting ConflictType = "contradicting_decision"
)

// Conflict is something that a merge cannot decide.
type Conflict struct {
	// ID is what a pick or an edit names: the item's, of several the smallest.
	ID   dhruva.ItemID
	Type ConflictType
	Kind dhruva.ItemKind
	// Base is the item as the common ancestor has it, nil when it has none.
	Base *dhruva.Item
	// Ours and Theirs are what each side has: nothing where it removed the item,
	// and several only where more than two decisions contradict each other.
	Ours, Theirs []dhruva.Item
}

// The picks that resolve a conflict. PickAll is the key that stands for every
// conflict that is not named.
const (
	PickOurs    = "ours"
	PickTheirs  = "theirs"
	PickBoth    = "both"
	PickNeither = "neither"

	PickAll dhruva.ItemID = "*"
)

// Picks are the answers to conflicts, by the conflict's id: which side, or a text
// to have instead.
type Picks struct {
	Picks map[dhruva.ItemID]string
	Edits map[dhruva.ItemID]string
}

// MergeItems merges three-way. The items come without cites and digests, in
// canonical order of kinds, ours first; open are the conflicts that no pick
// resolves, all the conflicts that there are. fresh makes an id for an item that
// is kept beside another of the same id. A pick of what is no conflict, and one
// that is no pick, is ErrInvalid.
func MergeItems(base, ours, theirs []dhruva.Item, picks Picks, fresh func() dhruva.ItemID) (merged []dhruva.Item, all, open []Conflict, err error) {
	m := newThreeWay(base, ours, theirs)
	m.slots()
	m.known()
	m.added()
	m.contradictions()
	slices.SortFunc(m.conflicts, func(a, b Conflict) int {
		return cmp.Or(kindOrder(a.Kind)-kindOrder(b.Kind), cmp.Compare(a.ID, b.ID))
	})
	if err := picks.valid(m.conflicts); err != nil {
		return nil, nil, nil, err
	}
	for _, c := range m.conflicts {
		if !m.resolve(c, picks, fresh) {
			open = append(open, c)
		}
	}
	return m.ordered(), m.conflicts, open, nil
}

func kindOrder(k dhruva.ItemKind) int { return slices.Index(dhruva.ItemKinds(), k) }

// version is an item that was taken, with its place among those of its kind.
type version struct {
	dhruva.Item
	side, place int
}

// threeWay is a merge on its way.
type threeWay struct {
	base, ours, theirs sideItems
	taken              []version
	conflicts          []Conflict
	// fresh are decisions that are new or edited on one side only.
	freshOurs, freshTheirs []dhruva.Item
}

// sideItems are the items of one checkpoint, with their places.
type sideItems struct {
	items []dhruva.Item
	at    map[itemKey]int
}

func newThreeWay(base, ours, theirs []dhruva.Item) *threeWay {
	return &threeWay{base: sideOf(base), ours: sideOf(ours), theirs: sideOf(theirs)}
}

func sideOf(items []dhruva.Item) sideItems {
	s := sideItems{at: map[itemKey]int{}}
	for _, i := range items {
		if i.Kind == dhruva.KindTitle || i.Redacted {
			continue
		}
		i.Cites, i.Salt, i.Digest = nil, [16]byte{}, dhruva.Hash{}
		s.at[mergeKey(i)] = len(s.items)
		s.items = append(s.items, i)
	}
	return s
}

// mergeKey is by what an item is the same one on both sides.
func mergeKey(i dhruva.Item) itemKey {
	if slot(i.Kind) {
		return itemKey{kind: i.Kind}
	}
	return itemKey{i.Kind, string(i.ID)}
}

func (s sideItems) find(k itemKey) *dhruva.Item {
	n, ok := s.at[k]
	if !ok {
		return nil
	}
	i := s.items[n]
	return &i
}

// take keeps an item. Its place is ours where we have it.
func (m *threeWay) take(i dhruva.Item) {
	if n, ok := m.ours.at[mergeKey(i)]; ok {
		m.taken = append(m.taken, version{i, 0, n})
		return
	}
	n, ok := m.theirs.at[mergeKey(i)]
	if !ok {
		n = len(m.theirs.items)
	}
	m.taken = append(m.taken, version{i, 1, n})
}

func (m *threeWay) ordered() (out []dhruva.Item) {
	slices.SortStableFunc(m.taken, func(a, b version) int {
		return cmp.Or(kindOrder(a.Kind)-kindOrder(b.Kind), a.side-b.side, a.place-b.place)
	})
	for _, v := range m.taken {
		out = append(out, v.Item)
	}
	return out
}

// slots merges objective and summary.
func (m *threeWay) slots() {
	for _, kind := range dhruva.ItemKinds() {
		k := itemKey{kind: kind}
		if slot(kind) && kind != dhruva.KindTitle {
			m.three(m.base.find(k), m.ours.find(k), m.theirs.find(k))
		}
	}
}

// known merges what the common ancestor has, and what both sides have under one
// id although it has not.
func (m *threeWay) known() {
	keys := map[itemKey]bool{}
	for _, i := range m.base.items {
		keys[mergeKey(i)] = true
	}
	for _, i := range m.ours.items {
		if m.theirs.find(mergeKey(i)) != nil {
			keys[mergeKey(i)] = true
		}
	}
	for k := range keys {
		if !slot(k.kind) {
			m.three(m.base.find(k), m.ours.find(k), m.theirs.find(k))
		}
	}
}

// three merges one item; nil is one that is not there.
func (m *threeWay) three(base, ours, theirs *dhruva.Item) {
	switch {
	case alike(ours, theirs):
		m.keep(agreed(base, ours, theirs))
	case alike(base, ours):
		m.keep(theirs)
		m.freshTheirs = appendItem(m.freshTheirs, theirs)
	case alike(base, theirs):
		m.keep(ours)
		m.freshOurs = appendItem(m.freshOurs, ours)
	default:
		m.conflict(base, ours, theirs)
	}
}

func appendItem(list []dhruva.Item, i *dhruva.Item) []dhruva.Item {
	if i == nil {
		return list
	}
	return append(list, *i)
}

func (m *threeWay) keep(i *dhruva.Item) {
	if i != nil {
		m.take(*i)
	}
}

// alike: both are not there, or both say the same.
func alike(a, b *dhruva.Item) bool {
	if a == nil || b == nil {
		return a == b
	}
	return sameItem(*a, *b)
}

// agreed is what both sides have: in the spelling that was changed if only one
// was, and the same one whichever side is which.
func agreed(base, ours, theirs *dhruva.Item) *dhruva.Item {
	if ours == nil {
		return nil
	}
	out := *ours
	if base != nil && ours.Text == base.Text || (base == nil || theirs.Text != base.Text) && theirs.Text < ours.Text {
		out = *theirs
	}
	out.ID = min(ours.ID, theirs.ID)
	return &out
}

func (m *threeWay) conflict(base, ours, theirs *dhruva.Item) {
	c := Conflict{Type: ConflictBothEdited, Base: base, Ours: appendItem(nil, ours), Theirs: appendItem(nil, theirs)}
	if ours == nil || theirs == nil {
		c.Type = ConflictEditedRemoved
	}
	m.report(c)
}

// report adds a conflict under the smallest id of what it is about.
func (m *threeWay) report(c Conflict) {
	for _, i := range slices.Concat(c.Ours, c.Theirs) {
		if c.ID == "" || i.ID < c.ID {
			c.ID, c.Kind = i.ID, i.Kind
		}
	}
	byID := func(a, b dhruva.Item) int { return cmp.Compare(a.ID, b.ID) }
	slices.SortFunc(c.Ours, byID)
	slices.SortFunc(c.Theirs, byID)
	m.conflicts = append(m.conflicts, c)
}

// added takes what is new on one side, and makes one of what is new on both.
func (m *threeWay) added() {
	ours, theirs := m.newOf(m.ours, m.theirs), m.newOf(m.theirs, m.ours)
	same := map[itemKey][]dhruva.Item{}
	for _, i := range theirs {
		same[addedKey(i)] = append(same[addedKey(i)], i)
	}
	for _, i := range ours {
		k := addedKey(i)
		if len(same[k]) == 0 {
			m.take(i)
			m.freshOurs = append(m.freshOurs, i)
			continue
		}
		o := same[k][0]
		same[k] = same[k][1:]
		if one, ok := united(i, o); ok {
			m.taken = append(m.taken, version{one, 0, m.ours.at[mergeKey(i)]})
		} else {
			m.conflict(nil, &i, &o)
		}
	}
	for _, rest := range same {
		for _, i := range rest {
			m.take(i)
			m.freshTheirs = append(m.freshTheirs, i)
		}
	}
}

// newOf are the items that only one side has and the ancestor has not, by id.
func (m *threeWay) newOf(side, other sideItems) (out []dhruva.Item) {
	for _, i := range side.items {
		if k := mergeKey(i); !slot(i.Kind) && m.base.find(k) == nil && other.find(k) == nil {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b dhruva.Item) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// addedKey is what an item says. What an artifact says is its bytes.
func addedKey(i dhruva.Item) itemKey {
	if i.Kind == dhruva.KindArtifact {
		return itemKey{i.Kind, i.Text}
	}
	return sayingOf(i)
}

// united is one item of two that say the same, false when an attribute has two
// values.
func united(a, b dhruva.Item) (dhruva.Item, bool) {
	if b.ID < a.ID {
		a, b = b, a
	}
	values := map[string]string{}
	for _, at := range slices.Concat(a.Attrs, b.Attrs) {
		if v, ok := values[at.Name]; ok && v != at.Value {
			return a, false
		}
		values[at.Name] = at.Value
	}
	a.Attrs = nil
	for _, name := range slices.Sorted(maps.Keys(values)) {
		a.Attrs = append(a.Attrs, dhruva.Attr{Name: name, Value: values[name]})
	}
	return a, true
}

// contradictions finds the decisions that contradict each other across the sides,
// among those that are new or edited on one of them. Those that hang together are
// one conflict.
func (m *threeWay) contradictions() {
	decisions := func(i dhruva.Item) bool { return i.Kind != dhruva.KindDecision }
	ours, theirs := slices.DeleteFunc(m.freshOurs, decisions), slices.DeleteFunc(m.freshTheirs, decisions)
	left := map[int]bool{}
	for n := range ours {
		if left[n] {
			continue
		}
		a, b := connected(ours, theirs, n)
		for i := range a {
			left[i] = true
		}
		if len(b) == 0 {
			continue
		}
		c := Conflict{Type: ConflictContradicting}
		for i := range a {
			c.Ours = append(c.Ours, ours[i])
		}
		for i := range b {
			c.Theirs = append(c.Theirs, theirs[i])
		}
		m.withdraw(c)
		m.report(c)
	}
}

// connected are the decisions of both sides that hang together with one of ours.
func connected(ours, theirs []dhruva.Item, n int) (a, b map[int]bool) {
	a, b = map[int]bool{n: true}, map[int]bool{}
	for grown := true; grown; {
		grown = false
		for i, x := range ours {
			for j, y := range theirs {
				if a[i] != b[j] && Contradict(x.Text, y.Text) {
					a[i], b[j], grown = true, true, true
				}
			}
		}
	}
	return a, b
}

// withdraw takes back what was taken before it was seen to be in conflict.
func (m *threeWay) withdraw(c Conflict) {
	m.taken = slices.DeleteFunc(m.taken, func(v version) bool {
		return slices.ContainsFunc(slices.Concat(c.Ours, c.Theirs), func(i dhruva.Item) bool { return i.Kind == v.Kind && i.ID == v.ID })
	})
}

// valid checks that picks and edits answer conflicts, each once.
func (p Picks) valid(conflicts []Conflict) error {
	known := map[dhruva.ItemID]bool{PickAll: true}
	for _, c := range conflicts {
		known[c.ID] = true
	}
	for _, id := range slices.Sorted(maps.Keys(p.Picks)) {
		switch pick := p.Picks[id]; {
		case !known[id]:
			return fmt.Errorf("%w: there is no conflict of %q to pick for", dhruva.ErrInvalid, clip(string(id), 80))
		case pick != PickOurs && pick != PickTheirs && pick != PickBoth && pick != PickNeither:
			return fmt.Errorf("%w: pick %q; use ours, theirs, both or neither", dhruva.ErrInvalid, clip(pick, 80))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.Edits)) {
		_, picked := p.Picks[id]
		switch {
		case !known[id] || id == PickAll:
			return fmt.Errorf("%w: there is no conflict of %q to edit", dhruva.ErrInvalid, clip(string(id), 80))
		case picked:
			return fmt.Errorf("%w: both a pick and an edit for %q", dhruva.ErrInvalid, clip(string(id), 80))
		case strings.TrimSpace(p.Edits[id]) == "":
			return fmt.Errorf("%w: the edit for %q is blank; pick neither to have none", dhruva.ErrInvalid, clip(string(id), 80))
		}
	}
	return nil
}

// resolve does what a pick or an edit says; false when there is none.
func (m *threeWay) resolve(c Conflict, p Picks, fresh func() dhruva.ItemID) bool {
	if text, ok := p.Edits[c.ID]; ok {
		m.take(c.edited(text))
		return true
	}
	pick, ok := p.Picks[c.ID]
	if !ok {
		pick, ok = p.Picks[PickAll]
	}
	switch {
	case !ok:
		return false
	case pick == PickOurs:
		m.takeAll(c.Ours)
	case pick == PickTheirs:
		m.takeAll(c.Theirs)
	case pick == PickBoth:
		m.takeBoth(c, fresh)
	}
	return true
}

// edited is the item whose text a person has written.
func (c Conflict) edited(text string) dhruva.Item {
	out := slices.Concat(c.Ours, c.Theirs)[0]
	if out.ID, out.Text = c.ID, text; c.Kind != dhruva.KindArtifact {
		out.Text = strings.TrimSpace(text)
	}
	return out
}

func (m *threeWay) takeAll(items []dhruva.Item) {
	for _, i := range items {
		m.take(i)
	}
}

// takeBoth: a slot gets both texts; of two items of one id theirs gets a new one.
func (m *threeWay) takeBoth(c Conflict, fresh func() dhruva.ItemID) {
	if slot(c.Kind) && len(c.Ours)+len(c.Theirs) == 2 {
		one := c.Ours[0]
		one.ID, one.Text = c.ID, c.Ours[0].Text+"\n\n"+c.Theirs[0].Text
		m.take(one)
		return
	}
	m.takeAll(c.Ours)
	for _, i := range c.Theirs {
		if slices.ContainsFunc(c.Ours, func(o dhruva.Item) bool { return o.ID == i.ID }) {
			i.ID = fresh()
		}
		m.take(i)
	}
}
