package wire

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// Why a request is not injectable: the values of Projection.NotInjectable.
const (
	ReasonProviderState = "provider_state"  // the conversation lives at the provider
	ReasonSideRequest   = "side_request"    // not a turn of a conversation
	ReasonNoMessages    = "no_messages"     // nothing to speak to
	ReasonToolTurn      = "tool_turn"       // the last message carries a tool's reply
	ReasonPrefill       = "prefill"         // the last message is the assistant's
	ReasonLastNotUser   = "last_not_user"   // the last message is not the user's
	ReasonNoHumanText   = "no_human_text"   // the last message holds only scaffolding or media
	ReasonContentShape  = "unknown_content" // the content is neither text nor a list of parts
)

// anchor is where text can be appended to a message.
type anchor struct {
	form     form
	at       int    // before the closing quote, or behind the last part
	partType string // of an appended part
}

// request makes a Request of what was scanned.
func (p *parser) request(name dhruva.Dialect, path string, header http.Header, list *projected) *Request {
	r := &Request{Path: path, Body: p.b, anchors: list.anchors}
	r.Projection = dhruva.Projection{
		Dialect:       name,
		Model:         modelOf(p.b, p.model),
		Stream:        string(p.stream.of(p.b)) == "true",
		Messages:      list.messages,
		Injectable:    -1,
		ProviderState: p.state || list == &p.input && p.reference,
		SideRequest:   p.side(header, list.messages),
		Background:    p.background,
		Choices:       p.choicesAsked(),
		Breakpoints:   p.breakpoints,
		Estimate:      p.rest.tokens(),
	}
	for i := range list.messages {
		r.Projection.Estimate += list.messages[i].Estimate
	}
	r.settle()
	return r
}

// maxModel bounds, in characters, the name of a model as receipts show it.
const maxModel = 200

// modelOf reads no more of a model's name than is kept. An escaped character
// takes twelve bytes at most.
func modelOf(b []byte, lit span) string {
	lit.end = min(lit.end, lit.start+12*(maxModel+1))
	name := decodeLiteral(b, lit)
	n := 0
	for i := range name {
		if n++; n > maxModel {
			return strings.Clone(name[:i])
		}
	}
	return name
}

// visible reads the text of a user or assistant message. Parts of any other
// type are given to other, which says what they mean for the message.
func (p *parser) visible(raw *rawMessage, m *dhruva.Message, isText func(span) bool, other func(*rawPart)) {
	switch raw.form {
	case formString:
		m.Parts = []dhruva.Part{p.textPart(raw.content)}
	case formArray:
		for i := range p.parts {
			part := &p.parts[i]
			if !isText(part.typ) || !part.text.ok() {
				m.Protected = true
				other(part)
				continue
			}
			m.Protected = m.Protected || part.extra
			m.Parts = append(m.Parts, p.textPart(part.text))
		}
	}
}

func (p *parser) textPart(lit span) dhruva.Part {
	return dhruva.Part{Start: lit.start, End: lit.end, Text: p.str(lit)}
}

// What is taken out of the words of a person, and of an assistant.
const (
	notUser      = kindBlock | kindScaffold
	notAssistant = kindBlock | kindThinking
)

// cleanAssistant is what an assistant said in one text.
func cleanAssistant(text string) string {
	text, _ = strip(notAssistant, text)
	return strings.TrimSpace(text)
}

// user finishes a user message: its text, whether a person spoke, and where
// text could be appended.
func (p *parser) user(raw *rawMessage, m *dhruva.Message, a *anchor, partType string) {
	m.Role = dhruva.RoleUser
	text, found := said(notUser, m.Parts)
	m.Text = text
	m.Human = m.Text != "" && !m.ToolResult
	// Scaffolding is not stored, so that removing the message would lose it.
	m.Protected = m.Protected || !m.Human || found&kindScaffold != 0
	switch {
	case raw.form == formString:
		*a = anchor{form: formString, at: raw.content.end - 1}
	case raw.form == formArray && len(p.parts) > 0:
		*a = anchor{form: formArray, at: p.parts[len(p.parts)-1].end, partType: partType}
	}
}

