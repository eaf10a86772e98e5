package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/dhruva-memory/dhruva"
)

// form is the shape of a message's content.
type form uint8

const (
	formNone   form = iota // absent or null
	formString             // one string
	formArray              // a list of parts
	formOther              // anything else
)

// marks are non-empty members of a message that decide what it is.
type marks uint16

const (
	markUnknown   marks = 1 << iota // a name this package does not know
	markThinking                    // reasoning beside content
	markCalls                       // tool_calls or function_call
	markRefusal                     // refusal
	markRich                        // audio, annotations and the like
	markNotObject                   // not an object at all
)

// rawMessage is one message or item as scanned, before a dialect reads it.
type rawMessage struct {
	span
	role, typ, id, callID, sealed span // literals
	phase                         span
	content                       span // the literal when form is formString
	form                          form
	marks                         marks
	tally                         tally
	breakpoints                   int
}

// rawPart is one content part or block as scanned.
type rawPart struct {
	span
	typ, text, id, sealed span // literals
	extra                 bool // a non-empty member that plain text does not have
}

// maxParts bounds the parts and the calls of one message.
const maxParts = 100_000

// rule reads one scanned message into its projection. raw, and the parser's
// parts and calls, are valid during the call only.
type rule func(p *parser, raw *rawMessage, m *dhruva.Message, a *anchor)

// projected is a list of messages as projected.
type projected struct {
	messages []dhruva.Message
	anchors  []anchor
}

// parser scans a whole request body.
type parser struct {
	scanner
	limits Limits

	model, stream, choices, maxTokens span
	state, background                 bool
	hasMessages, hasInput             bool
	messageRule                       rule // of messages; input is read by responsesItem
	messages, input                   projected
	reference                         bool   // an item of input stands for one at the provider
	system                            []span // literals of instructions, for shapes only
	rest                              tally  // system, tools and the like
	current                           rawMessage
	parts                             []rawPart
	calls                             []span // of the current message, as are parts
}

// deciding are the top-level names on which a decision is taken.
var deciding = [...]string{
	"model", "messages", "input", "stream", "system", "tools", "max_tokens",
	"max_completion_tokens", "max_output_tokens", "previous_response_id",
	"conversation", "thread", "instructions", "n", "background",
}

// decidingInside are the same for a message and for its parts.
var decidingInside = [...]string{"role", "content", "type", "text"}

// unique records name in seen and refuses a second or a respelled one.
func unique(names []string, seen *uint32, name []byte, where string) error {
	for i, want := range names {
		if string(name) == want {
			if *seen&(1<<i) != 0 {
				return fmt.Errorf("wire: %s has the key %q twice: %w", where, want, dhruva.ErrInvalid)
			}
			*seen |= 1 << i
			return nil
		}
	}
	for _, want := range names {
		// A folding rune takes at most two bytes more than the letter.
		if len(name) >= len(want) && len(name) <= 3*len(want) && bytes.EqualFold(name, []byte(want)) {
			return fmt.Errorf("wire: %s has the key %q, a variant spelling of %q: %w", where, name, want, dhruva.ErrInvalid)
		}
	}
	return nil
}

func scan(body []byte, limits Limits, messages rule) (*parser, error) {
	p := &parser{scanner: scanner{b: body, maxDepth: limits.Depth}, limits: limits, messageRule: messages}
	if p.peek() != '{' {
		return nil, p.fail("expected an object")
	}
	var seen uint32
	err := p.object(func(name []byte) error {
		if err := unique(deciding[:], &seen, name, "the request"); err != nil {
			return err
		}
		return p.member(name)
	})
	if err != nil {
		return nil, err
	}
	return p, p.end()
}

// member reads one top-level member, positioned at its value.
func (p *parser) member(name []byte) (err error) {
	before := p.tally
	counted := false
	switch string(name) {
	case "model":
		p.model, err = p.maybeText()
	case "messages":
		p.hasMessages = true
		err = p.list(&p.messages, p.messageRule)
	case "input":
		p.hasInput = p.peek() == '"' || p.peek() == '['
		err = p.inputs()
	case "stream":
		p.stream, err = p.raw()
	case "n":
		p.choices, err = p.raw()
	case "max_tokens", "max_completion_tokens", "max_output_tokens":
		p.maxTokens, err = p.raw()
	case "system", "instructions":
		counted = true
		err = p.instructions()
	case "tools", "functions":
		counted = true
		err = p.value(true)
	case "prompt":
		counted = true
		err = p.skip()
	case "previous_response_id", "conversation", "thread":
		err = p.set(&p.state)
	case "background":
		var v span
		v, err = p.raw()
		p.background = string(v.of(p.b)) == "true"
	case "cache_control":
		err = p.breakpoint()
	default:
		err = p.skip()
	}
	if counted {
		p.rest.add(p.tally.minus(before))
	}
	return err
}

