package remote

import "strings"

// thinkFilter removes the <think>…</think> section that some open models put
// in front of their answer, wherever the stream cuts it. Only a section at the
// very start goes: later ones are text about thinking.
type thinkFilter struct {
	state thinkState
	held  string
}

type thinkState int

const (
	thinkStart  thinkState = iota // nothing visible yet, maybe part of a tag
	thinkInside                   // dropping until the closing tag
	thinkAfter                    // dropping the white space behind it
	thinkPass                     // everything is visible
)

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// push takes a piece of the answer and returns what of it is visible.
func (f *thinkFilter) push(s string) string {
	if f.state == thinkPass {
		return s
	}
	f.held += s
	if f.state == thinkStart {
		f.open()
	}
	if f.state == thinkInside {
		f.close()
	}
	if f.state == thinkAfter {
		f.held = strings.TrimLeft(f.held, " \t\r\n")
		if f.held != "" {
			f.state = thinkPass
		}
	}
	if f.state == thinkPass {
		return f.rest()
	}
	return ""
}

// open decides whether the answer begins with a thinking section.
func (f *thinkFilter) open() {
	head := strings.TrimLeft(f.held, " \t\r\n")
	switch {
	case strings.HasPrefix(head, thinkOpen):
		f.state, f.held = thinkInside, head[len(thinkOpen):]
	case !strings.HasPrefix(thinkOpen, head):
		f.state = thinkPass
	}
}

// close drops what is thought, except a tail that may begin the closing tag.
func (f *thinkFilter) close() {
	if i := strings.Index(f.held, thinkClose); i >= 0 {
		f.state, f.held = thinkAfter, f.held[i+len(thinkClose):]
		return
	}
	f.held = f.held[max(0, len(f.held)-len(thinkClose)+1):]
}

// flush returns what was held back when the answer is over: white space or the
// beginning of a tag that never came. Unfinished thinking stays dropped.
func (f *thinkFilter) flush() string {
	if f.state != thinkStart {
		return ""
	}
	f.state = thinkPass
	return f.rest()
}

func (f *thinkFilter) rest() string {
	out := f.held
	f.held = ""
	return out
}
