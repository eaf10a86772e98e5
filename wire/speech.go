package wire

import "strings"

// speech keeps the visible text of an answer that comes in pieces: a capture
// behind a filter for inline reasoning, which is never kept, however the pieces
// cut its tags.
type speech struct {
	kept   capture
	filter stripper
}

func newSpeech(limit int) *speech {
	s := &speech{kept: capture{limit: limit}}
	s.reset()
	return s
}

// reset forgets everything, for a text that is sent again as a whole.
func (s *speech) reset() {
	s.kept.reset()
	s.filter = stripper{kinds: kindThinking, stream: true}
}

// literal adds a string literal of a text that comes in several.
func (s *speech) literal(lit []byte) { s.add(s.kept.unescape(lit)) }

func (s *speech) add(text string) {
	s.filter.write(text)
	if s.filter.dropped {
		s.filter.dropped = false
		s.kept = capture{limit: s.kept.limit, pending: s.kept.pending}
	}
	s.kept.add(s.filter.flush())
}

// text ends the speech: what was kept, and whether something was left out.
func (s *speech) text() (text string, cut bool) {
	s.add(s.kept.flush())
	s.filter.end()
	s.filter.live = false
	s.add("")
	text, cut = s.kept.text()
	if s.filter.found != 0 { // the line between reasoning and answer
		text = strings.TrimLeft(text, " \t\r\n")
	}
	return text, cut
}
