package wire

// tagKind are the families of tags whose elements are taken out of text.
type tagKind uint8

const (
	kindBlock    tagKind = 1 << iota // our own memory block, or a look-alike
	kindScaffold                     // what harnesses put into user text
	kindThinking                     // inline reasoning of open models
)

// tagName is one element that is taken out. Letters are matched in any case.
type tagName struct {
	name string // in small letters
	kind tagKind
	// capitals: only when written so. People write <instructions> around words
	// of their own; only harnesses write <INSTRUCTIONS>.
	capitals bool
}

// tagNames are all elements; the first is ours, whose spellings isBlock knows.
var tagNames = [...]tagName{
	{name: "dhruva-memory", kind: kindBlock},
	{name: "system-reminder", kind: kindScaffold},
	{name: "command-name", kind: kindScaffold},
	{name: "command-message", kind: kindScaffold},
	{name: "command-args", kind: kindScaffold},
	{name: "local-command-stdout", kind: kindScaffold},
	{name: "local-command-stderr", kind: kindScaffold},
	{name: "local-command-caveat", kind: kindScaffold},
	{name: "bash-input", kind: kindScaffold},
	{name: "bash-stdout", kind: kindScaffold},
	{name: "bash-stderr", kind: kindScaffold},
	{name: "task-notification", kind: kindScaffold},
	{name: "environment_context", kind: kindScaffold},
	{name: "user_instructions", kind: kindScaffold},
	{name: "instructions", kind: kindScaffold, capitals: true},
	{name: "turn_aborted", kind: kindScaffold},
	{name: "user_shell_command", kind: kindScaffold},
	{name: "think", kind: kindThinking},
	{name: "thinking", kind: kindThinking},
	{name: "reasoning", kind: kindThinking},
	{name: "thought", kind: kindThinking},
}

const (
	blockTag   = 0  // of tagNames
	maxTagName = 24 // longer than any name
	maxTagLead = 64 // white space and slashes between '<' and the name
	// tagWindow holds any candidate that is not decided yet.
	tagWindow = 1 + maxTagLead + maxTagName
)

// tagScan reads a candidate for a tag rune by rune, from behind its '<': white
// space and slashes in any order (one slash makes it a closing tag), then the
// name. What follows the name, attributes and all, is not its business. The
// zero tagScan of some kinds is ready.
type tagScan struct {
	kinds   tagKind
	closing bool
	small   bool // a small letter was seen
	lead    int
	n       int
	name    [maxTagName]byte
}

type verdict uint8

const (
	tagMore   verdict = iota // undecided
	tagNone                  // not a tag; the rune is not part of it
	tagBefore                // a tag whose name ended before the rune
	tagHere                  // a tag whose name ended with the rune
)

// textEnd stands for the end of the text in step.
const textEnd rune = -1

// step takes the next rune. For tagBefore and tagHere tag is the index of the
// name.
func (s *tagScan) step(r rune) (v verdict, tag int) {
	switch {
	case s.n == 0 && (r == '/' || spaceRune(r)):
		s.closing = s.closing || r == '/'
		if s.lead++; s.lead > maxTagLead {
			return tagNone, 0
		}
		return tagMore, 0
	case nameRune(r) && s.n == maxTagName:
		return tagNone, 0
	case nameRune(r):
		s.add(byte(r))
		if s.kinds&kindBlock != 0 && isBlock(s.name[:s.n]) {
			return tagHere, blockTag
		}
		return tagMore, 0
	case s.kinds&kindBlock != 0 && string(s.name[:s.n]) == "dhruva" && spaceRune(r):
		s.add('-')
		return tagMore, 0
	}
	if tag := s.find(); tag >= 0 {
		return tagBefore, tag
	}
	return tagNone, 0
}

func (s *tagScan) add(c byte) {
	switch {
	case c >= 'A' && c <= 'Z':
		c += 'a' - 'A'
	case c >= 'a' && c <= 'z':
		s.small = true
	}
	s.name[s.n] = c
	s.n++
}

// find returns the index of the name that was read, -1 if it is none of ours.
func (s *tagScan) find() int {
	for i := range tagNames {
		t := &tagNames[i]
		if t.kind&s.kinds&^kindBlock != 0 && string(s.name[:s.n]) == t.name && !(t.capitals && s.small) {
			return i
		}
	}
	return -1
}

// isBlock reports the name of our block, in small letters: with a hyphen, an
// underscore, white space (which add turned into a hyphen) or nothing between
// its words. Whatever follows it, it is taken for ours: "dhruva-memoryx" is.
func isBlock(name []byte) bool {
	switch string(name) {
	case "dhruva-memory", "dhruva_memory", "dhruvamemory":
		return true
	}
	return false
}

// spaceRune is white space of ASCII. The renderer of blocks breaks every tag
// that is one here, so this may not grow without it.
func spaceRune(r rune) bool {
	switch r {
	case ' ', '\t', '\n', '\v', '\f', '\r':
		return true
	}
	return false
}

func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}
