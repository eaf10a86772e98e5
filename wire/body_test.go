package wire

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/dhruva-memory/dhruva"
)

func packed(t testing.TB, coding string, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "zlib":
		w = zlib.NewWriter(&out)
	case "flate":
		w, err = flate.NewWriter(&out, 6)
	case "zstd":
		w, err = zstd.NewWriter(&out)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestR17_RequestBodiesDecode(t *testing.T) {
	text := []byte(strings.Repeat(`{"model":"m","messages":[]} `, 1000))
	for encoding, body := range map[string][]byte{
		"":              text,
		"identity":      text,
		"gzip":          packed(t, "gzip", text),
		"X-GZIP":        packed(t, "gzip", text),
		"zstd":          packed(t, "zstd", text),
		"gzip, zstd":    packed(t, "zstd", packed(t, "gzip", text)),
		"zstd, gzip":    packed(t, "gzip", packed(t, "zstd", text)),
		"identity,zstd": packed(t, "zstd", text),
	} {
		got, err := DecodeBody(encoding, bytes.NewReader(body), BodyLimits{})
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%q: %d bytes, %v", encoding, len(got), err)
		}
	}
}

func TestR17_CorruptAndUnknownBodiesAreInvalid(t *testing.T) {
	text := []byte(strings.Repeat("some text ", 1000))
	gz, zs := packed(t, "gzip", text), packed(t, "zstd", text)
	flipped := bytes.Clone(gz)
	flipped[len(flipped)/2] ^= 0xff
	for _, c := range []struct {
		encoding string
		body     []byte
		says     string
	}{
		{"br", text, `"br"`},
		{"deflate", packed(t, "zlib", text), `"deflate"`},
		{"gzip, gzip, gzip", text, "two"},
		{"gzip", text, "decode"},
		{"gzip", nil, "decode"},
		{"gzip", gz[:len(gz)-4], "decode"},
		{"gzip", append(bytes.Clone(gz), "junk"...), "decode"},
		{"gzip", flipped, "decode"},
		{"zstd", text, "decode"},
		{"zstd", zs[:len(zs)-4], "decode"},
	} {
		_, err := DecodeBody(c.encoding, bytes.NewReader(c.body), BodyLimits{})
		if !errors.Is(err, dhruva.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, want invalid saying %s", c.encoding, err, c.says)
		}
	}
}

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestR17_BombsAreTooLargeInBoundedMemory(t *testing.T) {
	zero := make([]byte, 96<<20)
	bombs := map[string][]byte{
		"gzip":       packed(t, "gzip", zero),
		"zstd":       packed(t, "zstd", zero),
		"gzip, gzip": packed(t, "gzip", packed(t, "gzip", zero)),
	}
	runtime.GC()
	for encoding, bomb := range bombs {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := DecodeBody(encoding, bytes.NewReader(bomb), BodyLimits{})
		runtime.ReadMemStats(&after)
		if !errors.Is(err, dhruva.ErrTooLarge) {
			t.Errorf("%s: %d bytes: %v", encoding, len(bomb), err)
		}
		if spent := after.TotalAlloc - before.TotalAlloc; spent > 48<<20 {
			t.Errorf("%s: %d MiB were allocated", encoding, spent>>20)
		}
	}
	if _, err := DecodeBody("", zeros{}, BodyLimits{Wire: 1 << 20}); !errors.Is(err, dhruva.ErrTooLarge) {
		t.Errorf("an endless body: %v", err)
	}
	if _, err := DecodeBody("gzip", bytes.NewReader(bombs["gzip"]), BodyLimits{Decoded: 1 << 20}); !errors.Is(err, dhruva.ErrTooLarge) {
		t.Errorf("beyond the decoded limit: %v", err)
	}
}

func TestAReaderErrorComesBackAsItIs(t *testing.T) {
	gone := errors.New("connection reset")
	gz := packed(t, "gzip", []byte(strings.Repeat("text", 10_000)))
	r := io.MultiReader(bytes.NewReader(gz[:20]), failing{gone})
	if _, err := DecodeBody("gzip", r, BodyLimits{}); !errors.Is(err, gone) || errors.Is(err, dhruva.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestCompressedAnswersAreObserved(t *testing.T) {
	reply := []byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"visible\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	for _, c := range []struct {
		encoding string
		body     []byte
	}{
		{"gzip", packed(t, "gzip", reply)},
		{"zstd", packed(t, "zstd", reply)},
		{"deflate", packed(t, "zlib", reply)},
		{"deflate", packed(t, "flate", reply)},
	} {
		seen := observe(t, dhruva.DialectChat, "text/event-stream", c.encoding, single(c.body)...)
		if seen.Text != "visible" || seen.Overflow || seen.Terminal != dhruva.TerminalCompleted {
			t.Errorf("%s: %+v", c.encoding, seen)
		}
		cut := observe(t, dhruva.DialectChat, "text/event-stream", c.encoding, c.body[:len(c.body)-12])
		if cut.Terminal == "" && !cut.Overflow {
			t.Errorf("%s, cut: %+v", c.encoding, cut)
		}
	}
	if seen := observe(t, dhruva.DialectChat, "text/event-stream", "br", reply); !seen.Overflow || seen.Text != "" || seen.Terminal != "" {
		t.Errorf("an unknown encoding: %+v", seen)
	}
}

// TestAnswerBombsStopAtTheEventLimit: a compressed answer that swells is
// bounded as a plain one is.
func TestAnswerBombsStopAtTheEventLimit(t *testing.T) {
	d, _ := New(dhruva.DialectChat, Limits{Event: 1 << 20})
	for _, c := range []struct{ head, fill string }{{"data: ", "x"}, {": comment", "\n"}} {
		body := packed(t, "gzip", []byte(c.head+strings.Repeat(c.fill, 12<<20)))
		o := d.Observe("text/event-stream", "gzip")
		_, _ = o.Write(body)
		if seen := o.Close(); !seen.Overflow {
			t.Errorf("%d bytes that swell: %+v", len(body), seen)
		}
	}
}

func FuzzDecodeBody(f *testing.F) {
	f.Add("gzip", []byte("\x1f\x8b\x08"))
	f.Add("zstd, gzip", []byte("\x28\xb5\x2f\xfd"))
	f.Fuzz(func(t *testing.T, encoding string, body []byte) {
		out, err := DecodeBody(encoding, bytes.NewReader(body), BodyLimits{Decoded: 1 << 20})
		if err != nil && !errors.Is(err, dhruva.ErrInvalid) && !errors.Is(err, dhruva.ErrTooLarge) {
			t.Fatalf("error of no class: %v", err)
		}
		if len(out) > 1<<20 {
			t.Fatalf("%d bytes", len(out))
		}
	})
}
