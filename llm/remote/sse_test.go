package remote

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// chunked yields its pieces one read at a time.
type chunked [][]byte

func (c *chunked) Read(p []byte) (int, error) {
	for len(*c) > 0 {
		if n := copy(p, (*c)[0]); n > 0 {
			(*c)[0] = (*c)[0][n:]
			return n, nil
		}
		*c = (*c)[1:]
	}
	return 0, io.EOF
}

func readAll(t interface{ Fatal(...any) }, r io.Reader) []string {
	var got []string
	events := newEventReader(r)
	for {
		ev, err := events.next()
		if err == io.EOF {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ev.name+"|"+string(ev.data))
	}
}

const sample = "\uFEFF: comment\n\nevent: a\ndata: 1\n\ndata:2\ndata:  3\n\nevent: lonely\n\ndata\n\nid: 7\nretry: 1\ndata: é→\U0001F600\n\n: PROCESSING\nevent:b\ndata: {\"x\": \"y: z\"}\n\ndata: last"

var sampleEvents = []string{"a|1", "|2\n 3", "|", "|é→\U0001F600", `b|{"x": "y: z"}`, "|last"}

// dialects.md §0, for all three line ends, under one-byte reads.
func TestEventReaderRules(t *testing.T) {
	for name, end := range map[string]string{"LF": "\n", "CRLF": "\r\n", "CR": "\r"} {
		in := strings.ReplaceAll(sample, "\n", end)
		for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in)), iotest.DataErrReader(strings.NewReader(in))} {
			if diff := cmp.Diff(sampleEvents, readAll(t, r)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

func TestEventReaderIsIndifferentToSplits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := []byte(strings.ReplaceAll(sample, "\n", rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "end")))
		var parts chunked
		for len(in) > 0 {
			n := rapid.IntRange(1, len(in)).Draw(t, "n")
			parts = append(parts, in[:n])
			in = in[n:]
		}
		if diff := cmp.Diff(sampleEvents, readAll(t, &parts)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// The event is delivered when its blank line is there, not when more arrives.
func TestEventReaderDoesNotWaitAfterCR(t *testing.T) {
	pr, pw := io.Pipe()
	defer pw.Close()
	go pw.Write([]byte("data: 1\r\r"))
	ev, err := newEventReader(pr).next()
	if err != nil || string(ev.data) != "1" {
		t.Fatalf("%q, %v", ev.data, err)
	}
}

func TestEventReaderTakesMegabytes(t *testing.T) {
	big := bytes.Repeat([]byte("x"), 5<<20)
	got := readAll(t, io.MultiReader(strings.NewReader("data: "), bytes.NewReader(big), strings.NewReader("\n\n")))
	if len(got) != 1 || len(got[0]) != len(big)+1 {
		t.Fatalf("%d events", len(got))
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestEventReaderStopsARunaway(t *testing.T) {
	if _, err := newEventReader(endless{}).next(); !errors.Is(err, errEventTooLarge) {
		t.Fatal(err)
	}
}

func TestEventReaderReportsABrokenStream(t *testing.T) {
	boom := errors.New("boom")
	r := newEventReader(io.MultiReader(strings.NewReader("data: 1\n\ndata: 2"), iotest.ErrReader(boom)))
	if ev, err := r.next(); err != nil || string(ev.data) != "1" {
		t.Fatal(ev, err)
	}
	if _, err := r.next(); !errors.Is(err, boom) {
		t.Fatal(err)
	}
}

// One read or many, the events are the same, and nothing panics.
func FuzzEventReader(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte("data: 1\r\n\r\r\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		whole := readAll(t, bytes.NewReader(in))
		bytewise := readAll(t, iotest.OneByteReader(bytes.NewReader(in)))
		if diff := cmp.Diff(whole, bytewise); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestThinkFilter(t *testing.T) {
	for in, want := range map[string]string{
		"":                                    "",
		"Hi":                                  "Hi",
		"<think>CANARY</think>Hi":             "Hi",
		"\n<think>\nCANARY\n</think>\n\nHi\n": "Hi\n",
		"<think>CANARY":                       "",
		"<think></think>":                     "",
		"<thin ice":                           "<thin ice",
		"<thi":                                "<thi",
		"  <":                                 "  <",
		"  lead":                              "  lead",
		"a <think>b</think> c":                "a <think>b</think> c",
		"<think>x</think>a<think>b":           "a<think>b",
		"<think>x</thin</think>é":             "é",
	} {
		for size := 1; size <= len(in)+1; size++ {
			var f thinkFilter
			var got strings.Builder
			for rest := in; rest != ""; {
				n := min(size, len(rest))
				got.WriteString(f.push(rest[:n]))
				rest = rest[n:]
			}
			got.WriteString(f.flush())
			if got.String() != want {
				t.Errorf("%q in pieces of %d: %q, want %q", in, size, got.String(), want)
			}
		}
	}
}