// assistant finishes an assistant message. ids identify it for sticky replay;
// without any, its text does.
func assistant(m *dhruva.Message, ids []string) {
	m.Role = dhruva.RoleAssistant
	text, found := said(notAssistant, m.Parts)
	m.Text = text
	m.Protected = m.Protected || found&kindThinking != 0 // reasoning inside the text
	m.Fingerprints = ids
	if len(ids) == 0 {
		texts := make([]string, len(m.Parts))
		for i, part := range m.Parts {
			texts[i] = part.Text
		}
		m.Fingerprints = textFingerprint(cleanAssistant(strings.Join(texts, "")))
	}
}

// settle decides whether text may be injected into the last message. System
// messages behind it do not count: they are notes of the client on this very
// turn (Claude Code ends its requests with one), nothing has been answered yet.
func (r *Request) settle() {
	p := &r.Projection
	last := len(p.Messages) - 1
	for last >= 0 && p.Messages[last].Role == dhruva.RoleSystem {
		last--
	}
	switch {
	case p.ProviderState:
		p.NotInjectable = ReasonProviderState
	case p.SideRequest:
		p.NotInjectable = ReasonSideRequest
	case last < 0:
		p.NotInjectable = ReasonNoMessages
	default:
		p.NotInjectable = notInjectable(&p.Messages[last], r.anchors[last])
		if p.NotInjectable == "" {
			p.Injectable = last
		}
	}
}

func notInjectable(m *dhruva.Message, a anchor) string {
	switch {
	case m.ToolResult:
		return ReasonToolTurn
	case m.Role == dhruva.RoleAssistant:
		return ReasonPrefill
	case m.Role != dhruva.RoleUser:
		return ReasonLastNotUser
	case a.form == formNone:
		return ReasonContentShape
	case !m.Human:
		return ReasonNoHumanText
	}
	return ""
}

// sideSystem are openings by which known clients ask for a title or a topic.
var sideSystem = [...]string{
	"Analyze if this message indicates a new conversation topic",
	"Please write a 5-10 word title for the following conversation",
	"Summarize this coding conversation in under 50 characters",
	"Generate a concise, sentence-case title",
	"You are a title generator. You output ONLY a thread title",
	"You are a helpful AI assistant tasked with summarizing conversations",
}

// sideUser are openings by which known clients ask for a compaction.
var sideUser = [...]string{
	"Your task is to create a detailed summary of the conversation so far",
	"You are performing a CONTEXT CHECKPOINT COMPACTION",
	"Please write a 5-10 word title for the following conversation",
}

// sideScan is how much of a text is searched for these openings.
const sideScan = 2048

// side reports a shape that is known not to be a turn: a quota probe, a title,
// a compaction.
func (p *parser) side(header http.Header, list []dhruva.Message) bool {
	if p.oneToken() {
		return true
	}
	for _, lit := range p.system {
		head := p.b[lit.start:min(lit.end, lit.start+sideScan)]
		for _, opening := range sideSystem {
			if bytes.Contains(head, []byte(opening)) {
				return true
			}
		}
	}
	if len(list) == 0 {
		return false
	}
	text := list[len(list)-1].Text
	// Claude Code warms its subagents up with this one word.
	if text == "Warmup" && strings.HasPrefix(header.Get("User-Agent"), "claude-cli/") {
		return true
	}
	return sideText(text)
}

func sideText(text string) bool {
	head := text[:min(len(text), sideScan)]
	// Newer compactions forbid tools first and then ask.
	strict := strings.HasPrefix(head, "CRITICAL: Respond with TEXT ONLY")
	for _, opening := range sideUser {
		if strings.HasPrefix(head, opening) || strict && strings.Contains(head, opening) {
			return true
		}
	}
	return false
}
