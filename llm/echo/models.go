package echo

import (
	"encoding/json"
	"net/http"
	"net/url"
)

// models lists the one model, in the shape of the family that asks.
func (c call) models() answer {
	out := answer{status: http.StatusOK, id: c.id("req_")}
	if c.anthropic() {
		out.body = obj("data", list(c.entry(Model)), "has_more", false, "first_id", Model, "last_id", Model)
	} else {
		out.body = obj("object", "list", "data", list(c.entry(Model)))
	}
	return out
}

// model describes any id: any is accepted in a request.
func (c call) model(id string) answer {
	name, err := url.PathUnescape(id)
	if err != nil || name == "" {
		return c.fail(refusal(http.StatusNotFound, "model", "echo: no such model"))
	}
	return answer{status: http.StatusOK, id: c.id("req_"), body: c.entry(name)}
}

func (c call) entry(id string) json.RawMessage {
	if c.anthropic() {
		return obj("type", "model", "id", id, "display_name", "Echo", "created_at", "2026-01-01T00:00:00Z")
	}
	return obj("id", id, "object", "model", "created", created, "owned_by", "dhruva")
}
