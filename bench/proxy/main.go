// Command proxy measures what Dhruva's provider proxy adds to a model call with
// memory off, next to what a bare httputil.ReverseProxy adds, in one run.
//
// A mock provider and the load generator run here. The two gateways run in
// processes of their own with one core each: this program again, in another
// role, or with --dhruva a server that is running already. Requests are made
// one at a time and interleaved (direct, ReverseProxy, Dhruva, and again), so
// that what disturbs the machine disturbs all three. "Added" is a gateway's
// percentile less the direct one's.
//
//	go run ./bench/proxy [--json] [--rounds N]
//	go run ./bench/proxy --dhruva http://127.0.0.1:7373 --key dhr_live_… --mock 127.0.0.1:9009
//
// In the second form the server's provider "generic" must point at
// http://MOCK/v1 with allow_private.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

type options struct {
	json   bool
	rounds int
	dhruva string
	key    string
	mock   string
	role   string
	target string
}

func main() {
	var o options
	flag.BoolVar(&o.json, "json", false, "print JSON instead of a table")
	flag.IntVar(&o.rounds, "rounds", 2000, "requests of the smallest body for each target; larger bodies get fewer")
	flag.StringVar(&o.dhruva, "dhruva", "", "URL of a running Dhruva; empty starts one")
	flag.StringVar(&o.key, "key", "", "a Dhruva key for --dhruva")
	flag.StringVar(&o.mock, "mock", "127.0.0.1:0", "where the mock provider listens")
	flag.StringVar(&o.role, "role", "", "internal: reverse or dhruva")
	flag.StringVar(&o.target, "target", "", "internal: the mock's URL")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench/proxy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) error {
	switch o.role {
	case "reverse":
		return serveReverse(ctx, o.target, out)
	case "dhruva":
		return serveDhruva(ctx, o.target, out)
	}
	if o.rounds < 10 {
		return fmt.Errorf("--rounds is %d; use at least 10", o.rounds)
	}
	rep, err := compare(ctx, o)
	if err != nil {
		return err
	}
	if o.json {
		return rep.json(out)
	}
	return rep.table(out)
}
