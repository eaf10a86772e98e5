package mcpserver

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The schemas are written by hand: what reflection makes of a struct is twice
// as long, and every client pays for it in every prompt.
const (
	recallSchema = `{"type":"object","properties":{` +
		`"query":{"type":"string","minLength":1,"description":"what to look for, in plain words"},` +
		`"space":{"type":"string","description":"name or id; default: the key's own"},` +
		`"top_k":{"type":"integer","minimum":1,"maximum":50},` +
		`"depth":{"type":"integer","minimum":1}},` +
		`"required":["query"],"additionalProperties":false}`
	readSchema = `{"type":"object","properties":{` +
		`"tokens":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":50,"description":"tokens or refs from recall"}},` +
		`"required":["tokens"],"additionalProperties":false}`
	rememberSchema = `{"type":"object","properties":{` +
		`"text":{"type":"string","minLength":1,"description":"one self-contained fact or decision"},` +
		`"space":{"type":"string"},` +
		`"source_id":{"type":"string","description":"your own id for it"},` +
		`"idempotency_key":{"type":"string"},` +
		`"authority":{"enum":["assistant","user"],"description":"user: only if the person said it"}},` +
		`"required":["text"],"additionalProperties":false}`
)

func (s *Server) addTools() {
	mcp.AddTool(s.mcp, &mcp.Tool{
		Name:        "recall",
		Description: "Find what was said or decided earlier. Returns snippets with tokens for read.",
		Annotations: readOnly(),
		InputSchema: json.RawMessage(recallSchema),
	}, s.recall)
	mcp.AddTool(s.mcp, &mcp.Tool{
		Name:        "read",
		Description: "Exact text behind recall's tokens.",
		Annotations: readOnly(),
		InputSchema: json.RawMessage(readSchema),
	}, s.read)
	mcp.AddTool(s.mcp, &mcp.Tool{
		Name:        "remember",
		Description: "Store a fact or decision for later sessions.",
		Annotations: &mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: new(false), OpenWorldHint: new(false)},
		InputSchema: json.RawMessage(rememberSchema),
	}, s.remember)
}

func readOnly() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: new(false), OpenWorldHint: new(false)}
}

// result is a structured output beside a text that says as much to clients and
// models that only read text.
func result[T any](text string, structured T) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, structured, nil
}
