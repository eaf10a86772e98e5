package wire

import (
	"bytes"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// Observe looks at a Chat answer; an answer of Responses shape on the Chat
// route is read as such.
func (d chat) Observe(contentType, contentEncoding string) Observer {
	s := &chatSink{responses: newResponsesSink(d.limits), text: newSpeech(d.limits.Capture)}
	return newObserver(d.limits, s, contentType, contentEncoding)
}

// chatSink collects content of choice 0.
type chatSink struct {
	text      *speech
	responses *responsesSink // for answers of that shape
	foreign   bool
	done      bool // [DONE]
	whole     bool // a whole JSON answer
	failed    bool
	calls     bool
	finished  string
	id        string
	in, out   int
	prints    []string
}

// chatChunk is one chunk or answer as scanned.
type chatChunk struct {
	id, typ, object span
	failed          bool
	choices         bool
	choice          chatChoice // choice 0
	in, out         int
}

type chatChoice struct {
	index  int
	texts  []span
	ids    []span
	calls  bool
	finish span
}

func (s *chatSink) event(name string, data []byte) {
	switch {
	case s.done || s.failed:
	case s.foreign:
		s.responses.event(name, data)
	case bytes.HasPrefix(data, []byte("[DONE]")):
		s.done = true
	default:
		s.take(name, data, false)
	}
}

func (s *chatSink) document(data []byte) { s.take("", data, true) }

func (s *chatSink) take(name string, data []byte, whole bool) {
	sc := eventScanner(data)
	c, err := sc.chatChunk()
	if err != nil {
		return
	}
	if strings.HasPrefix(sc.str(c.typ), "response.") || sc.str(c.object) == "response" {
		s.foreign = true
		if whole {
			s.responses.document(data)
		} else {
			s.responses.event(name, data)
		}
		return
	}
	s.failed = s.failed || c.failed || whole && !c.choices
	s.whole = s.whole || whole
	if s.id == "" {
		s.id = sc.str(c.id)
	}
	if c.in > 0 || c.out > 0 {
		s.in, s.out = c.in, c.out
	}
	s.choice(sc, &c.choice)
}

func (s *chatSink) choice(sc *scanner, c *chatChoice) {
	for _, lit := range c.texts {
		s.text.literal(lit.of(sc.b))
	}
	s.calls = s.calls || c.calls
	for _, lit := range c.ids {
		s.prints = addPrint(s.prints, printCall, sc.str(lit))
	}
	if reason := sc.str(c.finish); reason != "" {
		s.finished = reason
	}
}

func (s *chatSink) finish() dhruva.Observation {
	if s.foreign {
		return s.responses.finish()
	}
	text, cut := s.text.text()
	seen := dhruva.Observation{
		Text: text, Truncated: cut || s.finished == "length",
		Interim:      s.calls && text != "",
		FinishReason: s.finished, ResponseID: s.id,
		InputTokens: s.in, OutputTokens: s.out,
		Fingerprints: s.prints,
	}
	if len(s.prints) == 0 {
		seen.Fingerprints = textFingerprint(cleanAssistant(text))
	}
	switch {
	case s.failed:
		seen.Terminal = dhruva.TerminalFailed
	case s.finished == "content_filter":
		seen.Terminal = dhruva.TerminalIncomplete
	case s.done || s.whole || s.finished != "":
		seen.Terminal = dhruva.TerminalCompleted
	}
	return seen
}

func (s *scanner) chatChunk() (c chatChunk, err error) {
	err = s.fields(func(name []byte) (err error) {
		switch string(name) {
		case "id":
			c.id, err = s.maybeText()
		case "type":
			c.typ, err = s.maybeText()
		case "object":
			c.object, err = s.maybeText()
		case "error":
			c.failed, err = s.truthy()
		case "usage":
			c.in, c.out, err = s.chatUsage()
		case "choices":
			c.choices = true
			err = s.elements(func() error {
				choice, err := s.chatChoice()
				if choice.index == 0 {
					c.choice = choice
				}
				return err
			})
		default:
			err = s.skip()
		}
		return err
	})
	if err == nil {
		err = s.end()
	}
	return c, err
}

func (s *scanner) chatUsage() (in, out int, err error) {
	err = s.fields(func(name []byte) (err error) {
		switch string(name) {
		case "prompt_tokens":
			in, err = s.count()
		case "completion_tokens":
			out, err = s.count()
		default:
			err = s.skip()
		}
		return err
	})
	return in, out, err
}

func (s *scanner) chatChoice() (c chatChoice, err error) {
	err = s.fields(func(name []byte) (err error) {
		switch string(name) {
		case "index":
			c.index, err = s.count()
		case "finish_reason":
			c.finish, err = s.maybeText()
		case "delta", "message":
			err = s.fields(func(name []byte) error { return s.chatDelta(&c, name) })
		default:
			err = s.skip()
		}
		return err
	})
	return c, err
}

// chatDelta reads one member of a delta or message. Reasoning, refusals and
// arguments are passed over.
func (s *scanner) chatDelta(c *chatChoice, name []byte) error {
	switch string(name) {
	case "content":
		return s.chatContent(c)
	case "tool_calls":
		return s.elements(func() error {
			c.calls = true
			return s.fields(func(name []byte) error {
				if string(name) != "id" {
					return s.skip()
				}
				lit, err := s.maybeText()
				if err == nil && len(c.ids) < maxPrints {
					c.ids = append(c.ids, lit)
				}
				return err
			})
		})
	case "function_call":
		called, err := s.truthy()
		c.calls = c.calls || called
		return err
	}
	return s.skip()
}

// chatContent reads content: a string, or parts of which only text counts.
func (s *scanner) chatContent(c *chatChoice) error {
	if s.peek() == '"' {
		lit, err := s.text()
		c.texts = append(c.texts, lit)
		return err
	}
	return s.elements(func() error {
		part, err := s.textPart()
		if err == nil && s.str(part.typ) == "text" && part.text.ok() {
			c.texts = append(c.texts, part.text)
		}
		return err
	})
}

// seenPart is a content part of an answer.
type seenPart struct{ typ, text span }

func (s *scanner) textPart() (part seenPart, err error) {
	err = s.fields(func(name []byte) (err error) {
		switch string(name) {
		case "type":
			part.typ, err = s.maybeText()
		case "text":
			part.text, err = s.maybeText()
		default:
			err = s.skip()
		}
		return err
	})
	return part, err
}
