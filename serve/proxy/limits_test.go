package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/testkit"
)

// dial opens a raw connection, for clients that no HTTP library would be.
func (r *rig) dial() net.Conn {
	r.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(r.server.URL, "http://"))
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { c.Close() })
	return c
}

func head(target string, length int) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", target, dhruvaKey, length)
}

// A body may not stall, whether it is read first or relayed as it comes.
func TestABodyThatStallsIsGivenUp(t *testing.T) {
	for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
		r := newRig(t)
		r.handler.config.Limits.BodyStall = 1
		c := r.dial()
		if _, err := io.WriteString(c, head(path, 100)+`{"model":`); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if code, _ := shaped(t, dhruva.DialectMessages, string(body)); err != nil || res.StatusCode != http.StatusRequestTimeout || code != "body_stalled" || !res.Close {
			t.Errorf("%s: %d %s, close %v, %v", path, res.StatusCode, body, res.Close, err)
		}
		if path == "/v1/messages" && len(r.provider.Requests()) != 0 {
			t.Error("half a body reached the provider")
		}
	}
}

func TestAClientThatDoesNotReadIsGivenUp(t *testing.T) {
	r := newRig(t)
	r.handler.config.Limits.WriteStall = 1
	// More than the sockets' buffers hold, so that a write must block.
	chunk := ": " + strings.Repeat("x", 1<<20) + "\n\n"
	frames := make([]string, 64)
	for i := range frames {
		frames[i] = chunk
	}
	r.provider.Enqueue(testkit.SSE(frames...))
	body := dialects()[0].body
	c := r.dial()
	if _, err := io.WriteString(c, head("/v1/chat/completions", len(body))+body); err != nil {
		t.Fatal(err)
	}
	<-r.provider.Await(1)[0].Gone // hangs, were upstream not cancelled
	if in := r.captured(); in.Observation.Terminal != dhruva.TerminalClientAbort {
		t.Errorf("%+v", in.Observation)
	}
}

// R19: clients that break off in the middle of a large body cost nothing.
func TestR19_ManyBrokenBodies(t *testing.T) {
	r := newRig(t)
	var wg sync.WaitGroup
	for range 30 {
		c := r.dial()
		wg.Go(func() {
			_, _ = io.WriteString(c, head("/v1/chat/completions", 5<<20)+`{"model":"`+strings.Repeat("x", 1<<20))
			c.Close()
		})
	}
	wg.Wait()
	if res, got := r.call("/v1/chat/completions", dialects()[0].body); res.StatusCode != 200 {
		t.Errorf("%d %s", res.StatusCode, got)
	}
	if n := len(r.provider.Requests()); n != 1 {
		t.Errorf("%d upstream calls", n)
	}
}

// A pooled body is not given away while the transport still reads it: bodies of
// many sizes at once arrive as they were sent, also under early answers.
func TestBodiesAreNotMixedUp(t *testing.T) {
	r := newRig(t)
	r.provider.SetDefault(func(testkit.Request) testkit.Reply { return testkit.ChatJSON("ok") })
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 12 {
				fill := strings.Repeat(string(rune('a'+i)), 1000*(j+1)*(j+1))
				body := fmt.Sprintf(`{"model":"m","id":"%d/%d","messages":[{"role":"user","content":"%s"}]}`, i, j, fill)
				req := r.request(http.MethodPost, "/v1/chat/completions", body)
				if j%3 == 0 { // without a length
					req.Body, req.ContentLength = io.NopCloser(struct{ io.Reader }{strings.NewReader(body)}), -1
				}
				res, err := r.server.Client().Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		})
	}
	wg.Wait()
	for _, req := range r.provider.Requests() {
		body := string(req.Body)
		_, rest, _ := strings.Cut(body, `"id":"`)
		var i, j int
		if _, err := fmt.Sscanf(rest, "%d/%d", &i, &j); err != nil {
			t.Fatal(err)
		}
		if n := 1000 * (j + 1) * (j + 1); strings.Count(body, string(rune('a'+i))) < n || len(body) > n+100 {
			t.Errorf("body %d/%d has %d bytes", i, j, len(body))
		}
	}
}

func TestWatchStrikesOnlyWhatIsSet(t *testing.T) {
	var w watch
	struck := make(chan string, 4)
	paused := w.within(1, func() { struck <- "paused" })
	paused.pause()
	ended := w.within(1, func() { struck <- "ended" })
	ended.end()
	hit := w.within(1, func() { struck <- "set" })
	if got := <-struck; got != "set" || len(struck) != 0 {
		t.Errorf("%s struck, and %d more", got, len(struck))
	}
	hit.set(1) // once for each set
	if got := <-struck; got != "set" {
		t.Error(got)
	}
	if !hit.end() || paused.end() {
		t.Error("end does not tell what struck")
	}
}

// Whatever path is taken for a route stays below /v1/ under any reading.
func FuzzPath(f *testing.F) {
	for _, p := range []string{"/v1/responses/a", "/v1/models/../files", "/v1/models/a/b", "/v1//x", "/v1/models/%2e", "/v1/models/a\\..\\b"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		segments, ok := splitPath(p)
		if !ok {
			return
		}
		if path.Clean(p) != p || !strings.HasPrefix(p, "/v1/") || strings.ContainsAny(p, "%\\?#;\x00 ") {
			t.Errorf("%q is taken for a route: %q", p, segments)
		}
	})
}

// Headers never make a wish out of what is not in the closed lists.
func FuzzWish(f *testing.F) {
	f.Add("Memory", "both")
	f.Add("Recall-Budget", "1")
	f.Add("Space", "x")
	f.Fuzz(func(t *testing.T, name, value string) {
		h := http.Header{}
		h.Set(prefix+name, value)
		w, err := parseWish(h)
		if err != nil {
			return
		}
		switch w.mode {
		case "", "off", "recall", "ingest", "both":
		default:
			t.Errorf("mode %q", w.mode)
		}
		if w.recallBudget < 0 || w.inputBudget < 0 {
			t.Errorf("%+v", w)
		}
		strip(h, "")
		if len(h) != 0 && strings.HasPrefix(http.CanonicalHeaderKey(prefix+name), prefix) {
			t.Errorf("%v would be forwarded", h)
		}
	})
}
