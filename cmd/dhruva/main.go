// Command dhruva is the whole program: the server, and the commands that talk
// to it.
//
// Invariants:
//
//  1. Data goes to standard output, talk to standard error; --json is one JSON
//     value and never changes with the terminal.
//  2. Every failure ends with what to do, and its exit code is one of the table
//     in exit.go.
//  3. A command reaches the running server over HTTP; when none runs it opens
//     the store in this process and goes through the same handlers.
//  4. A setting comes from the flag, else the environment, else the file, else
//     the default; an empty variable counts as absent. Secrets are never printed.
//  5. Shutdown: listener, requests in flight, captures, store.
//
// It stores serve.json in the data directory while it serves; what else is
// there is written by auth and the store.
package main

import (
	"context"
	"os"
)

func main() {
	ctx, stop := interruptible(context.Background())
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}
