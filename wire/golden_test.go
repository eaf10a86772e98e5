package wire

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/dhruva-memory/dhruva"
)

// A transcript is testdata/<dialect>/<case>.txtar with any of the files
//
//	request      the client's body
//	agent        its User-Agent
//	projection   what Parse says, one message a line
//	plan         a dhruva.Plan as JSON
//	expected     the body after Apply
//	reply        the raw answer
//	observation  a dhruva.Observation as JSON
//
// -update rewrites projection, expected and observation.
var update = flag.Bool("update", false, "rewrite the expectations of the transcripts")

type transcript struct {
	name    string
	path    string
	dialect dhruva.Dialect
	archive *txtar.Archive
}

func (c *transcript) file(name string) ([]byte, bool) {
	for _, f := range c.archive.Files {
		if f.Name == name {
			return f.Data, true
		}
	}
	return nil, false
}

func (c *transcript) set(t *testing.T, name string, data []byte) {
	t.Helper()
	for i := range c.archive.Files {
		if c.archive.Files[i].Name == name {
			c.archive.Files[i].Data = data
			return
		}
	}
	c.archive.Files = append(c.archive.Files, txtar.File{Name: name, Data: data})
}

func transcripts(t testing.TB) []*transcript {
	t.Helper()
	paths, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	var list []*transcript
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Base(filepath.Dir(path))
		name := dir + "/" + strings.TrimSuffix(filepath.Base(path), ".txtar")
		list = append(list, &transcript{name, path, dhruva.Dialect(dir), archive})
	}
	return list
}

func TestTranscripts(t *testing.T) {
	for _, c := range transcripts(t) {
		t.Run(c.name, func(t *testing.T) {
			if body, ok := c.file("request"); ok {
				c.testRequest(t, body)
			}
			if reply, ok := c.file("reply"); ok {
				c.testReply(t, reply)
			}
			if *update {
				if err := os.WriteFile(c.path, txtar.Format(c.archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func (c *transcript) testRequest(t *testing.T, body []byte) {
	d := dialectNamed(t, c.dialect)
	header := http.Header{}
	if agent, ok := c.file("agent"); ok {
		header.Set("User-Agent", strings.TrimSpace(string(agent)))
	}
	r, err := d.Parse("", header, body)
	if err != nil {
		t.Fatal(err)
	}
	c.compare(t, "projection", []byte(describe(r)))
	if out, _, err := d.Apply(r, dhruva.Plan{}); err != nil || &out[0] != &body[0] {
		t.Fatalf("the empty plan is not free: %v", err)
	}
	raw, ok := c.file("plan")
	if !ok {
		return
	}
	var plan dhruva.Plan
	if err := json.Unmarshal(raw, &plan); err != nil {
		t.Fatal(err)
	}
	out, splices, err := d.Apply(r, plan)
	if err != nil {
		c.compare(t, "expected", []byte("error: "+err.Error()+"\n"))
		return
	}
	c.compare(t, "expected", out)
	if back := undo(string(body), out, splices); !bytes.Equal(back, body) {
		t.Errorf("undoing the splices gives\n%s", back)
	}
}

func (c *transcript) testReply(t *testing.T, reply []byte) {
	seen := observeRaw(t, c.dialect, reply)
	out, err := json.MarshalIndent(seen, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	c.compare(t, "observation", append(out, '\n'))
}

func (c *transcript) compare(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		c.set(t, name, got)
		return
	}
	want, ok := c.file(name)
	if !ok {
		t.Fatalf("the transcript has no %s", name)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// describe writes a projection for people.
func describe(r *Request) string {
	var b strings.Builder
	p := &r.Projection
	fmt.Fprintf(&b, "%s model=%q stream=%t choices=%d breakpoints=%d estimate=%d", p.Dialect, p.Model, p.Stream, p.Choices, p.Breakpoints, p.Estimate)
	for flag, on := range map[string]bool{" provider-state": p.ProviderState} {
		if on {
			b.WriteString(flag)
		}
	}
	if p.SideRequest {
		b.WriteString(" side-request")
	}
	if p.Background {
		b.WriteString(" background")
	}
	fmt.Fprintf(&b, " injectable=%d", p.Injectable)
	if p.NotInjectable != "" {
		fmt.Fprintf(&b, " (%s)", p.NotInjectable)
	}
	b.WriteByte('\n')
	for i, m := range p.Messages {
		fmt.Fprintf(&b, "%d %s%s ~%d", i, m.Role, describeFlags(&m), m.Estimate)
		if m.Text != "" {
			fmt.Fprintf(&b, " %q", m.Text)
		}
		for _, print := range m.Fingerprints {
			fmt.Fprintf(&b, " %s", print)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func describeFlags(m *dhruva.Message) string {
	var out string
	for _, f := range []struct {
		name string
		on   bool
	}{
		{"human", m.Human}, {"protected", m.Protected}, {"tool-call", m.ToolCall},
		{"tool-result", m.ToolResult}, {"thinking", m.Thinking}, {"breakpoint", m.Breakpoint},
	} {
		if f.on {
			out += " " + f.name
		}
	}
	return out
}

// TestR15_EverySplitObservesTheSame cuts every reply of every transcript at
// every byte, feeds it byte by byte, in random pieces, and with other line ends.
func TestR15_EverySplitObservesTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range transcripts(t) {
		reply, ok := c.file("reply")
		if !ok {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			forms := map[string][]byte{"LF": reply}
			if reply[0] != '{' {
				forms["CRLF"] = bytes.ReplaceAll(reply, []byte("\n"), []byte("\r\n"))
				forms["CR"] = bytes.ReplaceAll(reply, []byte("\n"), []byte("\r"))
				forms["BOM"] = append([]byte("\xEF\xBB\xBF"), reply...)
				forms["no final line end"] = bytes.TrimRight(reply, "\n")
			}
			want := observeRaw(t, c.dialect, reply)
			for form, raw := range forms {
				step := 1
				if form != "LF" && form != "CRLF" {
					step = 5 // the rest differs in single places only
				}
				for at := 0; at <= len(raw); at += step {
					same(t, form, want, observeRaw(t, c.dialect, raw[:at], raw[at:]))
				}
				same(t, form, want, observeRaw(t, c.dialect, single(raw)...))
				for range 20 {
					same(t, form, want, observeRaw(t, c.dialect, pieces(rng, raw)...))
				}
			}
		})
	}
}

func same(t *testing.T, form string, want, got dhruva.Observation) {
	t.Helper()
	if diff := diffObservation(want, got); diff != "" {
		t.Fatalf("%s: (-whole +split):\n%s", form, diff)
	}
}

func single(raw []byte) [][]byte {
	var out [][]byte
	for i := range raw {
		out = append(out, raw[i:i+1])
	}
	return out
}

func pieces(rng *rand.Rand, raw []byte) [][]byte {
	var out [][]byte
	for len(raw) > 0 {
		n := 1 + rng.IntN(min(len(raw), 200))
		out = append(out, raw[:n])
		raw = raw[n:]
	}
	return out
}
