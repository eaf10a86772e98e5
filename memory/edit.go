package memory

import (
	"context"
	"fmt"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// placed is where in its session a message goes, and which turns it replaces:
// those are not brought back by recall to the model that is asked anew.
func (m *Memory) placed(ctx context.Context, in SendInput) (req ledger.ContextRequest, replaced []dhruva.Turn, err error) {
	req = ledger.ContextRequest{Depth: in.Depth, Mount: in.Pair, Regenerate: in.Regenerate}
	at := max(in.Edit, in.Regenerate)
	if at == 0 {
		return req, nil, nil
	}
	turns, err := m.Ledger.ListTurns(ctx, in.Session, at-1, 2)
	switch {
	case err != nil:
		return req, nil, err
	case len(turns) == 0 || turns[0].Seq != at:
		return req, nil, fmt.Errorf("%w: no turn %d", dhruva.ErrNotFound, at)
	case in.Regenerate > 0:
		if asked := turns[0].Parent; asked > 0 {
			question, err := m.Ledger.ListTurns(ctx, in.Session, asked-1, 1)
			return req, append(question, turns[0]), err
		}
	case turns[0].Role != dhruva.RoleUser:
		return req, nil, fmt.Errorf("%w: turn %d is no message; only messages are edited", dhruva.ErrInvalid, at)
	default:
		req.At = &turns[0].Parent
	}
	if len(turns) == 2 && turns[1].Parent != at {
		turns = turns[:1]
	}
	return req, turns, nil
}
