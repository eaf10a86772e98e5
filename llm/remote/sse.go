package remote

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxEvent bounds one event. A final event may repeat a whole answer, so the
// bound is far above any of them and only stops a runaway.
const maxEvent = 64 << 20

var errEventTooLarge = errors.New("an event exceeds the limit")

// event is one server-sent event that carries data.
type event struct {
	name string
	data []byte
}

// eventReader reads server-sent events: LF, CRLF or lone CR line ends, an
// optional byte order mark, comments, several data lines in one event, events
// of any size up to maxEvent, and a last event that no blank line follows.
type eventReader struct {
	br      *bufio.Reader
	started bool
	skipLF  bool // the last line ended in CR: a LF that follows belongs to it
	line    []byte
}

func newEventReader(r io.Reader) *eventReader {
	return &eventReader{br: bufio.NewReaderSize(r, 8<<10)}
}

// next returns the next event that has data. At the end of the stream it
// returns what was left and then io.EOF; a broken stream gives its error and
// drops the unfinished event.
func (r *eventReader) next() (event, error) {
	var ev event
	var has bool
	for {
		line, err := r.readLine()
		if err != nil && err != io.EOF {
			return event{}, err
		}
		has = ev.field(line) || has
		if len(ev.data) > maxEvent {
			return event{}, errEventTooLarge
		}
		switch {
		case len(line) == 0 && has, err == io.EOF && has:
			return ev, nil
		case err == io.EOF:
			return event{}, io.EOF
		case len(line) == 0:
			ev = event{} // a name without data is dropped
		}
	}
}

// field takes in one line and reports whether it was data.
func (ev *event) field(line []byte) bool {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		ev.name = string(value)
	case "data":
		if ev.data != nil {
			ev.data = append(ev.data, '\n')
		} else {
			ev.data = []byte{}
		}
		ev.data = append(ev.data, value...)
		return true
	}
	return false
}

// readLine returns a line without its end. The bytes are valid until the next
// call. At the end of the stream it returns the rest with io.EOF.
//
// It never waits for the byte after a CR: that byte may come much later, and
// the line is complete without it.
func (r *eventReader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		if _, err := r.br.Peek(1); err != nil {
			return r.strip(), err
		}
		chunk, _ := r.br.Peek(r.br.Buffered()) // buffered bytes are always there
		if r.skipLF {
			r.skipLF = false
			if chunk[0] == '\n' {
				r.drop(1)
				continue
			}
		}
		end := bytes.IndexAny(chunk, "\r\n")
		if end < 0 {
			r.line = append(r.line, chunk...)
			r.drop(len(chunk))
			if len(r.line) > maxEvent {
				return nil, errEventTooLarge
			}
			continue
		}
		r.line = append(r.line, chunk[:end]...)
		r.skipLF = chunk[end] == '\r'
		r.drop(end + 1)
		return r.strip(), nil
	}
}

// drop discards bytes that are known to be buffered.
func (r *eventReader) drop(n int) {
	if _, err := r.br.Discard(n); err != nil {
		panic(err)
	}
}

// strip removes the byte order mark of the first line.
func (r *eventReader) strip() []byte {
	if !r.started {
		r.started = true
		return bytes.TrimPrefix(r.line, []byte("\uFEFF"))
	}
	return r.line
}