// set raises flag when the value is there and not null.
func (p *parser) set(flag *bool) error {
	v, err := p.raw()
	if err == nil && p.b[v.start] != 'n' {
		*flag = true
	}
	return err
}

// breakpoint passes over the value of a cache_control.
func (p *parser) breakpoint() error {
	v, err := p.raw()
	if err == nil && !isEmpty(p.b, v) {
		p.breakpoints++
	}
	return err
}

// instructions passes over system text and notes where its strings stand.
func (p *parser) instructions() error {
	if p.peek() == '"' {
		lit, err := p.text()
		p.system = append(p.system, lit)
		return err
	}
	if p.peek() != '[' {
		return p.skip()
	}
	return p.array(func() error {
		if p.peek() != '{' {
			return p.skip()
		}
		return p.object(func(name []byte) error {
			switch {
			case string(name) == "text" && len(p.system) < 16:
				lit, err := p.maybeText()
				p.system = append(p.system, lit)
				return err
			case isBreakpoint(name):
				return p.breakpoint()
			}
			return p.skip()
		})
	})
}

// inputs reads the input of Responses: a string stands for one user message.
func (p *parser) inputs() error {
	if p.peek() != '"' {
		return p.list(&p.input, (*parser).responsesItem)
	}
	lit, t, _, err := p.literal()
	if err == nil {
		p.current = rawMessage{span: lit, content: lit, form: formString, tally: t}
		p.project(&p.current, &p.input, (*parser).responsesItem)
	}
	return err
}

// list reads messages or items. Anything but an array projects to nothing.
func (p *parser) list(into *projected, read rule) error {
	if p.peek() != '[' {
		return p.skip()
	}
	return p.array(func() error {
		if len(into.messages) >= p.limits.Messages {
			return fmt.Errorf("wire: the request has more than %d messages: %w", p.limits.Messages, dhruva.ErrTooLarge)
		}
		p.current = rawMessage{}
		if err := p.message(&p.current); err != nil {
			return err
		}
		p.project(&p.current, into, read)
		return nil
	})
}

// project adds a scanned message to a list.
func (p *parser) project(raw *rawMessage, into *projected, read rule) {
	if n := len(into.messages); n == cap(into.messages) { // append alone grows by a quarter
		into.messages = slices.Grow(into.messages, max(n, 4))
		into.anchors = slices.Grow(into.anchors, max(n, 4))
	}
	into.messages = append(into.messages, dhruva.Message{
		Start: raw.start, End: raw.end,
		Breakpoint: raw.breakpoints > 0,
		Estimate:   raw.tally.tokens() + dhruva.MessageOverhead,
		Protected:  raw.marks != 0 || raw.form == formOther,
		Thinking:   raw.marks&markThinking != 0,
		ToolCall:   raw.marks&markCalls != 0,
	})
	into.anchors = append(into.anchors, anchor{})
	last := len(into.messages) - 1
	read(p, raw, &into.messages[last], &into.anchors[last])
}

func (p *parser) message(m *rawMessage) (err error) {
	tally, breakpoints := p.tally, p.breakpoints
	m.start = p.pos
	p.parts, p.calls = p.parts[:0], p.calls[:0]
	if p.peek() == '{' {
		var seen uint32
		err = p.object(func(name []byte) error {
			if err := unique(decidingInside[:], &seen, name, "a message"); err != nil {
				return err
			}
			return p.messageMember(m, name)
		})
	} else {
		m.marks |= markNotObject
		err = p.skip()
	}
	m.end = p.pos
	m.tally = p.tally.minus(tally)
	m.breakpoints = p.breakpoints - breakpoints
	return err
}

