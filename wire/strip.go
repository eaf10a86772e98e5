package wire

import (
	"strings"
)

// scaffolds are the elements that harnesses put into user text. They are
// matched exactly as the harnesses write them.
var scaffolds = [...]string{
	"system-reminder", "command-name", "command-message", "command-args",
	"local-command-stdout", "local-command-stderr", "local-command-caveat",
	"environment_context", "user_instructions",
}

// StripScaffolding removes what a harness, not a person, put into user text:
// whole <system-reminder>, slash-command, <environment_context> and
// <user_instructions> elements. An element that is not closed stays. It takes
// linear time.
func StripScaffolding(text string) string {
	if !strings.Contains(text, "<") {
		return text
	}
	var out strings.Builder
	var open [len(scaffolds)]bool // no closing tag from here on
	rest := text
	for {
		at, end, tag := nextScaffold(rest, &open)
		if tag < 0 {
			break
		}
		out.WriteString(rest[:at])
		rest = rest[end:]
	}
	if out.Len() == 0 && len(rest) == len(text) {
		return text
	}
	out.WriteString(rest)
	return out.String()
}

// nextScaffold finds the first closed element in text.
func nextScaffold(text string, open *[len(scaffolds)]bool) (start, end, tag int) {
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '<')
		if i < 0 {
			return 0, 0, -1
		}
		at += i
		for tag, name := range scaffolds {
			after, ok := strings.CutPrefix(text[at+1:], name)
			if !ok || !strings.HasPrefix(after, ">") || open[tag] {
				continue
			}
			closing := "</" + name + ">"
			j := strings.Index(after, closing)
			if j < 0 {
				open[tag] = true
				continue
			}
			return at, len(text) - len(after) + j + len(closing), tag
		}
		at++
	}
}

const blockName = "dhruva-memory"

// StripBlocks takes our own memory blocks out of a text, and everything that
// looks like one: from an opening tag, whatever its attributes and case, to its
// closing tag, counting nested ones, or to the end of the text. Whether a block
// is genuine is for the caller to check; it is removed either way, so that a
// forged one is never treated as ours and never stored. The blocks come back in
// order. White space around a block at the end of the text goes with it.
func StripBlocks(text string) (clean string, blocks []string) {
	start := blockTag(text, 0, false)
	if start < 0 {
		return text, nil
	}
	var out strings.Builder
	from := 0
	for start >= 0 {
		end := blockEnd(text, start)
		appendApart(&out, text[from:start])
		blocks = append(blocks, text[start:end])
		from = end
		start = blockTag(text, from, false)
	}
	appendApart(&out, text[from:])
	return strings.TrimRight(out.String(), " \t\r\n"), blocks
}

// appendApart keeps the pieces around a removed block on lines of their own,
// so that they cannot join into a new tag.
func appendApart(out *strings.Builder, piece string) {
	if out.Len() > 0 && strings.TrimSpace(piece) != "" && !strings.HasPrefix(piece, "\n") {
		out.WriteByte('\n')
	}
	out.WriteString(piece)
}

// blockEnd returns where the block that opens at start ends.
func blockEnd(text string, start int) int {
	depth, at := 1, start+1
	closing := blockTag(text, at, true)
	opening := blockTag(text, at, false)
	for closing >= 0 {
		if opening >= 0 && opening < closing {
			depth++
			opening = blockTag(text, opening+1, false)
			continue
		}
		if depth--; depth == 0 {
			if i := strings.IndexByte(text[closing:], '>'); i >= 0 {
				return closing + i + 1
			}
			return len(text)
		}
		closing = blockTag(text, closing+1, true)
	}
	return len(text)
}

// blockTag finds the next opening or closing look-alike tag at or after from:
// '<', spaces, for a closing one '/', spaces, and the name in any case, with a
// hyphen or an underscore. -1 means there is none.
func blockTag(text string, from int, closing bool) int {
	for at := from; ; at++ {
		i := strings.IndexByte(text[min(at, len(text)):], '<')
		if i < 0 {
			return -1
		}
		at += i
		rest := strings.TrimLeft(text[at+1:min(len(text), at+64)], " \t\r\n")
		slashed, ok := strings.CutPrefix(rest, "/")
		if ok {
			rest = strings.TrimLeft(slashed, " \t\r\n")
		}
		if ok == closing && hasBlockName(rest) {
			return at
		}
	}
}

func hasBlockName(s string) bool {
	if len(s) < len(blockName) {
		return false
	}
	s = s[:len(blockName)]
	return strings.EqualFold(strings.Replace(s, "_", "-", 1), blockName)
}

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// thinkFilter passes on the text outside <think>…</think>, fed in any pieces.
// Some models open their reasoning in the prompt, so that an answer begins
// inside it: a closing tag that was never opened drops everything before it.
type thinkFilter struct {
	emit    func(string)
	reset   func()
	held    string // may be the start of a tag
	inside  bool
	touched bool // an opening tag was seen
}

func (f *thinkFilter) add(s string) {
	s = f.held + s
	f.held = ""
	for {
		at, tag := f.next(s)
		if tag == "" {
			keep := partialTag(s)
			if !f.inside {
				f.emit(s[:len(s)-keep])
			}
			f.held = s[len(s)-keep:]
			return
		}
		switch {
		case tag == thinkOpen:
			f.emit(s[:at])
			f.inside, f.touched = true, true
		case f.inside:
			f.inside = false
		case !f.touched:
			f.reset()
			f.touched = true
		default:
			f.emit(s[:at]) // a stray tag later on: only the tag goes
		}
		s = s[at+len(tag):]
	}
}

// next finds the first tag that matters in the present state.
func (f *thinkFilter) next(s string) (int, string) {
	for at := 0; ; at++ {
		i := strings.IndexByte(s[at:], '<')
		if i < 0 {
			return 0, ""
		}
		at += i
		switch {
		case strings.HasPrefix(s[at:], thinkClose):
			return at, thinkClose
		case !f.inside && strings.HasPrefix(s[at:], thinkOpen):
			return at, thinkOpen
		}
	}
}

// close passes on what was held back.
func (f *thinkFilter) close() {
	if !f.inside {
		f.emit(f.held)
	}
	f.held = ""
}

// partialTag returns how many bytes at the end of s may begin a tag.
func partialTag(s string) int {
	for n := min(len(s), len(thinkClose)-1); n > 0; n-- {
		tail := s[len(s)-n:]
		if strings.HasPrefix(thinkOpen, tail) || strings.HasPrefix(thinkClose, tail) {
			return n
		}
	}
	return 0
}

// stripThinking is thinkFilter over a whole text.
func stripThinking(text string) string {
	if !strings.Contains(text, "think>") {
		return text
	}
	var out strings.Builder
	f := thinkFilter{emit: func(s string) { out.WriteString(s) }, reset: out.Reset}
	f.add(text)
	f.close()
	return out.String()
}
