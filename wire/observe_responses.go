package wire

import (
	"slices"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// Observe looks at a Responses answer.
func (d responses) Observe(contentType, contentEncoding string) Observer {
	return newObserver(d.limits, newResponsesSink(d.limits), contentType, contentEncoding)
}

// maxItems bounds the output items of one answer.
const maxItems = 4096

// responsesSink collects output_text of assistant message items, by output
// index and content index.
type responsesSink struct {
	limit    int
	items    map[int]*seenItem
	texts    int
	cut      bool
	id       string
	reason   string
	terminal dhruva.Terminal
	in, out  int
}

// seenItem is one output item. speaks is set for assistant messages only.
type seenItem struct {
	speaks     bool
	commentary bool
	call       bool
	parts      map[int]*speech
	prints     []string
}

// responsesEvent is one event as scanned.
type responsesEvent struct {
	typ, delta, text span
	output, content  int
	item             itemView
	response         responseView
}

type responseView struct {
	id, status, object, reason span
	failed                     bool
	output                     []itemView
	in, out                    int
}

type itemView struct {
	typ, role, phase, id, callID, sealed span
	content                              []seenPart
}

func newResponsesSink(limits Limits) *responsesSink {
	return &responsesSink{limit: limits.Capture, items: map[int]*seenItem{}}
}

func (s *responsesSink) event(name string, data []byte) {
	sc := eventScanner(data)
	e, err := sc.responsesEvent()
	if err != nil {
		return
	}
	if typ := sc.str(e.typ); typ != "" {
		name = typ
	}
	switch name {
	case "response.created", "response.in_progress", "response.queued":
		s.id = sc.str(e.response.id)
	case "response.output_item.added", "response.output_item.done":
		s.item(sc, e.output, &e.item)
	case "response.output_text.delta":
		if c := s.part(e.output, e.content); c != nil && e.delta.ok() {
			c.literal(e.delta.of(sc.b))
		}
	case "response.output_text.done":
		if c := s.part(e.output, e.content); c != nil && e.text.ok() {
			c.reset()
			c.add(sc.str(e.text))
		}
	case "response.completed":
		s.whole(sc, &e.response, dhruva.TerminalCompleted)
	case "response.incomplete":
		s.whole(sc, &e.response, dhruva.TerminalIncomplete)
	case "response.failed":
		s.whole(sc, &e.response, dhruva.TerminalFailed)
	case "error":
		s.terminal = dhruva.TerminalFailed
	}
}

func (s *responsesSink) document(data []byte) {
	sc := eventScanner(data)
	var v responseView
	err := sc.fields(func(name []byte) error { return sc.responseMember(&v, name) })
	if err != nil || sc.end() != nil {
		return
	}
	terminal := dhruva.TerminalCompleted
	switch status := sc.str(v.status); {
	case v.failed || status == "failed" || sc.str(v.object) != "response":
		terminal = dhruva.TerminalFailed
	case status == "incomplete" || status == "cancelled":
		terminal = dhruva.TerminalIncomplete
	case status == "queued" || status == "in_progress":
		terminal = dhruva.TerminalAcceptedBackground
	}
	s.whole(sc, &v, terminal)
}

// whole takes a response object at the end. Its output wins over what the
// deltas gave, unless it is empty, as some gateways leave it.
func (s *responsesSink) whole(sc *scanner, v *responseView, terminal dhruva.Terminal) {
	s.terminal = terminal
	if id := sc.str(v.id); id != "" {
		s.id = id
	}
	s.reason = sc.str(v.reason)
	if s.reason == "" {
		s.reason = sc.str(v.status)
	}
	if v.in > 0 || v.out > 0 {
		s.in, s.out = v.in, v.out
	}
	if len(v.output) == 0 {
		return
	}
	s.items, s.texts = map[int]*seenItem{}, 0
	for i := range v.output {
		s.item(sc, i, &v.output[i])
	}
}

// item opens or replaces an item. Content that is already there replaces the
// deltas; an item without content keeps them.
func (s *responsesSink) item(sc *scanner, index int, v *itemView) {
	it := s.items[index]
	if it == nil {
		if len(s.items) >= maxItems {
			s.cut = true
			return
		}
		it = &seenItem{parts: map[int]*speech{}}
		s.items[index] = it
	}
	typ := sc.str(v.typ)
	it.speaks = typ == "message" && sc.str(v.role) == "assistant"
	it.commentary = sc.str(v.phase) == "commentary"
	it.call = waitsForClient(typ)
	switch {
	case typ == "reasoning":
		it.prints = reasoningPrints(sc.str(v.sealed), sc.str(v.id))
	case strings.HasSuffix(typ, "_call"), typ == "mcp_approval_request":
		it.prints = callPrints(sc.str(v.callID), sc.str(v.id))
	}
	for i, part := range v.content {
		if sc.str(part.typ) != "output_text" || !part.text.ok() {
			continue
		}
		if c := s.part(index, i); c != nil {
			c.reset()
			c.add(sc.str(part.text))
		}
	}
}

// part returns where the text of a content part goes, or nil when the item is
// not known to be the assistant speaking.
func (s *responsesSink) part(output, content int) *speech {
	it := s.items[output]
	if it == nil || !it.speaks {
		return nil
	}
	c := it.parts[content]
	if c == nil {
		if s.texts >= maxTexts {
			s.cut = true
			return nil
		}
		s.texts++
		c = newSpeech(s.limit)
		it.parts[content] = c
	}
	return c
}

func (s *responsesSink) finish() dhruva.Observation {
	out := capture{limit: s.limit}
	var prints []string
	calls := false
	for _, index := range sortedKeys(s.items) {
		it := s.items[index]
		calls = calls || it.call
		texts := s.itemTexts(it)
		own := it.prints
		if it.speaks {
			own = textFingerprint(cleanAssistant(strings.Join(texts, "")))
		}
		for _, print := range own {
			if len(prints) < maxPrints && !slices.Contains(prints, print) {
				prints = append(prints, print)
			}
		}
		if it.commentary {
			continue
		}
		for _, text := range texts {
			if text != "" && out.total > 0 {
				out.add("\n")
			}
			out.add(text)
		}
	}
	text, cut := out.text()
	return dhruva.Observation{
		Text: text, Interim: calls && text != "",
		Truncated: cut || s.cut || s.reason == "max_output_tokens",
		Terminal:  s.terminal, FinishReason: s.reason, ResponseID: s.id,
		InputTokens: s.in, OutputTokens: s.out, Fingerprints: prints,
	}
}

func (s *responsesSink) itemTexts(it *seenItem) []string {
	var texts []string
	for _, index := range sortedKeys(it.parts) {
		c := it.parts[index]
		text, cut := c.text()
		s.cut = s.cut || cut
		texts = append(texts, text)
	}
	return texts
}

func sortedKeys[V any](m map[int]V) []int {
	keys := make([]int, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (s *scanner) responsesEvent() (e responsesEvent, err error) {
	err = s.fields(func(name []byte) (err error) {
		switch string(name) {
		case "type":
			e.typ, err = s.maybeText()
		case "output_index":
			e.output, err = s.count()
		case "content_index":
			e.content, err = s.count()
		case "delta":
			e.delta, err = s.maybeText()
		case "text":
			e.text, err = s.maybeText()
		case "item":
			e.item, err = s.itemView()
		case "response":
			err = s.fields(func(name []byte) error { return s.responseMember(&e.response, name) })
		default:
			err = s.skip()
		}
		return err
	})
	if err == nil {
		err = s.end()
	}
	return e, err
}

func (s *scanner) responseMember(v *responseView, name []byte) (err error) {
	switch string(name) {
	case "id":
		v.id, err = s.maybeText()
	case "object":
		v.object, err = s.maybeText()
	case "status":
		v.status, err = s.maybeText()
	case "error":
		v.failed, err = s.truthy()
	case "incomplete_details":
		err = s.fields(func(name []byte) (err error) {
			if string(name) == "reason" {
				v.reason, err = s.maybeText()
				return err
			}
			return s.skip()
		})
	case "output":
		err = s.elements(func() error {
			item, err := s.itemView()
			if err == nil && len(v.output) < maxItems {
				v.output = append(v.output, item)
			}
			return err
		})
	case "usage":
		err = s.fields(func(name []byte) (err error) {
			switch string(name) {
			case "input_tokens":
				v.in, err = s.count()
			case "output_tokens":
				v.out, err = s.count()
			default:
				err = s.skip()
			}
			return err
		})
	default:
		err = s.skip()
	}
	return err
}

func (s *scanner) itemView() (v itemView, err error) {
	err = s.fields(func(name []byte) (err error) {
		switch string(name) {
		case "type":
			v.typ, err = s.maybeText()
		case "role":
			v.role, err = s.maybeText()
		case "phase":
			v.phase, err = s.maybeText()
		case "id":
			v.id, err = s.maybeText()
		case "call_id":
			v.callID, err = s.maybeText()
		case "encrypted_content":
			v.sealed, err = s.maybeText()
		case "content":
			err = s.elements(func() error {
				part, err := s.textPart()
				if err == nil && len(v.content) < 1024 {
					v.content = append(v.content, part)
				}
				return err
			})
		default:
			err = s.skip()
		}
		return err
	})
	return v, err
}
