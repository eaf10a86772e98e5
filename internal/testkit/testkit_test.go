package testkit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func post(t *testing.T, p *Provider, target, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL()+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Test", "a")
	res, err := p.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

func TestProviderRecordsWhatArrived(t *testing.T) {
	p := NewProvider(t)
	body := `{"b":1,  "a":"é\u00e9", "big":90071992547409931}`
	post(t, p, "/v1/messages?beta=true&x=%2F", body)
	got := p.Last()
	want := []string{"POST", "/v1/messages?beta=true&x=%2F", "/v1/messages", body, "a"}
	if diff := cmp.Diff(want, []string{got.Method, got.Target, got.Path(), string(got.Body), got.Header.Get("X-Test")}); diff != "" {
		t.Fatal(diff)
	}
}

func TestProviderAnswersInOrderThenDefault(t *testing.T) {
	p := NewProvider(t)
	p.Enqueue(Status(500, `{"n":1}`), JSON(`{"n":2}`))
	var got []int
	for range 3 {
		got = append(got, post(t, p, "/v1/chat/completions", `{}`).StatusCode)
	}
	if diff := cmp.Diff([]int{500, 200, 200}, got); diff != "" {
		t.Fatal(diff)
	}
	if p.Pending() != 0 || len(p.Requests()) != 3 {
		t.Fatalf("pending %d, requests %d", p.Pending(), len(p.Requests()))
	}
}

func TestDefaultSpeaksEachDialect(t *testing.T) {
	p := NewProvider(t)
	for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/v1/messages"} {
		res := post(t, p, path, `{"stream":false}`)
		var v map[string]any
		if err := json.NewDecoder(res.Body).Decode(&v); err != nil || res.StatusCode != 200 {
			t.Errorf("%s: status %d, %v", path, res.StatusCode, err)
		}
		res = post(t, p, path, `{"stream":true}`)
		if ct := res.Header.Get("Content-Type"); !strings.HasPrefix(ct, "text/event-stream") {
			t.Errorf("%s: streamed as %q", path, ct)
		}
	}
	if res := post(t, p, "/v1/nothing", ``); res.StatusCode != 404 {
		t.Errorf("unknown route answered %d", res.StatusCode)
	}
}

// Every frame of every canned reply is one JSON object (or [DONE]), and a
// named frame carries the type it is named after.
func TestCannedRepliesAreWellFormed(t *testing.T) {
	replies := map[string]Reply{
		"chat": ChatSSE("a", "b\"\n"), "chat canary": ChatSSECanary("a"), "chat think": ChatSSEThink("a"),
		"chat error": ChatSSEError("x", "a"), "responses": ResponsesSSE("a", "b"), "responses canary": ResponsesSSECanary("a"),
		"messages": MessagesSSE("a"), "messages canary": MessagesSSECanary("a"), "messages error": MessagesSSEError("overloaded_error", "x", "a"),
	}
	for name, r := range replies {
		for frame := range strings.SplitSeq(strings.TrimSuffix(r.Raw(), "\n\n"), "\n\n") {
			checkFrame(t, name, frame)
		}
	}
	for name, r := range map[string]Reply{
		"chat": ChatJSON("a"), "chat canary": ChatJSONCanary("a\"<"), "responses": ResponsesJSON("a"), "responses canary": ResponsesJSONCanary("a"),
		"messages": MessagesJSON("a"), "messages canary": MessagesJSONCanary("a"), "chat error": ChatError(429, "t", "c", "m"), "messages error": MessagesError(529, "overloaded_error", "m"),
	} {
		if !json.Valid([]byte(r.Raw())) {
			t.Errorf("%s: not JSON: %s", name, r.Raw())
		}
	}
}

func checkFrame(t *testing.T, name, frame string) {
	t.Helper()
	event, payload, ok := strings.Cut(frame, "data: ")
	if !ok || payload == "[DONE]" {
		return
	}
	var v struct{ Type string }
	if err := json.Unmarshal([]byte(payload), &v); err != nil {
		t.Errorf("%s: %v in %s", name, err, payload)
	}
	if event != "" && event != "event: "+v.Type+"\n" {
		t.Errorf("%s: event line %q over type %q", name, event, v.Type)
	}
}

func TestSplitKeepsEveryByte(t *testing.T) {
	whole := ChatSSE("héllo", "→")
	p := NewProvider(t)
	for _, r := range []Reply{whole, whole.EveryByte(), whole.Split(3, 1, 7), whole.Split()} {
		p.Enqueue(r)
		got, err := io.ReadAll(post(t, p, "/", "").Body)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole.Raw(), string(got)); diff != "" {
			t.Fatal(diff)
		}
	}
	if got := len(whole.EveryByte().steps); got != len(whole.Raw()) {
		t.Fatalf("%d chunks for %d bytes", got, len(whole.Raw()))
	}
}

func TestWaitHoldsTheReplyAndStreamsWhatCameBefore(t *testing.T) {
	p := NewProvider(t)
	gate := make(chan struct{})
	p.Enqueue(SSE("data: 1\n\n").Wait(gate).Then("data: 2\n\n"))
	body := bufio.NewReader(post(t, p, "/", "").Body)
	if line, err := body.ReadString('\n'); err != nil || line != "data: 1\n" {
		t.Fatalf("%q, %v", line, err)
	}
	close(gate)
	rest, err := io.ReadAll(body)
	if err != nil || string(rest) != "\ndata: 2\n\n" {
		t.Fatalf("%q, %v", rest, err)
	}
}

func TestCloseAndResetCutTheReply(t *testing.T) {
	p := NewProvider(t)
	p.Enqueue(SSE("data: 1\n\n").Close())
	got, err := io.ReadAll(post(t, p, "/", "").Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || string(got) != "data: 1\n\n" {
		t.Fatalf("close: %q, %v", got, err)
	}
	gate := make(chan struct{})
	p.Enqueue(SSE("data: 1\n\n").Wait(gate).Reset())
	res := post(t, p, "/", "")
	close(gate)
	if _, err = io.ReadAll(res.Body); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("reset: %v", err)
	}
}

func TestGoneTellsThatTheClientLeft(t *testing.T) {
	p := NewProvider(t)
	p.Enqueue(JSON(`{}`).After(make(chan struct{})), JSON(`{}`))
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		res, err := p.Client().Do(req)
		if err == nil {
			res.Body.Close()
		}
		done <- err
	}()
	held := p.Await(1)[0]
	cancel()
	<-held.Gone
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	post(t, p, "/", "")
	select {
	case <-p.Last().Gone:
		t.Fatal("Gone was closed by a reply that completed")
	default:
	}
}

func TestClockMovesOnlyByHand(t *testing.T) {
	c := NewClock(Epoch)
	if got := c.Advance(1500); !got.Equal(Epoch.Add(1500)) || !c.Now().Equal(got) {
		t.Fatal(got)
	}
	c.Set(Epoch)
	if !c.Now().Equal(Epoch) {
		t.Fatal(c.Now())
	}
}
