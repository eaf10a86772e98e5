package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/dhruva-memory/dhruva"
)

// ForkInput says what to fork.
type ForkInput struct {
	// Checkpoint is a hash, prefix or UUID.
	Checkpoint string
	// Session and Seq name a turn instead. Not in this version: ErrInvalid.
	Session dhruva.SessionID
	Seq     int64
	// Branch is the new branch; "" makes one of today's date. A name that is
	// taken, and "main", are refused.
	Branch          string
	Title           string // "" is "Fork from <hash7>"
	Provider, Model string
}

// active is the disposition of a new branch.
const active = "active"

// Fork makes a session without turns on a new branch whose head is the
// checkpoint. The branch exists from now on, so that no other fork can share
// it. Needs state:write.
func (l *Ledger) Fork(ctx context.Context, in ForkInput) (dhruva.Session, error) {
	p, err := principal(ctx, dhruva.StateWrite)
	if err != nil {
		return dhruva.Session{}, wrap("fork", err)
	}
	s, err := l.fork(ctx, p, in)
	return s, wrap("fork", err)
}

func (l *Ledger) fork(ctx context.Context, p dhruva.Principal, in ForkInput) (out dhruva.Session, err error) {
	if in.Session != "" || in.Seq != 0 {
		return out, fmt.Errorf("%w: forking from a turn is not available yet; fork from a checkpoint", dhruva.ErrInvalid)
	}
	if in.Branch, err = newBranchName(l.hide(in.Branch)); err != nil {
		return out, err
	}
	var source dhruva.Checkpoint
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		source, err = checkpointIn(tx, p, "", in.Checkpoint)
		return err
	})
	if err != nil {
		return out, err
	}
	if strings.TrimSpace(in.Title) == "" {
		in.Title = "Fork from " + source.Hash.Short()
	}
	draft, err := l.newSession(p, SessionInput{Space: source.Space, Title: in.Title, Provider: in.Provider, Model: in.Model})
	if err != nil {
		return out, err
	}
	draft.ForkedFrom = source.Hash
	err = l.update(ctx, p, source.Space, func(tx dhruva.Tx) error {
		out = draft
		if out.Branch, err = forkBranch(tx, out.Space, in.Branch, out.CreatedAt); err != nil {
			return err
		}
		b := dhruva.Branch{Space: out.Space, Name: out.Branch, Head: source.Hash, Disposition: active, UpdatedAt: out.CreatedAt}
		return firstOf(tx.SwapBranch(b, dhruva.Hash{}), tx.PutSession(out))
	})
	if err != nil {
		return dhruva.Session{}, err
	}
	return out, nil
}

func forkBranch(tx dhruva.Tx, space dhruva.SpaceID, name string, now time.Time) (string, error) {
	if name == "" {
		return freeBranch(tx, space, "branch-"+now.Format(time.DateOnly))
	}
	taken, err := branchTaken(tx, space, name)
	if err == nil && taken {
		err = fmt.Errorf("%w: branch %q exists", dhruva.ErrConflict, name)
	}
	return name, err
}

// branchName is the one rule for names of branches, wherever they come from: a
// plain label that no command takes for an option or a range, and that nobody
// takes for main. "" stays "".
func branchName(name string) (string, error) {
	name, err := plainLabel("branch", name)
	switch {
	case err != nil:
	case strings.HasPrefix(name, "-"):
		err = fmt.Errorf("%w: branch %q begins with a dash", dhruva.ErrInvalid, name)
	case strings.Contains(name, ".."):
		err = fmt.Errorf("%w: branch %q holds \"..\"", dhruva.ErrInvalid, name)
	case name != dhruva.MainBranch && likeMain(name):
		err = fmt.Errorf("%w: branch %q is too much like %q", dhruva.ErrInvalid, name, dhruva.MainBranch)
	}
	return name, err
}

// likeMain reports whether a name is main in another case, that of Turkish
// included, or in other forms of its letters.
func likeMain(name string) bool {
	plain := strings.NewReplacer("\u0130", "i", "\u0131", "i").Replace(norm.NFKC.String(name))
	return strings.EqualFold(plain, dhruva.MainBranch)
}

// newBranchName checks a name for a branch to be made; "main" is made by the
// first checkpoint alone.
func newBranchName(name string) (string, error) {
	name, err := branchName(name)
	if err == nil && name == dhruva.MainBranch {
		err = fmt.Errorf("%w: %q is the branch of ordinary sessions; choose another name", dhruva.ErrInvalid, name)
	}
	return name, err
}

func branchTaken(tx dhruva.Tx, space dhruva.SpaceID, name string) (bool, error) {
	_, err := tx.Branch(space, name)
	if errors.Is(err, dhruva.ErrNotFound) {
		return name == dhruva.MainBranch, nil
	}
	return err == nil, err
}

// freeBranch is the name, or the name with the first free number from 2.
func freeBranch(tx dhruva.Tx, space dhruva.SpaceID, name string) (string, error) {
	for n, try := 2, name; ; n++ {
		taken, err := branchTaken(tx, space, try)
		if err != nil || !taken {
			return try, err
		}
		try = fmt.Sprintf("%s-%d", name, n)
	}
}
