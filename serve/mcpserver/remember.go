package mcpserver

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

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
}

func (s *Server) remember(ctx context.Context, _ *mcp.CallToolRequest, in rememberArgs) (*mcp.CallToolResult, any, error) {
	if !s.keys.claim(ctx, in) {
		return nil, nil, sentence("This idempotency_key was used for another text. Nothing was stored; use a new key.")
	}
	r, err := s.config.Memory.RememberIn(ctx, memory.RememberInput{
		Space: in.Space, Text: in.Text, SourceID: in.SourceID, Authority: in.Authority, Path: "mcp",
	})
	if err != nil {
		return nil, nil, s.explain(ctx, "remember", err)
	}
	src := r.Source
	text := fmt.Sprintf("Remembered as %s.", src.ID)
	if src.State != dhruva.SourceReady {
		text = fmt.Sprintf("Stored as %s, but it is %s: it is not recalled until a person releases it.", src.ID, src.State)
	}
	return result(text, rememberOut{Source: src.ID, State: src.State, Class: src.Class, Trust: src.Class.Trust(), Receipt: r.Receipt})
}

// maxKeys bounds the idempotency keys that a process remembers.
const maxKeys = 4096

// idempotency remembers what each key was used for.
type idempotency struct {
	mu    sync.Mutex
	seen  map[string][sha256.Size]byte
	order []string // oldest first
}

// claim reports whether the key is new, absent, or was used for this input.
func (k *idempotency) claim(ctx context.Context, in rememberArgs) bool {
	if in.IdempotencyKey == "" {
		return true
	}
	p, _ := dhruva.PrincipalFrom(ctx) // a remote memory needs none: the process is one principal then
	key := fmt.Sprintf("%q %q %q", p.Tenant, p.ID, in.IdempotencyKey)
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", in.Text, in.Space, in.SourceID, in.Authority))
	k.mu.Lock()
	defer k.mu.Unlock()
	if old, ok := k.seen[key]; ok {
		return old == sum
	}
	if k.seen == nil {
		k.seen = map[string][sha256.Size]byte{}
	}
	if len(k.order) >= maxKeys {
		delete(k.seen, k.order[0])
		k.order = k.order[1:]
	}
	k.seen[key] = sum
	k.order = append(k.order, key)
	return true
}
