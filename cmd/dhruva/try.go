package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

func (p *program) tryCommand() *cobra.Command {
	var listen string
	c := &cobra.Command{Use: "try", Short: "A demo in a temporary directory: no keys, no network", Args: cobra.NoArgs,
		Example: "  dhruva try",
		Long:    "Serves a temporary installation with the echo provider, which answers with what it was told, and a small demo space. Everything is gone when it ends.",
		RunE:    func(c *cobra.Command, _ []string) error { return p.try(c.Context(), listen) },
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address to listen on")
	return c
}

func (p *program) try(ctx context.Context, listen string) error {
	if p.flags.data != "" || p.flags.url != "" {
		return withFix(usage("try makes a directory of its own"), "leave out --data and --url, or use `dhruva serve`")
	}
	f := serveFlags{listen: listen, plane: "all"}
	if err := f.check(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "dhruva-try-")
	if err != nil {
		return err
	}
	config, err := loadConfig("", dir, func(string) string { return "" }) // no real provider, whatever is set outside
	if err == nil {
		config.Chat.DefaultProvider = echoName
		quiet := *p
		quiet.stderr = errorsOnly{p.stderr}
		err = quiet.serveAt(ctx, dir, config, f, func(in *installation, url string) error { return p.demo(ctx, in, dir, url) })
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// demo fills the installation through its API and says what to try.
func (p *program) demo(ctx context.Context, in *installation, dir, url string) error {
	api, err := p.local(url, dir, "")
	if err != nil {
		return err
	}
	session, k, err := seed(ctx, api)
	if err != nil {
		return err
	}
	key, err := api.CreateKey(ctx, client.KeyInput{Name: "try", Space: demoSpace, Provider: echoName, Scopes: []dhruva.KeyScope{
		dhruva.MemoryRead, dhruva.MemoryWrite, dhruva.StateRead, dhruva.StateWrite, dhruva.ProxyUse, dhruva.ReceiptRead,
	}})
	if err != nil {
		return err
	}
	err = p.print(struct {
		URL        string           `json:"url"`
		Space      string           `json:"space"`
		Session    dhruva.SessionID `json:"session"`
		Checkpoint dhruva.Hash      `json:"checkpoint"`
		Key        string           `json:"key"`
	}{url, demoSpace, session, k, key.Secret}, func(w io.Writer) {
		fmt.Fprintf(w, `listening on %[1]s
space %[2]s · session %[3]s · checkpoint %[4]s · key %[5]s

try, in another terminal:
  curl %[1]s/v1/chat/completions -H "Authorization: Bearer %[5]s" -H "Content-Type: application/json" -d '{"model":"echo","messages":[{"role":"user","content":"When do we go to Australia?"}]}'
  dhruva recall --url %[1]s --key %[5]s "which seat does Mel want?"
  dhruva session preview %[3]s "What did we decide?" --url %[1]s --key %[5]s
`, url, demoSpace, session, k.Short(), key.Secret)
	})
	p.say("ctrl-c ends it; nothing is kept")
	return err
}

const demoSpace = "demo"

// seed makes the demo space: a session of two exchanges and a checkpoint of it.
func seed(ctx context.Context, api *client.Client) (dhruva.SessionID, dhruva.Hash, error) {
	if _, err := api.CreateSpace(ctx, client.SpaceInput{Name: demoSpace, Description: "a trip to Australia"}); err != nil {
		return "", dhruva.Hash{}, err
	}
	s, err := api.CreateSession(ctx, demoSpace, client.SessionInput{Title: "Trip to Australia"})
	if err != nil {
		return "", dhruva.Hash{}, err
	}
	for _, m := range []string{"We go to Australia in the first week of May.", "Mel wants a window seat, and nobody wants to change planes twice."} {
		if _, err := api.Send(ctx, s.ID, client.SendInput{Message: m, Provider: echoName, History: "none", Memory: "off"}); err != nil {
			return "", dhruva.Hash{}, err
		}
	}
	k, err := api.CreateCheckpoint(ctx, demoSpace, client.CheckpointInput{
		Session: s.ID, Title: "Trip planned", Objective: "Plan the trip to Australia", Summary: "The trip is in the first week of May.",
		Decisions: []client.Item{{Text: "Fly in the first week of May"}, {Text: "A window seat for Mel"}},
		Tasks:     []client.Task{{Text: "Book flights with one change at most", Status: "open"}}, Author: "demo",
	})
	return s.ID, k.Hash, err
}
