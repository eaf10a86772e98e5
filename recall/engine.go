package recall

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Engine recalls from the spaces of a store: it follows each space's change
// feed into an Index, searches it, and admits candidates under the gate. The
// index may lag, be dropped or be wrong, never unsafe: what is answered is read
// from the store in one snapshot.
//
// An Engine is safe for concurrent use. It takes no memory for a space before
// that space is first asked.
type Engine struct {
	Store dhruva.Store
	Keys  dhruva.Keyring
	Now   func() time.Time // nil: time.Now
	// TokenTTL is how long a read token lives. Default 15 minutes.
	TokenTTL time.Duration
	// SnippetBytes bounds a span; longer texts are cut at sentences. Default 800.
	SnippetBytes int
	// Pool is how many candidates meet the gate. Default 50.
	Pool int

	mu     sync.Mutex
	spaces map[dhruva.Scope]*space
}

// NewEngine recalls from a store under a keyring.
func NewEngine(store dhruva.Store, keys dhruva.Keyring) *Engine {
	return &Engine{Store: store, Keys: keys}
}

// Ask is one recall.
type Ask struct {
	Space dhruva.SpaceID
	Text  string
	TopK  int
	// Allow, when not nil, is the visible set: everything else takes no part in
	// candidates, statistics or neighbours.
	Allow map[dhruva.SourceID]bool
	// Visible reports a text that the asker already sees; it takes no seat.
	Visible func(text string) bool
	// Floor leaves out what scores less than this part of the best, in [0,1]:
	// for injection, where what is not asked for disturbs.
	Floor float64
	// Budget bounds the evidence in estimated tokens; 0 means no bound.
	Budget int
}

// Recall answers an Ask for the principal in ctx, who needs memory:read. When a
// dependency fails the answer is degraded with the reason and the error wraps
// dhruva.ErrUnavailable.
func (e *Engine) Recall(ctx context.Context, ask Ask) (dhruva.Recall, error) {
	p, err := dhruva.PrincipalFrom(ctx)
	if err != nil {
		return dhruva.Recall{}, err
	}
	if !p.May(dhruva.MemoryRead) {
		return dhruva.Recall{}, fmt.Errorf("recall: %w: the key lacks %s", dhruva.ErrDenied, dhruva.MemoryRead)
	}
	if !p.Reaches(ask.Space) {
		return dhruva.Recall{}, fmt.Errorf("recall: space: %w", dhruva.ErrNotFound)
	}
	out, err := e.recall(ctx, p, ask)
	if err == nil && out.Status == "" { // everything chosen vanished between the two reads: once more
		out, err = e.recall(ctx, p, ask)
		if err == nil && out.Status == "" {
			out = dhruva.Recall{Status: dhruva.RecallDegraded, Reason: dhruva.GateStaleGeneration}
		}
	}
	if err != nil {
		return degraded(ctx, err)
	}
	return out, nil
}

func degraded(ctx context.Context, err error) (dhruva.Recall, error) {
	if errors.Is(err, dhruva.ErrNotFound) || errors.Is(err, dhruva.ErrDenied) {
		return dhruva.Recall{}, fmt.Errorf("recall: %w", err)
	}
	reason := dhruva.GateDependencyError
	if ctx.Err() != nil {
		reason = dhruva.GateDependencyTimeout
	}
	return dhruva.Recall{Status: dhruva.RecallDegraded, Reason: reason}, fmt.Errorf("recall: %w: %v", dhruva.ErrUnavailable, err)
}

func (e *Engine) recall(ctx context.Context, p dhruva.Principal, ask Ask) (dhruva.Recall, error) {
	sp, err := e.follow(ctx, p.In(ask.Space))
	if err != nil {
		return dhruva.Recall{}, err
	}
	hits := sp.search(ask, max(e.pool(), 2*ask.TopK), e.now())
	a := admission{engine: e, principal: p, space: ask.Space, query: newSupport(ask.Text)}
	err = e.Store.View(ctx, p.In(ask.Space), func(tx dhruva.Tx) error { return a.run(tx, hits) })
	if err != nil {
		return dhruva.Recall{}, err
	}
	chosen := a.choose(ask)
	out := dhruva.Recall{Rejected: a.rejected, Searched: sp.size()}
	if len(chosen) > 0 {
		standing, err := e.standing(ctx, p.In(ask.Space), chosen)
		if err != nil {
			return dhruva.Recall{}, err
		}
		if len(standing) == 0 {
			return dhruva.Recall{}, nil // see Recall: run once more
		}
		chosen = standing
	}
	out.Evidence = a.evidence(chosen)
	out.Status, out.Reason = a.outcome(len(hits), out.Evidence)
	if len(out.Evidence) > 0 {
		out.Answer = out.Evidence[0].Snippet
	}
	return out, nil
}

// standing re-reads, just before answering, what could have changed since the
// gate: generation and tombstones.
func (e *Engine) standing(ctx context.Context, s dhruva.Scope, chosen []admitted) (out []admitted, err error) {
	err = e.Store.View(ctx, s, func(tx dhruva.Tx) error {
		out = out[:0]
		epoch, err := tx.Epoch(s.Space())
		if err != nil {
			return err
		}
		for _, c := range chosen {
			_, err := tx.Tombstone(s.Space(), epoch.Generation, c.source.ID)
			switch {
			case err == nil:
			case !errors.Is(err, dhruva.ErrNotFound):
				return err
			case c.source.Generation == epoch.Generation:
				out = append(out, c)
			}
		}
		return nil
	})
	return out, err
}

func (e *Engine) now() time.Time {
	if e.Now != nil {
		return e.Now()
	}
	return time.Now()
}

func (e *Engine) pool() int {
	if e.Pool > 0 {
		return e.Pool
	}
	return 50
}

func (e *Engine) snippetBytes() int {
	if e.SnippetBytes > 0 {
		return e.SnippetBytes
	}
	return 800
}

// trusted weighs a ranking score by stored trust. Scores of the recipe are
// sums of weights, so a difference is a ratio here; full trust is worth twice
// none, about 1.4 units of the recipe.
func trusted(score, best, trust float64) float64 {
	return math.Exp((score-best)/2) * (0.5 + trust/2)
}
