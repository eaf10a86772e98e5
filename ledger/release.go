package ledger

import (
	"context"
	"fmt"

	"github.com/dhruva-memory/dhruva"
)

// Release lets a held source be recalled: a person has looked at its text and
// found it harmless. It is for flagged text only. A source that is held because
// its session was deleted, or that nothing says any more, is ErrConflict: what
// was taken away does not come back by a release. One that is ready is returned
// as it is. Letting one be recalled leaves a receipt. Needs memory:attest.
//
// A release holds where it was made: the same text in another space, or said
// again after its session was deleted, is judged anew.
func (l *Ledger) Release(ctx context.Context, space dhruva.SpaceID, id dhruva.SourceID) (out dhruva.Source, err error) {
	p, err := principal(ctx, dhruva.MemoryAttest)
	if err != nil {
		return out, wrap("release", err)
	}
	now, r := l.now(), l.act(ctx, p, dhruva.ActRelease, space, string(id))
	err = l.update(ctx, p, space, func(tx dhruva.Tx) error {
		e, err := readable(tx, p, space)
		if err != nil {
			return err
		}
		if out, err = tx.Source(space, e.Generation, id); err != nil {
			return notFound(err, "source", string(id))
		}
		names(tx, MadeSource, sourceRef(out))
		if out.State == dhruva.SourceReady {
			return nil
		}
		if err := releasable(tx, out); err != nil {
			return err
		}
		out.State, out.HeldFor = dhruva.SourceReady, ""
		return firstOf(tx.PutSource(out), announce(tx, out, dhruva.ChangeSource, now), dhruva.Attest(tx, r))
	})
	if err != nil {
		return dhruva.Source{}, wrap("release", err)
	}
	return out, nil
}

// releasable: held for what its text is, and still said somewhere.
func releasable(tx dhruva.Tx, src dhruva.Source) error {
	if src.State != dhruva.SourceHeld {
		return fmt.Errorf("%w: source %s is being purged", dhruva.ErrConflict, src.ID)
	}
	if gone, err := tombstoned(tx, src.Space, src.Generation, src.ID); err != nil || gone {
		return firstOf(err, missing("source", string(src.ID)))
	}
	if withdrawn(src) {
		return fmt.Errorf("%w: the source is held because %s, not because of its text; it comes back when the text is said again", dhruva.ErrConflict, src.HeldFor)
	}
	ok, err := standing(tx, src)
	if err == nil && !ok {
		err = fmt.Errorf("%w: the sessions that said this were deleted or moved to another space; it comes back when the text is said again", dhruva.ErrConflict)
	}
	return err
}

// standing reports whether something that may be read still says a source.
func standing(tx dhruva.Tx, src dhruva.Source) (bool, error) {
	refs, err := tx.References(src.Space, src.Generation, src.ID)
	if err != nil {
		return false, err
	}
	for _, r := range refs {
		if _, said := dhruva.ReferenceText(tx, r); !said {
			continue
		}
		if ok, err := stands(tx, r); err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}
