package wire

import (
	"net/http"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// messages is Anthropic Messages.
type messages struct{ limits Limits }

func (d messages) Name() dhruva.Dialect { return dhruva.DialectMessages }

// Parse projects a Messages body.
func (d messages) Parse(path string, header http.Header, body []byte) (*Request, error) {
	p, err := scan(body, d.limits, (*parser).messagesMessage)
	if err != nil {
		return nil, err
	}
	return p.request(dhruva.DialectMessages, path, header, &p.messages), nil
}

func (d messages) Apply(r *Request, plan dhruva.Plan) ([]byte, []dhruva.Splice, error) {
	return apply(r, plan)
}

func (p *parser) messagesMessage(raw *rawMessage, m *dhruva.Message, a *anchor) {
	if raw.typ.ok() || raw.id.ok() || raw.callID.ok() || raw.sealed.ok() || raw.phase.ok() {
		m.Protected = true // no names of this dialect
	}
	var ids []string
	block := func(part *rawPart) {
		switch typ := p.str(part.typ); {
		case typ == "thinking", typ == "redacted_thinking":
			m.Thinking = true
			ids = addPrint(ids, printSig, p.str(part.sealed))
		case strings.HasSuffix(typ, "tool_use"):
			m.ToolCall = m.ToolCall || typ == "tool_use"
			ids = addPrint(ids, printCall, p.str(part.id))
		case strings.HasSuffix(typ, "tool_result"):
			m.ToolResult = true
		}
	}
	switch {
	case p.is(raw.role, "user"):
		p.visible(raw, m, p.isMessagesText, block)
		p.user(raw, m, a, "text")
	case p.is(raw.role, "assistant"):
		p.visible(raw, m, p.isMessagesText, block)
		assistant(m, ids)
	case p.is(raw.role, "system"):
		m.Role, m.Protected = dhruva.RoleSystem, true
	default:
		m.Role, m.Protected = dhruva.RoleOther, true
	}
}

func (p *parser) isMessagesText(typ span) bool { return p.is(typ, "text") }
