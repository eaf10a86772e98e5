package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/memory"
)

type prepareFunc = func(context.Context, memory.PrepareInput) (memory.Prepared, error)

// recalling prepares as memory does once recall has ended so.
func recalling(status dhruva.RecallStatus, state dhruva.MemoryState, plan ...dhruva.Edit) prepareFunc {
	return func(context.Context, memory.PrepareInput) (memory.Prepared, error) {
		return memory.Prepared{Capture: true, Plan: dhruva.Plan{Edits: plan}, Receipt: dhruva.Receipt{
			ID: "rcp-1", State: "open", Memory: state, Recall: dhruva.RecallAccount{Status: status},
		}}, nil
	}
}

func failing(err error) prepareFunc {
	return func(context.Context, memory.PrepareInput) (memory.Prepared, error) { return memory.Prepared{}, err }
}

const required = "X-Dhruva-Require: recall"

// D8: a caller that requires recall is never served without it.
func TestD8_RequiredRecallThatDoesNotWorkIs503(t *testing.T) {
	misplaced := dhruva.Edit{Kind: dhruva.EditInject, Message: 99, Text: "x"}
	long := strings.Repeat(`{"role":"user","content":"a"},`, 100_001) + `{"role":"user","content":"b"}`
	cases := map[string]struct {
		prepare prepareFunc
		body    string // "": the dialect's
		headers []string
		settled bool // a receipt may be open
	}{
		"unknown coding":             {body: "\x01br", headers: []string{"Content-Encoding: br"}},
		"over the projection limits": {body: `{"model":"m","messages":[` + long + `],"input":[` + long + `]}`},
		"the plan does not apply":    {prepare: recalling(dhruva.RecallRecalled, dhruva.MemoryRecalled, misplaced), settled: true},
		"recall is off":              {prepare: recalling(dhruva.RecallOff, dhruva.MemoryOff), settled: true},
		"recall never ran":           {prepare: recalling("", dhruva.MemoryLimitedByScope), settled: true},
		"recall is degraded":         {prepare: recalling(dhruva.RecallDegraded, dhruva.MemoryDegraded), settled: true},
		"no ledger":                  {prepare: recalling(dhruva.RecallRecalled, dhruva.MemorySkippedNoLedger), settled: true},
		"memory is unavailable":      {prepare: failing(fmt.Errorf("x: %w", dhruva.ErrUnavailable))},
		"memory fails":               {prepare: failing(errors.New("disk on fire"))},
		"memory panics":              {prepare: func(context.Context, memory.PrepareInput) (memory.Prepared, error) { panic("x") }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.memory.prepare = c.prepare
			for _, d := range dialects() {
				body := c.body
				if body == "" {
					body = d.body
				}
				res, got := r.call(d.path, body, append(c.headers, required)...)
				code, _ := shaped(t, dhruva.Dialect(d.name), got)
				if res.StatusCode != http.StatusServiceUnavailable || code != "recall_required" {
					t.Errorf("%s: %d %s", d.name, res.StatusCode, got)
				}
				if !c.settled {
					continue
				}
				in := r.captured()
				if up := in.Prepared.Receipt.Upstream; up.Error != causeRecall || up.Terminal != dhruva.TerminalFailed || up.TotalUs != 0 || in.Prepared.Capture {
					t.Errorf("%s: %+v", d.name, in.Prepared)
				}
				if res.Header.Get(headerReceiptID) != "rcp-1" {
					t.Errorf("%s: %v", d.name, res.Header)
				}
			}
			if n := len(r.provider.Requests()); n != 0 {
				t.Errorf("%d upstream calls", n)
			}
		})
	}
}

func TestRequiredRecallThatFoundNothingIsServed(t *testing.T) {
	for _, status := range []dhruva.RecallStatus{dhruva.RecallRecalled, dhruva.RecallEmpty, dhruva.RecallRefused} {
		r := newRig(t)
		r.memory.prepare = recalling(status, dhruva.MemoryEmpty)
		if res, got := r.call("/v1/messages", dialects()[2].body, required); res.StatusCode != 200 {
			t.Errorf("%s: %d %s", status, res.StatusCode, got)
		}
	}
}

