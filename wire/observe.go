package wire

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// sink collects what one dialect says in an answer.
type sink interface {
	// event takes one server-sent event.
	event(name string, data []byte)
	// document takes a whole JSON answer.
	document(data []byte)
	// finish says what was seen. Terminal is empty when no end was seen.
	finish() dhruva.Observation
}

// observer turns pieces of a raw answer into events or one document. The first
// byte that says something decides which, because some providers answer JSON
// where a stream was asked for; the content type decides for an empty answer.
type observer struct {
	limits  Limits
	sink    sink
	codings []string // to undo, outermost first
	packed  []byte   // the compressed copy, decoded at Close

	sse      sse
	begun    bool
	streamed bool
	document []byte
	over     bool
}

func newObserver(limits Limits, s sink, contentType, contentEncoding string) Observer {
	o := &observer{limits: limits, sink: s}
	o.streamed = strings.Contains(strings.ToLower(contentType), "event-stream")
	o.sse = sse{event: s.event, limit: limits.Event}
	codings, err := splitCodings(contentEncoding)
	o.codings, o.over = codings, err != nil
	return o
}

func (o *observer) Write(p []byte) (n int, err error) {
	n = len(p)
	// A defect of ours while looking must not reach the relay.
	defer func() {
		if recover() != nil {
			o.stop()
		}
	}()
	switch {
	case o.over:
	case len(o.codings) > 0:
		o.pack(p)
	default:
		o.feed(p)
	}
	return n, nil
}

func (o *observer) stop() {
	o.over = true
	o.packed, o.document = nil, nil
	o.sse.stop()
}

func (o *observer) pack(p []byte) {
	if len(o.packed)+len(p) > o.limits.Event {
		o.stop()
		return
	}
	o.packed = append(o.packed, p...)
}

// feed takes plain bytes.
func (o *observer) feed(p []byte) {
	if !o.begun {
		for len(p) > 0 && leading(p[0]) {
			p = p[1:]
		}
		if len(p) == 0 {
			return
		}
		o.begun = true
		o.streamed = p[0] != '{' && p[0] != '['
	}
	if o.streamed {
		o.sse.write(p)
		o.over = o.over || o.sse.over
		return
	}
	if len(o.document)+len(p) > o.limits.Event {
		o.stop()
		return
	}
	o.document = append(o.document, p...)
}

// leading reports a byte of white space or of a byte-order mark.
func leading(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF:
		return true
	}
	return false
}

func (o *observer) Close() (seen dhruva.Observation) {
	defer func() {
		if recover() != nil {
			seen = dhruva.Observation{Overflow: true}
		}
	}()
	return o.conclude()
}

// conclude is Close without its guard.
func (o *observer) conclude() (seen dhruva.Observation) {
	if !o.over && len(o.codings) > 0 {
		o.unpack()
	}
	if !o.over {
		if o.streamed {
			o.sse.close()
			o.over = o.sse.over
		} else if len(o.document) > 0 {
			o.sink.document(o.document)
		}
	}
	seen = o.sink.finish()
	if text, found := strip(notAssistant, seen.Text); found != 0 {
		seen.Text = strings.TrimRight(text, " \t\r\n")
	}
	seen.FinishReason, seen.ResponseID = clip(seen.FinishReason), clip(seen.ResponseID)
	seen.Overflow = o.over
	if seen.Terminal == "" && !o.over {
		seen.Terminal = dhruva.TerminalUpstreamCut
	}
	o.document = nil
	return seen
}

// clip bounds a label of the provider's, which goes into receipts.
func clip(label string) string {
	if len(label) > maxLabel {
		label = strings.Clone(label[:maxLabel])
	}
	return strings.ToValidUTF8(label, "")
}

const maxLabel = 200

// unpackFactor bounds, in events, how much a compressed answer may decode to.
const unpackFactor = 8

// unpack decodes the compressed copy. What decodes before an error counts: a
// stream that was cut still shows its beginning.
func (o *observer) unpack() {
	r, closeAll, err := decoders(o.codings, bytes.NewReader(o.packed))
	if err != nil {
		if len(o.packed) > 0 {
			o.stop()
		}
		return
	}
	defer closeAll()
	buf := make([]byte, 32<<10)
	for total := 0; !o.over; {
		n, err := r.Read(buf)
		if total += n; total > unpackFactor*o.limits.Event {
			o.stop()
			return
		}
		o.feed(buf[:n])
		if err != nil {
			break
		}
	}
	o.packed = nil
}

// eventScanner reads one event or document strictly.
func eventScanner(data []byte) *scanner { return &scanner{b: data, maxDepth: 512} }

// str decodes a literal.
func (s *scanner) str(lit span) string { return decodeLiteral(s.b, lit) }

// count reads a number of tokens; anything else is 0.
func (s *scanner) count() (int, error) {
	v, err := s.raw()
	n, numErr := strconv.Atoi(string(v.of(s.b)))
	if numErr != nil || n < 0 {
		n = 0
	}
	return n, err
}

// truthy passes over a value and reports whether a script would call it true.
func (s *scanner) truthy() (bool, error) {
	v, err := s.raw()
	switch string(v.of(s.b)) {
	case "null", "false", "0", `""`, "":
		return false, err
	}
	return true, err
}

// fields reads an object's members, or passes over anything that is no object.
func (s *scanner) fields(member func(name []byte) error) error {
	if s.peek() != '{' {
		return s.skip()
	}
	return s.object(member)
}

// elements reads an array's elements, or passes over anything else.
func (s *scanner) elements(element func() error) error {
	if s.peek() != '[' {
		return s.skip()
	}
	return s.array(element)
}
