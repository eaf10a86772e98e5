package ledger_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/memstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

// story is every act of the ledger once. Each is tried again while the outcome
// is unknown, as a caller would; again reports what the retry said.
func (r *rig) story(again func(act string, err error)) (proxied dhruva.SessionID, space dhruva.SpaceID) {
	try := func(act string, fn func() error) {
		r.Helper()
		err := fn()
		if errors.Is(err, dhruva.ErrUnavailable) {
			err = fn()
			again(act, err)
			return
		}
		if err != nil {
			r.Fatalf("%s: %v", act, err)
		}
	}
	var sp dhruva.Space
	var s, fresh dhruva.Session
	var c dhruva.Checkpoint
	var err error
	try("ensure", func() error { sp, err = r.l.EnsureSpace(r.ctx(), "work"); return err })
	try("session", func() error { s, err = r.l.CreateSession(r.ctx(), ledger.SessionInput{Space: sp.ID}); return err })
	try("fresh", func() error { fresh, err = r.l.CreateSession(r.ctx(), ledger.SessionInput{}); return err })
	for _, id := range []dhruva.SessionID{s.ID, fresh.ID} {
		try("send", func() error {
			_, err := r.l.AppendExchange(r.ctx(), r.begin(id), exchange("a question to be kept", "an answer to be kept"))
			return err
		})
	}
	try("commit", func() error {
		c, err = r.l.Commit(r.ctx(), ledger.CommitInput{Session: s.ID, Title: "one", Summary: "one in a few words"})
		return err
	})
	try("mount", func() error { _, err := r.l.Mount(r.ctx(), s.ID, c.Hash.String(), 1); return err })
	try("unmount", func() error { _, err := r.l.Unmount(r.ctx(), s.ID); return err })
	try("fork", func() error { _, err := r.l.Fork(r.ctx(), ledger.ForkInput{Checkpoint: c.Hash.String()}); return err })
	try("attach", func() error { _, err := r.l.Attach(r.ctx(), fresh.ID, sp.ID); return err })
	var talk []string
	for i := range 70 {
		talk = append(talk, fmt.Sprintf("question number %d here", i), fmt.Sprintf("answer number %d here", i))
	}
	try("capture", func() error {
		got, err := r.l.Capture(r.ctx(), call(sp.ID, talk...))
		proxied = got.Session
		return err
	})
	try("failed", func() error { _, err := r.l.Capture(r.ctx(), call(sp.ID, "a question that failed", "")); return err })
	try("remember", func() error {
		_, err := r.l.Remember(r.ctx(), ledger.RememberInput{Space: sp.ID, Text: "a note to keep"})
		return err
	})
	var held dhruva.Source
	try("remember", func() error {
		held, err = r.l.Remember(r.ctx(), ledger.RememberInput{Space: sp.ID, Text: flaggedAnswer})
		return err
	})
	try("release", func() error {
		got, err := r.l.Release(r.ctx(), sp.ID, held.ID)
		if err == nil && (held.State != dhruva.SourceHeld || got.State != dhruva.SourceReady) {
			r.Errorf("released %s: %s", held.State, got.State)
		}
		return err
	})
	in := ledger.ImportInput{Space: sp.ID, Key: "k"}
	for i := range 130 {
		in.Turns = append(in.Turns, ledger.ImportedTurn{Role: dhruva.RoleUser, Text: fmt.Sprintf("imported line number %d", i)})
	}
	try("import", func() error { _, err := r.l.ImportTurns(r.ctx(), in); return err })
	try("delete", func() error { return r.l.DeleteSession(r.ctx(), fresh.ID) })
	return proxied, sp.ID
}

// TestFaultTable fails each Update of the story in turn, lost or kept. The
// store is whole after it, and what can be repeated is there exactly once.
func TestFaultTable(t *testing.T) {
	for _, fault := range []storetest.Fault{storetest.Lost, storetest.Kept} {
		for at := 1; ; at++ {
			store := storetest.NewFaulty(memstore.New(), fault, at)
			r := newRig(t, store)
			r.l.Store = store
			proxied, space := r.story(func(act string, err error) {
				moved := fault == storetest.Kept && (act == "delete" && errors.Is(err, dhruva.ErrNotFound))
				if err != nil && !moved {
					r.Errorf("%d at %d: %s again: %v", fault, at, act, err)
				}
			})
			r.l.Store = storetest.Rerun{Store: store.Store}
			r.check()
			r.wantOnce(proxied, space, fmt.Sprintf("fault %d at %d", fault, at))
			if t.Failed() || store.Updates() < at {
				break
			}
		}
	}
}

// wantOnce checks that what is named by its text or key is there once.
func (r *rig) wantOnce(proxied dhruva.SessionID, space dhruva.SpaceID, when string) {
	r.Helper()
	if n := len(r.said(proxied)); n != 140 {
		r.Errorf("%s: %d captured turns", when, n)
	}
	kinds := map[dhruva.SessionKind]int{}
	turns := int64(0)
	rows, _, err := r.l.ListSessions(r.ctx(), dhruva.SessionQuery{Space: space})
	r.must(err)
	for _, s := range rows {
		kinds[s.Kind]++
		if s.LastSeq == 130 {
			turns += s.LastSeq
		}
	}
	if kinds[dhruva.SessionProxy] != 1 || kinds[dhruva.SessionNotes] != 1 || turns != 130 {
		r.Errorf("%s: %v, %d imported turns", when, kinds, turns)
	}
	if n := count(r.l.ListSpaces(r.ctx(), dhruva.Page{})); n != 1 {
		r.Errorf("%s: %d spaces", when, n)
	}
}
