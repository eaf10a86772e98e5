package wire

import (
	"net/http"

	"github.com/dhruva-memory/dhruva"
)

// chat is OpenAI Chat Completions.
type chat struct{ limits Limits }

func (d chat) Name() dhruva.Dialect { return dhruva.DialectChat }

// Parse projects a Chat body. A body with input and no messages is a Responses
// body sent to the Chat route, as some clients do, and is read as such.
func (d chat) Parse(path string, header http.Header, body []byte) (*Request, error) {
	p, err := scan(body, d.limits, (*parser).chatMessage)
	if err != nil {
		return nil, err
	}
	if !p.hasMessages && p.hasInput {
		return p.request(dhruva.DialectResponses, path, header, &p.input), nil
	}
	return p.request(dhruva.DialectChat, path, header, &p.messages), nil
}

func (d chat) Apply(r *Request, plan dhruva.Plan) ([]byte, []dhruva.Splice, error) {
	return apply(r, plan)
}

func (p *parser) chatMessage(raw *rawMessage, m *dhruva.Message, a *anchor) {
	if raw.typ.ok() || raw.sealed.ok() || raw.phase.ok() { // no names of this dialect
		m.Protected = true
	}
	switch {
	case p.is(raw.role, "user"):
		p.visible(raw, m, p.isChatText, func(part *rawPart) {})
		p.user(raw, m, a, "text")
	case p.is(raw.role, "assistant"):
		p.visible(raw, m, p.isChatText, func(part *rawPart) {
			m.Thinking = m.Thinking || p.is(part.typ, "thinking") || p.is(part.typ, "reasoning")
		})
		var ids []string
		for _, lit := range p.calls {
			ids = addPrint(ids, printCall, p.str(lit))
		}
		assistant(m, ids)
	case p.is(raw.role, "system"), p.is(raw.role, "developer"):
		m.Role, m.Protected = dhruva.RoleSystem, true
		p.noteSystem(raw)
	case p.is(raw.role, "tool"), p.is(raw.role, "function"):
		m.Role, m.Protected, m.ToolResult = dhruva.RoleTool, true, true
	default:
		m.Role, m.Protected = dhruva.RoleOther, true
	}
}

// noteSystem remembers where system text stands, for side-request shapes.
func (p *parser) noteSystem(raw *rawMessage) {
	if len(p.system) >= 16 {
		return
	}
	if raw.form == formString {
		p.system = append(p.system, raw.content)
	} else if len(p.parts) > 0 {
		p.system = append(p.system, p.parts[0].text)
	}
}

func (p *parser) isChatText(typ span) bool { return p.is(typ, "text") }
