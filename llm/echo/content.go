package echo

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// content is a message's content in any dialect: a string, null, or parts.
type content struct {
	texts []string
}

// UnmarshalJSON keeps the text parts and skips the others.
func (c *content) UnmarshalJSON(raw []byte) error {
	var s string
	if string(raw) == "null" {
		return nil
	}
	if json.Unmarshal(raw, &s) == nil {
		c.texts = []string{s}
		return nil
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return refusal(http.StatusBadRequest, "content", "content must be a string or an array of parts.")
	}
	for _, p := range parts {
		if p.Type == "text" || p.Type == "input_text" || p.Type == "output_text" {
			c.texts = append(c.texts, p.Text)
		}
	}
	return nil
}

func (c content) text() string { return strings.Join(c.texts, "\n") }

// message is a message of any dialect.
type message struct {
	Type    string  `json:"type"` // Responses items only
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// conversation is what echo reads of a request.
type conversation struct {
	model    string
	system   content
	messages []message
}

// lastUser is the text of the last user message that has any: a message with
// nothing but tool results is passed over.
func (c conversation) lastUser() string {
	for _, m := range slices.Backward(c.messages) {
		if m.Role == "user" && len(m.Content.texts) > 0 {
			return m.Content.text()
		}
	}
	return ""
}

// inputTokens estimates all text that was sent.
func (c conversation) inputTokens() int {
	n := tokens(c.system.text())
	for _, m := range c.messages {
		n += tokens(m.Content.text())
	}
	return n
}

// check refuses what every provider refuses: no model, no messages, an unknown
// role.
func (c conversation) check(field string, roles ...string) error {
	if c.model == "" {
		return refusal(http.StatusBadRequest, "model", "you must provide a model parameter.")
	}
	if len(c.messages) == 0 {
		return refusal(http.StatusBadRequest, field, field+": at least one message is required.")
	}
	for _, m := range c.messages {
		if (m.Type == "" || m.Type == "message") && !slices.Contains(roles, m.Role) {
			return refusal(http.StatusBadRequest, field, field+": a message has a role that does not exist.")
		}
	}
	return nil
}
