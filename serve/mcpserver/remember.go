package mcpserver

import (
	"context"
	"fmt"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/memory"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type rememberArgs struct {
	Text           string `json:"text"`
	Space          string `json:"space"`
	SourceID       string `json:"source_id"`
	IdempotencyKey string `json:"idempotency_key"`
	Authority      string `json:"authority"`
}

type rememberOut struct {
	Source  dhruva.SourceID    `json:"source_id"`
	State   dhruva.SourceState `json:"state"`
	Class   dhruva.SourceClass `json:"class"`
	Trust   float64            `json:"trust"`
	Receipt dhruva.ReceiptID   `json:"receipt_id"`
	// Redactions counts the secrets that were replaced in the text.
	Redactions int `json:"redactions,omitempty"`
}

func (s *Server) remember(ctx context.Context, _ *mcp.CallToolRequest, in rememberArgs) (*mcp.CallToolResult, any, error) {
	r, err := s.config.Memory.RememberIn(ctx, memory.RememberInput{
		Space: in.Space, Text: in.Text, SourceID: in.SourceID, Authority: in.Authority, Path: "mcp",
		IdempotencyKey: in.IdempotencyKey,
	})
	if err != nil {
		return nil, nil, s.explain(ctx, "remember", err)
	}
	src := r.Source
	text := fmt.Sprintf("Remembered as %s.", src.ID)
	if src.State != dhruva.SourceReady {
		text = fmt.Sprintf("Stored as %s, but it is %s: it is not recalled until a person releases it.", src.ID, src.State)
	}
	if r.Redactions > 0 {
		text += fmt.Sprintf(" Secrets are not stored: %d replaced by a placeholder.", r.Redactions)
	}
	return result(text, rememberOut{Source: src.ID, State: src.State, Class: src.Class, Trust: src.Class.Trust(), Receipt: r.Receipt, Redactions: r.Redactions})
}