func (p *parser) messageMember(m *rawMessage, name []byte) (err error) {
	switch string(name) {
	case "role":
		m.role, err = p.label()
	case "type":
		m.typ, err = p.label()
	case "id":
		m.id, err = p.label()
	case "call_id", "tool_call_id":
		m.callID, err = p.label()
	case "phase":
		m.phase, err = p.label()
	case "encrypted_content":
		m.sealed, err = p.label()
	case "content":
		err = p.content(m)
	case "name", "status", "summary", "output", "arguments":
		err = p.skip()
	case "input":
		err = p.value(true)
	case "tool_calls":
		err = p.toolCalls(m)
	case "function_call":
		err = p.mark(m, markCalls)
	case "refusal":
		err = p.mark(m, markRefusal)
	case "audio", "annotations":
		err = p.mark(m, markRich)
	case "reasoning_content", "reasoning", "reasoning_details", "thinking":
		err = p.mark(m, markThinking)
	default:
		if isBreakpoint(name) {
			return p.breakpoint()
		}
		err = p.mark(m, markUnknown)
	}
	return err
}

// label reads a short string that is not language.
func (p *parser) label() (span, error) {
	before := p.tally
	lit, err := p.maybeText()
	p.tally = before
	return lit, err
}

func (p *parser) mark(m *rawMessage, mark marks) error {
	v, err := p.raw()
	if err == nil && !isEmpty(p.b, v) {
		m.marks |= mark
	}
	return err
}

func (p *parser) toolCalls(m *rawMessage) error {
	if p.peek() != '[' {
		return p.mark(m, markCalls)
	}
	return p.array(func() error {
		m.marks |= markCalls
		if p.peek() != '{' {
			return p.skip()
		}
		return p.object(func(name []byte) error {
			if string(name) != "id" {
				return p.skip()
			}
			lit, err := p.label()
			if err == nil && len(p.calls) < maxParts {
				p.calls = append(p.calls, lit)
			}
			return err
		})
	})
}

func (p *parser) content(m *rawMessage) (err error) {
	switch p.peek() {
	case '"':
		m.form = formString
		m.content, err = p.text()
	case '[':
		m.form = formArray
		m.content.start = p.pos
		err = p.array(p.part)
		m.content.end = p.pos
	case 'n':
		err = p.skip()
	default:
		m.form = formOther
		err = p.skip()
	}
	return err
}

func (p *parser) part() error {
	if len(p.parts) >= maxParts {
		return fmt.Errorf("wire: a message has more than %d content parts: %w", maxParts, dhruva.ErrTooLarge)
	}
	part := rawPart{span: span{p.pos, p.pos}}
	var err error
	if p.peek() == '{' {
		err = p.partObject(&part)
	} else {
		part.extra = true
		err = p.skip()
	}
	part.end = p.pos
	p.parts = append(p.parts, part)
	return err
}

func (p *parser) partObject(part *rawPart) error {
	var seen uint32
	before := p.tally
	err := p.object(func(name []byte) error {
		if err := unique(decidingInside[:], &seen, name, "a content part"); err != nil {
			return err
		}
		return p.partMember(part, name)
	})
	if isImage(part.typ.of(p.b)) { // whatever strings an image holds, it counts as one
		p.tally = before
		p.tally.images++
	}
	return err
}

func (p *parser) partMember(part *rawPart, name []byte) (err error) {
	switch string(name) {
	case "type":
		part.typ, err = p.label()
	case "text":
		part.text, err = p.maybeText()
	case "id", "tool_use_id":
		part.id, err = p.label()
		part.extra = true
	case "signature", "data":
		part.sealed, err = p.label()
		part.extra = true
	case "input":
		part.extra = true
		err = p.value(true)
	default:
		if isBreakpoint(name) {
			return p.breakpoint()
		}
		before := p.tally
		var v span
		v, err = p.raw()
		if err == nil && !isEmpty(p.b, v) {
			part.extra = true
		}
		if isOpaque(name) {
			p.tally = before
		}
	}
	return err
}

// str decodes a literal; the zero span gives "".
func (p *parser) str(lit span) string { return decodeLiteral(p.b, lit) }

// is compares a label with a word that needs no escapes.
func (p *parser) is(lit span, word string) bool {
	if lit.end-lit.start < 2 {
		return false
	}
	inner := p.b[lit.start+1 : lit.end-1]
	return string(inner) == word || bytes.IndexByte(inner, '\\') >= 0 && p.str(lit) == word
}

// choicesAsked is n, at least 1.
func (p *parser) choicesAsked() int {
	n, err := strconv.Atoi(string(p.choices.of(p.b)))
	if err != nil || n < 1 {
		return 1
	}
	return n
}

// oneToken reports a request that asks for at most one token of answer.
func (p *parser) oneToken() bool {
	n, err := strconv.Atoi(string(p.maxTokens.of(p.b)))
	return err == nil && n <= 1
}
