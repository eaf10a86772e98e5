package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// exchanges are appended through the ledger by all writers, each to a session of
// its own, in four spaces.
func (e engine) exchanges(ctx context.Context, s *sqlstore.Store, length time.Duration, show func(row)) error {
	ctx = dhruva.WithPrincipal(ctx, dhruva.Principal{Tenant: "bench", ID: "bench", Scopes: []dhruva.KeyScope{dhruva.Admin}})
	l := ledger.New(s, auth.NewKeyring(make([]byte, 32)))
	sessions, err := prepare(ctx, l)
	if err != nil {
		return err
	}
	began := time.Now()
	times, err := hammer(ctx, l, sessions, began.Add(length))
	if err != nil {
		return err
	}
	show(row{Engine: e.name, What: "exchange, through the ledger", Writers: writers, PerSec: float64(2*len(times)) / time.Since(began).Seconds()}.summary(times))
	return nil
}

func prepare(ctx context.Context, l *ledger.Ledger) ([]dhruva.SessionID, error) {
	var in []dhruva.SpaceID
	for n := range spaces {
		sp, err := l.CreateSpace(ctx, ledger.SpaceInput{Name: string(space("exchange", n))})
		if err != nil {
			return nil, err
		}
		in = append(in, sp.ID)
	}
	var out []dhruva.SessionID
	for n := range writers {
		s, err := l.CreateSession(ctx, ledger.SessionInput{Space: in[n%spaces]})
		if err != nil {
			return nil, err
		}
		out = append(out, s.ID)
	}
	return out, nil
}

// hammer appends exchanges, one writer a session, until the deadline, and
// returns how long each took.
func hammer(ctx context.Context, l *ledger.Ledger, sessions []dhruva.SessionID, deadline time.Time) ([]time.Duration, error) {
	var mu sync.Mutex
	var all []time.Duration
	var failed error
	var wg sync.WaitGroup
	for w, id := range sessions {
		wg.Go(func() {
			times, err := writer(ctx, l, w, id, deadline)
			mu.Lock()
			defer mu.Unlock()
			all, failed = append(all, times...), errors.Join(failed, err)
		})
	}
	wg.Wait()
	return all, failed
}

func writer(ctx context.Context, l *ledger.Ledger, w int, id dhruva.SessionID, deadline time.Time) (times []time.Duration, err error) {
	for i := 0; time.Now().Before(deadline); i++ {
		began := time.Now()
		state, err := l.Begin(ctx, id)
		if err != nil {
			return times, err
		}
		receipt := dhruva.Receipt{Tenant: "bench", Space: state.Session.Space, ID: dhruva.ReceiptID(dhruva.NewID()), Kind: "send", State: "final", CreatedAt: began, FinishedAt: began}
		_, err = l.AppendExchange(ctx, state, ledger.Exchange{
			User:      ledger.Unit{Role: dhruva.RoleUser, Text: fmt.Sprintf("Writer %d asks for the %dth time how the harbour lights are wired.", w, i)},
			Assistant: &ledger.Unit{Role: dhruva.RoleAssistant, Text: fmt.Sprintf("Answer %d to writer %d: in series, from the pier to the lighthouse, over a 48 V feed.", i, w)},
			Provider:  "bench", Model: "bench", Receipt: &receipt,
		})
		if err != nil {
			return times, err
		}
		times = append(times, time.Since(began))
	}
	return times, nil
}
