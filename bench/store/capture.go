package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

const (
	writers = 32
	spaces  = 4
)

// said is the text of a turn.
var said = strings.Repeat("some words that were said ", 8)

// capture is what a proxied call writes at its end.
func capture(ctx context.Context, s dhruva.Store, scope dhruva.Scope, session dhruva.SessionID, id string) error {
	now := time.Now()
	t, sp := scope.Tenant(), scope.Space()
	return s.Update(ctx, []dhruva.Scope{scope}, func(tx dhruva.Tx) error {
		row, err := tx.Session(session)
		if errors.Is(err, dhruva.ErrNotFound) {
			row = dhruva.Session{Tenant: t, Space: sp, ID: session, Kind: dhruva.SessionProxy, CreatedAt: now}
		} else if err != nil {
			return err
		}
		if _, err := tx.Epoch(sp); err != nil {
			return err
		}
		for _, role := range []dhruva.Role{dhruva.RoleUser, dhruva.RoleAssistant} {
			row.LastSeq++
			if err := say(tx, row, role, id, now); err != nil {
				return err
			}
		}
		row.UpdatedAt = now
		return errors.Join(tx.PutSession(row), tx.PutReceipt(dhruva.Receipt{Tenant: t, Space: sp, ID: dhruva.ReceiptID(id),
			Kind: "proxy", State: "final", Session: session, CreatedAt: now}))
	})
}

// say appends the last turn of a session, with its source.
func say(tx dhruva.Tx, row dhruva.Session, role dhruva.Role, id string, now time.Time) error {
	src := dhruva.SourceID(id + string(role))
	_, change := tx.AppendChange(row.Space, dhruva.Change{Kind: dhruva.ChangeSource, Ref: string(src), At: now})
	return errors.Join(change,
		tx.AppendTurn(dhruva.Turn{Tenant: row.Tenant, Space: row.Space, Session: row.ID, Seq: row.LastSeq, Parent: row.LastSeq - 1,
			BeganAfter: row.LastSeq - 1, ID: dhruva.TurnID(id), Role: role, Content: said, CreatedAt: now}),
		tx.PutSource(dhruva.Source{Tenant: row.Tenant, Space: row.Space, Generation: 1, ID: src, Class: dhruva.ClassUserTyped,
			State: dhruva.SourceReady, Role: role, Size: len(said), EventTime: now, CreatedAt: now, MAC: make([]byte, 32), KID: "k"}),
		tx.AddReference(dhruva.Reference{Space: row.Space, Generation: 1, Source: src, Session: row.ID, Seq: row.LastSeq}))
}

// together is the load: 32 writers in four spaces, first by themselves, then
// with followers.
func (e engine) together(ctx context.Context, s, beside *sqlstore.Store, length time.Duration, show func(row)) error {
	times, took, err := load(ctx, s, "load", length, func(string, time.Time) {})
	if err != nil {
		return err
	}
	show(row{Engine: e.name, What: "capture", Writers: writers, PerSec: float64(2*len(times)) / took.Seconds()}.summary(times))
	for what, follower := range map[string]*sqlstore.Store{"follower's lag, here": s, "follower's lag, beside": beside} {
		f := follow(ctx, follower, what)
		if times, took, err = load(ctx, s, what, length, f.committed); err != nil {
			return err
		}
		lags, err := f.lags()
		if err != nil {
			return err
		}
		show(row{Engine: e.name, What: what, Writers: writers, PerSec: float64(2*len(times)) / took.Seconds()}.summary(lags))
	}
	return nil
}

// load is captures of all writers, for a while; committed is told of each.
func load(ctx context.Context, s *sqlstore.Store, name string, length time.Duration, committed func(id string, at time.Time)) ([]time.Duration, time.Duration, error) {
	var mu sync.Mutex
	var all []time.Duration
	var failed error
	var wg sync.WaitGroup
	began := time.Now()
	for w := range writers {
		wg.Go(func() {
			scope := dhruva.SpaceScope("bench", space(name, w%spaces))
			var times []time.Duration
			var err error
			for n := 0; err == nil && time.Since(began) < length; n++ {
				id, at := fmt.Sprintf("%s %04d-%08d ", name, w, n), time.Now()
				if err = capture(ctx, s, scope, dhruva.SessionID(fmt.Sprint(name, w)), id); err == nil {
					now := time.Now()
					committed(id, now)
					times = append(times, now.Sub(at))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all, failed = append(all, times...), errors.Join(failed, err)
		})
	}
	wg.Wait()
	return all, time.Since(began), failed
}

func space(name string, n int) dhruva.SpaceID { return dhruva.SpaceID(fmt.Sprintf("%s-%d", name, n)) }
