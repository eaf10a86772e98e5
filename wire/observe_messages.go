package wire

import (
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// Observe looks at a Messages answer.
func (d messages) Observe(contentType, contentEncoding string) Observer {
	s := &messagesSink{limit: d.limits.Capture, blocks: map[int]*seenBlock{}}
	return newObserver(d.limits, s, contentType, contentEncoding)
}

// maxTexts bounds the separate texts of one answer.
const maxTexts = 128

// messagesSink collects the text blocks of an answer.
type messagesSink struct {
	limit        int
	blocks       map[int]*seenBlock
	texts        int
	cut          bool
	id, stop     string
	in, out      int
	failed, done bool
}

// seenBlock is one content block. text is set for text blocks only, so that a
// text delta for any other block has nowhere to go.
type seenBlock struct {
	text  *speech
	kind  string // of the fingerprint
	print string
	call  bool
}

// messagesEvent is one event or answer as scanned.
type messagesEvent struct {
	typ, id, stop span
	index         int
	block         blockView
	blocks        []blockView
	delta         blockView
	usage         messagesUsage
}

type blockView struct{ typ, text, signature, data, id, stop span }

type messagesUsage struct{ in, created, read, out int }

func (s *messagesSink) event(name string, data []byte) {
	sc := eventScanner(data)
	e, err := sc.messagesEvent()
	if err != nil {
		return
	}
	if typ := sc.str(e.typ); typ != "" {
		name = typ
	}
	switch name {
	case "message_start":
		s.id = sc.str(e.id)
		s.all(sc, e.blocks)
		s.usage(e.usage)
	case "content_block_start":
		s.open(sc, e.index, &e.block)
	case "content_block_delta":
		s.delta(sc, s.blocks[e.index], &e.delta)
	case "message_delta":
		if stop := sc.str(e.delta.stop); stop != "" {
			s.stop = stop
		}
		s.usage(e.usage)
	case "message_stop":
		s.done = true
	case "error":
		s.failed = true
	}
}

func (s *messagesSink) document(data []byte) {
	sc := eventScanner(data)
	e, err := sc.messagesEvent()
	if err != nil {
		return
	}
	if sc.str(e.typ) != "message" {
		s.failed = true
		return
	}
	s.id, s.stop, s.done = sc.str(e.id), sc.str(e.stop), true
	s.all(sc, e.blocks)
	s.usage(e.usage)
}

func (s *messagesSink) all(sc *scanner, blocks []blockView) {
	for i := range blocks {
		s.open(sc, i, &blocks[i])
	}
}

// usage takes the figures that are there; those of message_delta are
// cumulative and replace the first ones.
func (s *messagesSink) usage(u messagesUsage) {
	if in := u.in + u.created + u.read; in > 0 {
		s.in = in
	}
	if u.out > 0 {
		s.out = u.out
	}
}

func (s *messagesSink) open(sc *scanner, index int, v *blockView) {
	if len(s.blocks) >= 4096 {
		s.cut = true
		return
	}
	b := &seenBlock{}
	s.blocks[index] = b
	switch typ := sc.str(v.typ); {
	case typ == "text":
		if s.texts++; s.texts > maxTexts {
			s.cut = true
			return
		}
		b.text = newSpeech(s.limit)
		b.add(sc, v.text)
	case typ == "thinking":
		b.sign(printSig, sc.str(v.signature))
	case typ == "redacted_thinking":
		b.sign(printSig, sc.str(v.data))
	case strings.HasSuffix(typ, "tool_use"):
		b.call = typ == "tool_use"
		b.sign(printCall, sc.str(v.id))
	}
}

func (b *seenBlock) add(sc *scanner, lit span) {
	if b.text != nil && lit.ok() {
		b.text.literal(lit.of(sc.b))
	}
}

func (b *seenBlock) sign(kind, value string) {
	if value != "" {
		b.kind, b.print = kind, fingerprint(kind, value)
	}
}

func (s *messagesSink) delta(sc *scanner, b *seenBlock, v *blockView) {
	if b == nil {
		return
	}
	switch sc.str(v.typ) {
	case "text_delta":
		b.add(sc, v.text)
	case "signature_delta": // it replaces, as the clients do
		b.sign(printSig, sc.str(v.signature))
	}
}

func (s *messagesSink) finish() dhruva.Observation {
	out := capture{limit: s.limit}
	var raw strings.Builder
	var prints []string
	calls := false
	for _, index := range sortedKeys(s.blocks) {
		b := s.blocks[index]
		calls = calls || b.call
		if b.print != "" && len(prints) < maxPrints && !slices.Contains(prints, b.print) {
			prints = append(prints, b.print)
		}
		if b.text == nil {
			continue
		}
		text, cut := b.text.text()
		s.cut = s.cut || cut
		if text != "" && out.total > 0 {
			out.add("\n")
		}
		out.add(text)
		if raw.Len() < 4096 {
			raw.WriteString(text)
		}
	}
	text, cut := out.text()
	if len(prints) == 0 {
		prints = textFingerprint(cleanAssistant(raw.String()))
	}
	return dhruva.Observation{
		Text: text, Interim: text != "" && (calls || s.stop == "pause_turn"),
		Truncated: cut || s.cut || s.stop == "max_tokens" || s.stop == "model_context_window_exceeded",
		Terminal:  s.terminal(), FinishReason: s.stop, ResponseID: s.id,
		InputTokens: s.in, OutputTokens: s.out, Fingerprints: prints,
	}
}

func (s *messagesSink) terminal() dhruva.Terminal {
	switch {
	case s.failed:
		return dhruva.TerminalFailed
	case s.done && s.stop == "refusal":
		return dhruva.TerminalIncomplete
	case s.done:
		return dhruva.TerminalCompleted
	}
	return ""
}

func (s *scanner) messagesEvent() (e messagesEvent, err error) {
	err = s.fields(func(name []byte) (err error) {
		switch string(name) {
		case "type":
			e.typ, err = s.maybeText()
		case "index":
			e.index, err = s.count()
		case "message":
			err = s.fields(func(name []byte) error { return s.messagesMessage(&e, name) })
		case "content_block":
			e.block, err = s.blockView()
		case "delta":
			e.delta, err = s.blockView()
		default:
			err = s.messagesMessage(&e, name)
		}
		return err
	})
	if err == nil {
		err = s.end()
	}
	return e, err
}

// messagesMessage reads one member of a message, which is the whole answer or
// lies inside message_start. The type of the outer object stays.
func (s *scanner) messagesMessage(e *messagesEvent, name []byte) (err error) {
	switch string(name) {
	case "id":
		e.id, err = s.maybeText()
	case "stop_reason":
		e.stop, err = s.maybeText()
	case "content":
		err = s.elements(func() error {
			block, err := s.blockView()
			if err == nil && len(e.blocks) < 4096 {
				e.blocks = append(e.blocks, block)
			}
			return err
		})
	case "usage":
		e.usage, err = s.messagesUsage()
	default:
		err = s.skip()
	}
	return err
}

func (s *scanner) blockView() (v blockView, err error) {
	err = s.fields(func(name []byte) (err error) {
		switch string(name) {
		case "type":
			v.typ, err = s.maybeText()
		case "text":
			v.text, err = s.maybeText()
		case "signature":
			v.signature, err = s.maybeText()
		case "data":
			v.data, err = s.maybeText()
		case "id":
			v.id, err = s.maybeText()
		case "stop_reason":
			v.stop, err = s.maybeText()
		default:
			err = s.skip()
		}
		return err
	})
	return v, err
}

func (s *scanner) messagesUsage() (u messagesUsage, err error) {
	err = s.fields(func(name []byte) (err error) {
		switch string(name) {
		case "input_tokens":
			u.in, err = s.count()
		case "cache_creation_input_tokens":
			u.created, err = s.count()
		case "cache_read_input_tokens":
			u.read, err = s.count()
		case "output_tokens":
			u.out, err = s.count()
		default:
			err = s.skip()
		}
		return err
	})
	return u, err
}