// What fails once the budget is spent is a timeout, whatever it fails with and
// whichever comes first.
func TestAnErrorBehindTheBudgetIsATimeout(t *testing.T) {
	r := newRig(t)
	r.handler.config.Limits.PrepareTime = 1
	r.memory.prepare = func(ctx context.Context, in memory.PrepareInput) (memory.Prepared, error) {
		<-ctx.Done()
		if in.Hint == "answers" {
			return memory.Prepared{Receipt: dhruva.Receipt{Recall: dhruva.RecallAccount{Status: dhruva.RecallDegraded, Reason: dhruva.GateDependencyError}}}, nil
		}
		return memory.Prepared{}, ctx.Err() // context.Canceled
	}
	var wg sync.WaitGroup
	for i := range 64 {
		hint := []string{"errs", "answers"}[i%2]
		wg.Go(func() {
			res, err := r.server.Client().Do(r.request(http.MethodPost, "/v1/chat/completions", dialects()[0].body, "X-Dhruva-Conversation: "+hint))
			if err != nil {
				t.Error(err)
				return
			}
			res.Body.Close()
		})
	}
	wg.Wait()
	for range 64 {
		if got := r.captured().Prepared.Receipt.Recall.Reason; got != dhruva.GateDependencyTimeout {
			t.Errorf("reason %s", got)
		}
	}
}

// What is wrong with the request is said before what is wrong here.
func TestTheRequestsOwnFaultComesFirst(t *testing.T) {
	r := newRig(t)
	const keyless = "X-Dhruva-Provider: keyless"
	for _, d := range dialects() {
		res, got := r.call(d.path, `{"model":"a","model":"b"}`, keyless)
		if code, _ := shaped(t, dhruva.Dialect(d.name), got); res.StatusCode != 400 || code != "invalid_body" {
			t.Errorf("%s: %d %s", d.name, res.StatusCode, got)
		}
		res, got = r.call(d.path, d.body, keyless)
		if code, _ := shaped(t, dhruva.Dialect(d.name), got); res.StatusCode != 503 || code != "provider_not_configured" {
			t.Errorf("%s: %d %s", d.name, res.StatusCode, got)
		}
	}
	res, got := r.call("/v1/messages/count_tokens", `{}`, keyless)
	if code, _ := shaped(t, dhruva.DialectMessages, got); res.StatusCode != 503 || code != "provider_not_configured" {
		t.Errorf("relayed: %d %s", res.StatusCode, got)
	}
	if len(r.memory.prepared) != 0 || len(r.memory.captures) != 0 {
		t.Error("memory was asked")
	}
}

// D12: what goes into receipts is bounded; what is forwarded is not touched.
func TestD12_LabelsFromOutsideAreBounded(t *testing.T) {
	for _, mode := range []string{"X-Dhruva-Memory: off", "X-Dhruva-Memory: both"} {
		for _, d := range dialects() {
			r := newRig(t)
			r.provider.Enqueue(d.json.Header("X-Request-Id", strings.Repeat("é", 3000)))
			body := strings.Replace(d.body, `"model":"m"`, `"model":"`+strings.Repeat(`\ud83d\ude00`, 50_000)+`"`, 1)
			res, _ := r.call(d.path, body, mode)
			in := r.captured()
			if res.StatusCode != 200 || in.Projection.Model != strings.Repeat("😀", 200) || string(r.provider.Last().Body) != body {
				t.Errorf("%s: status %d, model of %d bytes", d.name, res.StatusCode, len(in.Projection.Model))
			}
			if id := in.Prepared.Receipt.Upstream.RequestID; id != strings.Repeat("é", 200) || len(res.Header.Get("X-Request-Id")) != 6000 {
				t.Errorf("%s: request id of %d bytes", d.name, len(id))
			}
		}
	}
	r := newRig(t)
	for _, name := range []string{"Space", "Conversation", "Checkpoint", "Provider"} {
		if res, _ := r.call("/v1/messages", dialects()[2].body, prefix+name+": "+strings.Repeat("x", 513)); res.StatusCode != 422 {
			t.Errorf("%s: %d", name, res.StatusCode)
		}
	}
	_, _ = r.call("/v1/messages", dialects()[2].body, "X-Claude-Code-Session-Id: "+strings.Repeat("x", 513))
	if hint := r.memory.prepared[0].Hint; hint != "" {
		t.Errorf("hint of %d bytes", len(hint))
	}
}
