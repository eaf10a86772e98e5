package auth

import (
	"errors"
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// maxMakers is how many keys may stand above a key, each the maker of the next.
const maxMakers = 16

// ancestry follows a key's makers up to the one that no key made. A replaced
// administrator key is not one of them: its successor stands for it.
func ancestry(tx dhruva.Tx, key dhruva.Key) (lineage, error) {
	out := lineage{key: key}
	for at := key; at.Maker != ""; {
		maker, err := makerOf(tx, at)
		if errors.Is(err, dhruva.ErrNotFound) || err == nil && len(out.makers) == maxMakers {
			out.broken = true
			return out, nil
		}
		if err != nil {
			return lineage{}, err
		}
		out.makers, at = append(out.makers, maker), maker
	}
	return out, nil
}

// makerOf is the key that made another, or what a replaced administrator key
// handed over to. Bootstrap keeps that to one step.
func makerOf(tx dhruva.Tx, key dhruva.Key) (dhruva.Key, error) {
	maker, err := tx.Key(key.Maker)
	if err != nil || !administrator(maker) || maker.Maker == "" {
		return maker, err
	}
	return tx.Key(maker.Maker)
}

// standingMaker is the maker of a key to be made, if it and all above it stand.
func standingMaker(tx dhruva.Tx, key dhruva.Key, now time.Time) (dhruva.Key, error) {
	maker, err := tx.Key(key.Maker)
	if err != nil && !errors.Is(err, dhruva.ErrNotFound) {
		return maker, err
	}
	up, err := ancestry(tx, maker)
	switch {
	case err != nil:
		return maker, err
	case !up.stands(now):
		return maker, fmt.Errorf("maker: %w", dhruva.ErrUnauthenticated)
	case len(up.makers) == maxMakers:
		return maker, fmt.Errorf("%w: %d keys stand above the maker already", dhruva.ErrDenied, maxMakers)
	}
	return maker, nil
}
