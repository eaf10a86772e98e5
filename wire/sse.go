package wire

import "bytes"

// sse parses a server-sent event stream from pieces of any size. It accepts
// LF, CRLF and lone CR, comments, several data lines, a missing event name, and
// a last event without its blank line. The byte-order mark is gone before.
type sse struct {
	event func(name string, data []byte)
	limit int // bytes of one line or one event

	line    []byte // unfinished line
	data    []byte
	name    string
	hasData bool
	cr      bool // the last byte was CR: an LF now belongs to it
	over    bool // the limit was exceeded; nothing is parsed any more
}

// keepBuffer is how much buffer a stream holds between large events.
const keepBuffer = 8 << 10

func (s *sse) write(p []byte) {
	for len(p) > 0 && !s.over {
		if s.cr {
			s.cr = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		end := lineEnd(p)
		if end < 0 {
			s.hold(p)
			return
		}
		s.cr = p[end] == '\r'
		if len(s.line) == 0 {
			s.take(p[:end])
		} else if s.hold(p[:end]); !s.over {
			line := s.line
			s.line = s.line[:0]
			s.take(line)
			if cap(s.line) > keepBuffer {
				s.line = nil
			}
		}
		p = p[end+1:]
	}
}

// lineEnd finds the first CR or LF.
func lineEnd(p []byte) int {
	lf := bytes.IndexByte(p, '\n')
	if lf >= 0 {
		p = p[:lf]
	}
	if cr := bytes.IndexByte(p, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

func (s *sse) hold(p []byte) {
	if len(s.line)+len(p) > s.limit {
		s.stop()
		return
	}
	s.line = append(s.line, p...)
}

func (s *sse) stop() {
	s.over = true
	s.line, s.data = nil, nil
}

// take reads one whole line.
func (s *sse) take(line []byte) {
	if len(line) == 0 {
		s.dispatch()
		return
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		s.name = string(value[:min(len(value), 128)])
	case "data":
		s.add(value)
	}
}

func (s *sse) add(value []byte) {
	if len(s.data)+len(value)+1 > s.limit {
		s.stop()
		return
	}
	if s.hasData {
		s.data = append(s.data, '\n')
	}
	s.hasData = true
	s.data = append(s.data, value...)
}

func (s *sse) dispatch() {
	if s.hasData {
		s.event(s.name, s.data)
	}
	s.name, s.hasData, s.data = "", false, s.data[:0]
	if cap(s.data) > keepBuffer {
		s.data = nil
	}
}

// close handles what the stream left without a line end or a blank line.
func (s *sse) close() {
	if s.over {
		return
	}
	if len(s.line) > 0 {
		s.take(s.line)
	}
	if !s.over {
		s.dispatch()
	}
	s.line = nil
}
