package wire

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/dhruva-memory/dhruva"
)

// Glance reads no more of a body than a request without memory needs: that the
// deciding keys of its top level stand once and as they are spelled, the model,
// and whether a stream is asked for. Everything below the top level is passed
// over by its brackets and quotes, which is exact for JSON and several times
// faster than Parse; what is not JSON below the top level is the provider's to
// refuse. The Projection has no messages and nothing can be injected.
func Glance(name dhruva.Dialect, path string, body []byte, limits Limits) (*Request, error) {
	g := glancer{scanner: scanner{b: body, maxDepth: limits.withDefaults().Depth}}
	if !utf8.Valid(body) {
		return nil, fmt.Errorf("wire: the body is not UTF-8: %w", dhruva.ErrInvalid)
	}
	if err := g.top(); err != nil {
		return nil, err
	}
	p := dhruva.Projection{Dialect: name, Injectable: -1, NotInjectable: ReasonMemoryOff, Choices: 1, Stream: g.stream}
	p.Model = modelOf(body, g.model)
	return &Request{Path: path, Body: body, Projection: p}, nil
}

// ReasonMemoryOff: the body was only glanced at.
const ReasonMemoryOff = "memory_off"

type glancer struct {
	scanner
	model  span
	stream bool
}

func (g *glancer) top() error {
	if g.peek() != '{' {
		return g.fail("expected an object")
	}
	var seen uint32
	err := g.object(func(name []byte) error {
		if err := unique(deciding[:], &seen, name, "the request"); err != nil {
			return err
		}
		switch string(name) {
		case "model":
			return g.readModel()
		case "stream":
			g.stream = bytes.HasPrefix(g.b[g.pos:], []byte("true"))
		}
		return g.pass()
	})
	if err != nil {
		return err
	}
	return g.end()
}

func (g *glancer) readModel() (err error) {
	if g.peek() != '"' {
		return g.pass()
	}
	g.model, _, _, err = g.literal()
	return err
}

// pass goes over any value.
func (g *glancer) pass() error {
	switch g.peek() {
	case '"':
		return g.jump()
	case '{', '[':
		return g.brackets()
	}
	start := g.pos
	for g.pos < len(g.b) && !bytes.ContainsRune([]byte(",]} \t\r\n"), rune(g.b[g.pos])) {
		g.pos++
	}
	if g.pos == start {
		return g.fail("expected a value")
	}
	return nil
}

// brackets goes over an object or an array and all that is in it.
func (g *glancer) brackets() error {
	depth := 0
	for g.pos < len(g.b) {
		switch g.b[g.pos] {
		case '"':
			if err := g.jump(); err != nil {
				return err
			}
			continue
		case '{', '[':
			if depth++; g.depth+depth > g.maxDepth {
				return fmt.Errorf("wire: the body nests deeper than %d levels: %w", g.maxDepth, dhruva.ErrInvalid)
			}
		case '}', ']':
			if depth--; depth == 0 {
				g.pos++
				return nil
			}
		}
		g.pos++
	}
	return g.fail("a bracket does not close")
}

// jump goes over a string: to the first quote behind an even number of
// backslashes.
func (g *glancer) jump() error {
	for p := g.pos + 1; ; {
		n := bytes.IndexByte(g.b[p:], '"')
		if n < 0 {
			return g.fail("a string does not end")
		}
		quote := p + n
		back := quote
		for back > g.pos+1 && g.b[back-1] == '\\' {
			back--
		}
		p = quote + 1
		if (quote-back)%2 == 0 {
			g.pos = p
			return nil
		}
	}
}
