package proxy

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dhruva-memory/dhruva"
)

// reserved waits until so much of the budget is taken.
func (r *rig) reserved(atLeast int64) {
	for r.handler.inFlight.used.Load() < atLeast {
		runtime.Gosched()
	}
}

// emptied closes the server and checks that nothing stays reserved.
func (r *rig) emptied() {
	r.Helper()
	r.server.Close()
	r.drain()
	if n := r.handler.inFlight.used.Load(); n != 0 {
		r.Errorf("%d bytes stay reserved", n)
	}
}

// D11: all bodies together are bounded by what has arrived.
func TestD11_BodiesInFlightAreBounded(t *testing.T) {
	r := newRig(t)
	r.handler.inFlight.limit = 3 << 20
	for range 2 {
		c := r.dial()
		if _, err := io.WriteString(c, head("/v1/chat/completions", 20<<20)+strings.Repeat(" ", 600<<10)); err != nil {
			t.Fatal(err)
		}
	}
	r.reserved(2 << 20)
	big := `{"model":"m","pad":"` + strings.Repeat("x", 1500<<10) + `"}`
	for _, d := range dialects() {
		res, got := r.call(d.path, big)
		code, _ := shaped(t, dhruva.Dialect(d.name), got)
		if res.StatusCode != http.StatusServiceUnavailable || code != "server_busy" || res.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", d.name, res.StatusCode, got)
		}
		if res, got := r.call(d.path, d.body); res.StatusCode != 200 { // there is room for a small one
			t.Errorf("%s: %d %s", d.name, res.StatusCode, got)
		}
	}
	if n := len(r.provider.Requests()); n != 3 {
		t.Errorf("%d upstream calls", n)
	}
	r.handler.config.Limits.BodyStall = 1
	r.server.CloseClientConnections()
	r.emptied()
}

// A declared length reserves nothing.
func TestD11_PromisesReserveNothing(t *testing.T) {
	r := newRig(t)
	r.handler.inFlight.limit = 4 << 20
	const clients = 64
	for range clients {
		if _, err := io.WriteString(r.dial(), head("/v1/chat/completions", 30<<20)+"{"); err != nil {
			t.Fatal(err)
		}
	}
	r.reserved(clients * poolMin)
	body := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("x", 400<<10) + `"}]}`
	if res, got := r.call("/v1/chat/completions", body, "X-Dhruva-Memory: off"); res.StatusCode != 200 {
		t.Errorf("%d %s", res.StatusCode, got)
	}
	r.server.CloseClientConnections()
	r.emptied()
}

// What a body is decoded or edited into counts as well.
func TestD11_DecodedAndEditedBodiesCount(t *testing.T) {
	r := newRig(t)
	r.handler.inFlight.limit = 3 << 19
	wide := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("x", 3<<20) + `"}]}`
	for coding, sent := range map[string]string{"gzip": gzipOf(t, wide), "zstd": zstdOf(t, wide)} {
		res, got := r.call("/v1/chat/completions", sent, "Content-Encoding: "+coding)
		if code, _ := shaped(t, dhruva.DialectChat, got); res.StatusCode != 503 || code != "server_busy" {
			t.Errorf("%s: %d %s", coding, res.StatusCode, got)
		}
	}
	r.memory.inject = "recalled"
	body := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("x", 700<<10) + `"}]}`
	res, _ := r.call("/v1/chat/completions", body)
	if res.StatusCode != 200 || string(r.provider.Last().Body) != body || res.Header.Get(headerMemory) != "degraded" {
		t.Errorf("%d, memory %s", res.StatusCode, res.Header.Get(headerMemory))
	}
	r.handler.inFlight.limit = 2 << 20
	if _, _ = r.call("/v1/chat/completions", body); len(r.provider.Last().Body) <= len(body) {
		t.Error("not edited though there is room")
	}
	r.emptied()
}

func TestLargeBuffersAreNotKept(t *testing.T) {
	var p pools
	for _, size := range []int64{0, 1, smallBody, poolMin - 1, poolMin + 1, 3 * poolMin, poolMax + 1, 2 * poolMax, 32 << 20} {
		if p.of(size) != nil {
			t.Errorf("buffers of %d bytes are kept", size)
		}
	}
	for size := int64(poolMin); size <= poolMax; size *= 2 {
		if p.of(size) == nil {
			t.Errorf("buffers of %d bytes are not kept", size)
		}
		if got := p.get(size); int64(cap(got)) != size {
			t.Errorf("%d bytes for %d", cap(got), size)
		}
	}
}

// Whatever a body's size and pieces, it is held as it was sent, takes at most
// twice its bytes, and gives everything back.
func TestBodiesAreHeldWhole(t *testing.T) {
	h := New(Config{})
	rapid.Check(t, func(rt *rapid.T) {
		edge := rapid.SampledFrom([]int{0, 1, smallBody, poolMin, 2 * poolMin, poolMax, 2 * poolMax, 3 << 20}).Draw(rt, "edge")
		body := bytes.Repeat([]byte("0123456"), 1+edge/7)[:max(0, edge+rapid.IntRange(-2, 2).Draw(rt, "off"))]
		r := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(bytes.NewReader(body)))
		if rapid.Bool().Draw(rt, "declared") {
			r.ContentLength = int64(len(body))
		}
		b, err := h.hold(httptest.NewRecorder(), r)
		if err != nil || !bytes.Equal(b.bytes, body) {
			rt.Fatalf("%d bytes held of %d, %v", len(b.bytes), len(body), err)
		}
		if n := h.inFlight.used.Load(); n != int64(cap(b.bytes)) || n > int64(max(2*len(body)+1, poolMin)) {
			rt.Fatalf("%d bytes reserved for %d", n, len(body))
		}
		reader := b.reader()
		b.release()
		got, err := io.ReadAll(reader)
		if err != nil || !bytes.Equal(got, body) {
			rt.Fatalf("%d bytes read of %d, %v", len(got), len(body), err)
		}
		reader.Close()
		if n := h.inFlight.used.Load(); n != 0 {
			rt.Fatalf("%d bytes stay reserved", n)
		}
	})
}
