package recall

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// sealed is the payload of a read token: which span of which source was shown
// to whom, and until when. The keyring encrypts and authenticates it.
type sealed struct {
	Space      dhruva.SpaceID  `json:"s"`
	Generation int64           `json:"g"`
	Source     dhruva.SourceID `json:"i"`
	Digest     dhruva.Hash     `json:"d"`
	Start      int             `json:"b"`
	End        int             `json:"e"`
	Span       []byte          `json:"h"` // SHA-256 of the span
	Key        dhruva.KeyID    `json:"k"`
	Expires    int64           `json:"x"` // Unix seconds
}

func (e *Engine) seal(p dhruva.Principal, c admitted) string {
	sum := sha256.Sum256([]byte(c.text[c.start:c.end]))
	ttl := e.TokenTTL
	if ttl <= 0 {
		ttl = 15 * time.Minute
	}
	payload, err := json.Marshal(sealed{
		Space: c.source.Space, Generation: c.source.Generation, Source: c.source.ID, Digest: c.source.Digest,
		Start: c.start, End: c.end, Span: sum[:], Key: p.Key, Expires: e.now().Add(ttl).Unix(),
	})
	if err != nil { // ids, integers and bytes always encode
		panic("recall: token payload: " + err.Error())
	}
	return e.Keys.Seal(p.Tenant, payload)
}

// Read resolves tokens to exactly the spans they were sealed over, under G1 to
// G6. Results are aligned with the tokens. Expired, malformed, foreign and
// purged tokens are the same: not found. The principal needs memory:read.
func (e *Engine) Read(ctx context.Context, tokens []string) ([]dhruva.ReadResult, error) {
	p, err := dhruva.PrincipalFrom(ctx)
	if err != nil {
		return nil, err
	}
	if !p.May(dhruva.MemoryRead) {
		return nil, fmt.Errorf("recall: read: %w: the key lacks %s", dhruva.ErrDenied, dhruva.MemoryRead)
	}
	out := make([]dhruva.ReadResult, len(tokens))
	for i, token := range tokens {
		if out[i], err = e.read(ctx, p, token); err != nil {
			return nil, fmt.Errorf("recall: read: %w: %v", dhruva.ErrUnavailable, err)
		}
	}
	return out, nil
}

func (e *Engine) read(ctx context.Context, p dhruva.Principal, token string) (dhruva.ReadResult, error) {
	payload, err := e.Keys.Open(p.Tenant, token)
	if err != nil {
		return dhruva.ReadResult{}, nil
	}
	var t sealed
	if json.Unmarshal(payload, &t) != nil || len(t.Span) != sha256.Size || e.now().Unix() >= t.Expires || !p.Reaches(t.Space) {
		return dhruva.ReadResult{}, nil
	}
	en := entry{scope: p.In(t.Space), generation: t.Generation, source: t.Source, digest: t.Digest}
	sp := span{start: t.Start, end: t.End, digest: [sha256.Size]byte(t.Span)}
	var out dhruva.ReadResult
	err = e.Store.View(ctx, en.scope, func(tx dhruva.Tx) error {
		out = dhruva.ReadResult{}
		space, err := tx.Space(t.Space)
		if errors.Is(err, dhruva.ErrNotFound) || err == nil && !space.DeletedAt.IsZero() {
			return nil
		} else if err != nil {
			return err
		}
		c, reason, err := e.check(tx, p, t.Space, en, &sp)
		if err != nil || reason != dhruva.GatePassed {
			return err
		}
		out = dhruva.ReadResult{Found: true, Text: c.text[t.Start:t.End], Source: t.Source, Start: t.Start, End: t.End,
			Role: c.source.Role, Time: c.source.EventTime}
		return nil
	})
	return out, err
}
