package wire

import (
	"net/http"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// responses is OpenAI Responses.
type responses struct{ limits Limits }

func (d responses) Name() dhruva.Dialect { return dhruva.DialectResponses }

// Parse projects a Responses body.
func (d responses) Parse(path string, header http.Header, body []byte) (*Request, error) {
	p, err := scan(body, d.limits, (*parser).chatMessage)
	if err != nil {
		return nil, err
	}
	return p.request(dhruva.DialectResponses, path, header, &p.input), nil
}

func (d responses) Apply(r *Request, plan dhruva.Plan) ([]byte, []dhruva.Splice, error) {
	return apply(r, plan)
}

func (p *parser) responsesItem(raw *rawMessage, m *dhruva.Message, a *anchor) {
	typ := p.str(raw.typ)
	switch {
	case raw.form == formString && raw.span == raw.content: // a bare input string
		p.visible(raw, m, p.isInputText, func(*rawPart) {})
		p.user(raw, m, a, "")
	case typ == "" && !raw.role.ok() && raw.id.ok(), typ == "item_reference":
		m.Role, m.Protected = dhruva.RoleOther, true
		p.reference = true
	case typ == "" || typ == "message":
		p.responsesMessage(raw, m, a)
	case typ == "reasoning":
		m.Role, m.Protected, m.Thinking = dhruva.RoleAssistant, true, true
		m.Fingerprints = reasoningPrints(p.str(raw.sealed), p.str(raw.id))
	case strings.HasSuffix(typ, "_output"), typ == "mcp_approval_response":
		m.Role, m.Protected, m.ToolResult = dhruva.RoleTool, true, true
	case strings.HasSuffix(typ, "_call"), typ == "mcp_approval_request":
		m.Role, m.Protected, m.ToolCall = dhruva.RoleTool, true, waitsForClient(typ)
		m.Fingerprints = callPrints(p.str(raw.callID), p.str(raw.id))
	default:
		m.Role, m.Protected = dhruva.RoleOther, true
	}
}

func (p *parser) responsesMessage(raw *rawMessage, m *dhruva.Message, a *anchor) {
	if raw.callID.ok() || raw.sealed.ok() {
		m.Protected = true
	}
	switch {
	case p.is(raw.role, "user"):
		p.visible(raw, m, p.isInputText, func(*rawPart) {})
		p.user(raw, m, a, "input_text")
	case p.is(raw.role, "assistant"):
		p.visible(raw, m, p.isOutputText, func(*rawPart) {})
		assistant(m, nil)
	case p.is(raw.role, "system"), p.is(raw.role, "developer"):
		m.Role, m.Protected = dhruva.RoleSystem, true
		p.noteSystem(raw)
	default:
		m.Role, m.Protected = dhruva.RoleOther, true
	}
}

func (p *parser) isInputText(typ span) bool {
	return p.is(typ, "input_text") || p.is(typ, "text")
}

func (p *parser) isOutputText(typ span) bool {
	return p.is(typ, "output_text") || p.is(typ, "text")
}

// waitsForClient reports a call that the client, not the provider, must answer.
func waitsForClient(typ string) bool {
	switch typ {
	case "function_call", "custom_tool_call", "local_shell_call", "shell_call",
		"apply_patch_call", "computer_call", "tool_search_call", "mcp_approval_request":
		return true
	}
	return false
}

// reasoningPrints identify a reasoning item by what it seals, and by its id
// for clients that keep only that.
func reasoningPrints(sealed, id string) []string {
	return addPrint(addPrint(nil, printSig, sealed), printItem, id)
}

// callPrints identify a call by the id its reply must name, else by its own.
func callPrints(callID, id string) []string {
	if callID == "" {
		return addPrint(nil, printItem, id)
	}
	return addPrint(nil, printCall, callID)
}
