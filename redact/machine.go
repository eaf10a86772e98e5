package redact

import "math"

// machine finds all occurrences of many words in one pass over a text,
// whatever the case of its letters (Aho and Corasick's automaton, as a table).
type machine struct {
	class   [256]uint8 // byte to column; 0: in no word
	columns int
	next    []uint32 // row of a state + column to the row of the next
	first   uint32   // rows from here on are of states that end words
	out     [][]int  // those words, by state
	size    []int    // the words' lengths
}

// newMachine takes lower-case ASCII words.
func newMachine(words []string) *machine {
	m := &machine{columns: 1}
	for _, w := range words {
		m.size = append(m.size, len(w))
		for i := range len(w) {
			if m.class[w[i]] == 0 {
				m.class[w[i]] = uint8(m.columns)
				m.columns++
			}
		}
	}
	for c := byte('A'); c <= 'Z'; c++ {
		m.class[c] = m.class[c+'a'-'A']
	}
	m.grow(words)
	m.link()
	m.order()
	return m
}

// grow makes the tree of the words; 0 in the table means no child yet.
func (m *machine) grow(words []string) {
	m.add()
	for id, w := range words {
		s := 0
		for i := range len(w) {
			at := s*m.columns + int(m.class[w[i]])
			if m.next[at] == 0 {
				child := uint32(m.add()) // moves the table
				m.next[at] = child
			}
			s = int(m.next[at])
		}
		m.out[s] = append(m.out[s], id)
	}
}

func (m *machine) add() int {
	m.next = append(m.next, make([]uint32, m.columns)...)
	m.out = append(m.out, nil)
	return len(m.out) - 1
}

// link completes the table, breadth first: where a state has no child, it goes
// where the longest suffix of what it stands for would.
func (m *machine) link() {
	fail := make([]int, len(m.out))
	var queue []int
	for c := range m.columns {
		if s := int(m.next[c]); s != 0 {
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		m.out[s] = append(m.out[s], m.out[fail[s]]...)
		for c := range m.columns {
			at, back := s*m.columns+c, int(m.next[fail[s]*m.columns+c])
			if child := int(m.next[at]); child != 0 {
				fail[child] = back
				queue = append(queue, child)
			} else {
				m.next[at] = uint32(back)
			}
		}
	}
}

// order numbers the states anew, those that end words last, and puts rows in
// place of numbers into the table. A table that would not fit is a fault of the
// build: there are a few hundred words.
func (m *machine) order() {
	if len(m.next) > math.MaxUint32 {
		panic("redact: too many words")
	}
	number, n := make([]int, len(m.out)), 0
	for _, ends := range []bool{false, true} {
		if ends {
			m.first = uint32(n * m.columns)
		}
		for s, words := range m.out {
			if (words != nil) == ends {
				number[s] = n
				n++
			}
		}
	}
	next, out := make([]uint32, len(m.next)), make([][]int, len(m.out))
	for s := range m.out {
		out[number[s]] = m.out[s]
		for c := range m.columns {
			next[number[s]*m.columns+c] = uint32(number[m.next[s*m.columns+c]] * m.columns)
		}
	}
	m.next, m.out = next, out
}

// each calls fn for each occurrence of a word: its number, where it begins and
// ends.
func (m *machine) each(text string, fn func(word, from, to int)) {
	row, next, first := 0, m.next, int(m.first)
	for i := range len(text) {
		row = int(next[row+int(m.class[text[i]])])
		if row >= first {
			for _, word := range m.out[row/m.columns] {
				fn(word, i+1-m.size[word], i+1)
			}
		}
	}
}
