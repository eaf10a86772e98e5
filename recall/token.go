package recall

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// sealed is the payload of a read token: which span of which source was shown,
// and until when. The keyring encrypts and authenticates it for the tenant; it
// is kept short, because agents pay for every token of a token.
type sealed struct {
	space      dhruva.SpaceID
	generation int64
	source     dhruva.SourceID
	span       span
	expires    int64 // Unix seconds
}

// pack writes the payload: strings after their length, integers as varints,
// the span's digest as it is.
func (t sealed) pack() []byte {
	b := appendString(nil, string(t.space))
	b = appendString(b, string(t.source))
	for _, n := range []int64{t.generation, int64(t.span.start), int64(t.span.end), t.expires} {
		b = binary.AppendVarint(b, n)
	}
	return append(b, t.span.digest[:]...)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// unpack is the reverse of pack; false when the payload is not one.
func unpack(b []byte) (t sealed, ok bool) {
	r := bytes.NewReader(b)
	space, err1 := readString(r)
	source, err2 := readString(r)
	var n [4]int64
	errs := []error{err1, err2}
	for i := range n {
		v, err := binary.ReadVarint(r)
		n[i], errs = v, append(errs, err)
	}
	t = sealed{space: dhruva.SpaceID(space), source: dhruva.SourceID(source), generation: n[0], expires: n[3],
		span: span{start: int(n[1]), end: int(n[2])}}
	_, err := io.ReadFull(r, t.span.digest[:])
	return t, errors.Join(append(errs, err)...) == nil && r.Len() == 0
}

func readString(r *bytes.Reader) (string, error) {
	n, err := binary.ReadUvarint(r)
	if err != nil || n > uint64(r.Len()) {
		return "", errors.Join(err, io.ErrUnexpectedEOF)
	}
	b := make([]byte, n)
	_, err = io.ReadFull(r, b)
	return string(b), err
}

func (e *Engine) seal(p dhruva.Principal, c admitted) string {
	ttl := e.TokenTTL
	if ttl <= 0 {
		ttl = 15 * time.Minute
	}
	t := sealed{
		space: c.source.Space, generation: c.source.Generation, source: c.source.ID, expires: e.now().Add(ttl).Unix(),
		span: span{start: c.start, end: c.end, digest: spanDigest(c.text[c.start:c.end])},
	}
	return e.Keys.Seal(p.Tenant, t.pack())
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
	t, ok := unpack(payload)
	if !ok || e.now().Unix() >= t.expires || !p.Reaches(t.space) {
		return dhruva.ReadResult{}, nil
	}
	en := entry{scope: p.In(t.space), generation: t.generation, source: t.source}
	var out dhruva.ReadResult
	err = e.Store.View(ctx, en.scope, func(tx dhruva.Tx) error {
		out = dhruva.ReadResult{}
		space, err := tx.Space(t.space)
		if errors.Is(err, dhruva.ErrNotFound) || err == nil && !space.DeletedAt.IsZero() {
			return nil
		} else if err != nil {
			return err
		}
		c, reason, err := e.check(tx, p, t.space, en, &t.span)
		if err != nil || reason != dhruva.GatePassed {
			return err
		}
		out = dhruva.ReadResult{Found: true, Text: c.text[t.span.start:t.span.end], Source: t.source, Start: t.span.start, End: t.span.end,
			Role: c.source.Role, Time: c.source.EventTime}
		return nil
	})
	return out, err
}
