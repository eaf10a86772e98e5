package ledger_test

import (
	"context"
	"fmt"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/store/memstore"
)

// A conversation is saved as a checkpoint, goes astray, and returns to it: the
// model is then given the checkpoint and what is said from now on.
func Example() {
	l := ledger.New(memstore.New(), auth.NewKeyring(make([]byte, 32)))
	ctx := dhruva.WithPrincipal(context.Background(), dhruva.Principal{
		Tenant: "local", ID: "ana", Name: "Ana", Scopes: []dhruva.KeyScope{dhruva.Admin},
	})
	say := func(s dhruva.SessionID, user, assistant string) {
		began, err := l.Begin(ctx, s)
		if err == nil {
			// The model is called here; no lock is held meanwhile.
			_, err = l.AppendExchange(ctx, began, ledger.Exchange{User: ledger.Unit{Text: user}, Assistant: &ledger.Unit{Text: assistant}})
		}
		if err != nil {
			fmt.Println(err)
		}
	}

	space, _ := l.EnsureSpace(ctx, "trip")
	session, _ := l.CreateSession(ctx, ledger.SessionInput{Space: space.ID})
	say(session.ID, "Let us plan two weeks in Australia.", "Sydney first, then Cairns.")
	saved, _ := l.Commit(ctx, ledger.CommitInput{Session: session.ID, Title: "Australia", Summary: "Two weeks: Sydney, then Cairns."})
	say(session.ID, "What about New Zealand instead?", "Auckland and Queenstown.")

	l.Mount(ctx, session.ID, saved.Hash.Short(), 1)
	say(session.ID, "How many nights in Sydney?", "Five.")
	given, _ := l.Resolve(ctx, session.ID, ledger.ContextRequest{})
	fmt.Println(given.Mode, given.Checkpoints[0].Text(dhruva.KindSummary))
	for _, t := range given.Turns {
		fmt.Println(t.Seq, t.Role, t.Content)
	}
	// Output:
	// MOUNTED Two weeks: Sydney, then Cairns.
	// 5 user How many nights in Sydney?
	// 6 assistant Five.
}
