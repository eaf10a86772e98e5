package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"unicode/utf8"

	"github.com/dhruva-memory/dhruva"
)

var seeds = []string{
	`{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
	`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a\u00e9\ud83d\ude00\ud800"}]}],"n":2,"stream":true}`,
	`{"model":"m","input":"<system-reminder>x</system-reminder>\n<dhruva-memory v=\"1\" tag=\"t\">\nz</dhruva-memory>hello"}`,
	`{"input":[{"role":"user","content":"a"},{"type":"reasoning","id":"rs","summary":[]},{"role":"assistant","content":[{"type":"output_text","text":"b"}]},{"role":"user","content":[{"type":"input_text","text":"c"}]}]}`,
	`{"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"b"}]},{"role":"user","content":[{"type":"text","text":"c"}]}]}`,
	` {"messages" : [ {"role":"user","content":"q"} , {"role":"assistant","content":"r"} , {"role":"user","content":"s"} ] , "x":1e400, "y":18446744073709551616 } `,
}

// FuzzApply holds the law: a body fails to parse, or an empty plan returns it,
// and an edit changes nothing but its splice.
func FuzzApply(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), "remembered \"text\"\n")
	}
	f.Fuzz(func(t *testing.T, body []byte, text string) {
		for _, name := range allDialects {
			fuzzApply(t, dialectNamed(t, name), body, text)
		}
	})
}

func fuzzApply(t *testing.T, d Dialect, body []byte, text string) {
	r, err := d.Parse("", http.Header{}, body)
	if err != nil {
		if !errors.Is(err, dhruva.ErrInvalid) && !errors.Is(err, dhruva.ErrTooLarge) {
			t.Fatalf("error of no class: %v", err)
		}
		return
	}
	if !json.Valid(body) || !utf8.Valid(body) {
		t.Fatalf("parsed what is not JSON: %q", body)
	}
	out, _, err := d.Apply(r, dhruva.Plan{})
	if err != nil || &out[0] != &body[0] || len(out) != len(body) {
		t.Fatal("the law is broken")
	}
	for _, plan := range plansFor(r, text) {
		out, splices, err := d.Apply(r, plan)
		if err != nil {
			if utf8.ValidString(text) && text != "" {
				t.Fatalf("plan %+v: %v", plan, err)
			}
			continue
		}
		if !json.Valid(out) {
			t.Fatalf("the edited body is not JSON: %q", out)
		}
		if back := undo(string(body), out, splices); !bytes.Equal(back, body) {
			t.Fatalf("undone %q, want %q", back, body)
		}
		checkEdited(t, d, r, plan, out, text)
	}
}

// plansFor makes every plan that must be possible for a request.
func plansFor(r *Request, text string) []dhruva.Plan {
	p := &r.Projection
	if p.ProviderState {
		return nil
	}
	var plans []dhruva.Plan
	if p.Injectable >= 0 {
		plans = append(plans, dhruva.Plan{Edits: []dhruva.Edit{{Kind: dhruva.EditInject, Message: p.Injectable, Text: text}}})
	}
	var edits []dhruva.Edit
	kept := 0
	for i, m := range p.Messages {
		switch {
		case m.Human && i%2 == 0:
			edits = append(edits, dhruva.Edit{Kind: dhruva.EditReplay, Message: i, Text: text})
			kept++
		case !m.Protected:
			edits = append(edits, dhruva.Edit{Kind: dhruva.EditRemove, Message: i})
		default:
			kept++
		}
	}
	if len(edits) > 0 && kept > 0 {
		plans = append(plans, dhruva.Plan{Edits: edits})
	}
	return plans
}

// checkEdited parses the edited body again: the messages that stayed say what
// they said, and an edited one ends with the text.
func checkEdited(t *testing.T, d Dialect, r *Request, plan dhruva.Plan, out []byte, text string) {
	again, err := d.Parse("", http.Header{}, out)
	if err != nil {
		t.Fatalf("the edited body does not parse: %v: %q", err, out)
	}
	edited, removed := map[int]bool{}, map[int]bool{}
	for _, e := range plan.Edits {
		if e.Kind == dhruva.EditRemove {
			removed[e.Message] = true
		} else {
			edited[e.Message] = true
		}
	}
	at := 0
	for i, m := range r.Projection.Messages {
		if removed[i] {
			continue
		}
		if at >= len(again.Projection.Messages) {
			t.Fatalf("message %d is lost", i)
		}
		n := again.Projection.Messages[at]
		at++
		if !edited[i] {
			if !bytes.Equal(r.Body[m.Start:m.End], again.Body[n.Start:n.End]) {
				t.Fatalf("message %d changed", i)
			}
			continue
		}
		last := n.Parts[len(n.Parts)-1].Text
		if r.anchors[i].form == formString {
			want := m.Parts[0].Text + "\n\n" + text
			if last != want {
				t.Fatalf("message %d says %q, want %q", i, last, want)
			}
		} else if last != text {
			t.Fatalf("message %d ends with %q, want %q", i, last, text)
		}
	}
	if at != len(again.Projection.Messages) {
		t.Fatalf("%d messages, want %d", len(again.Projection.Messages), at)
	}
}

// FuzzScanner compares the scanner with the standard library: they accept the
// same texts, except that the scanner refuses deep nesting and invalid UTF-8.
func FuzzScanner(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Add([]byte(`[1,-0,0.5e+10,"\u12aF\/",true,null,{}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := scanner{b: data, maxDepth: 1000}
		err := s.skip()
		if err == nil {
			err = s.end()
		}
		want := json.Valid(data) && utf8.Valid(data)
		if deep := bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > 1000; !deep && (err == nil) != want {
			t.Fatalf("%q: %v, the standard library says %v", data, err, want)
		}
		checkString(t, data)
	})
}

// checkString compares decoding and counting of one literal.
func checkString(t *testing.T, data []byte) {
	s := scanner{b: data, maxDepth: 1}
	if len(data) == 0 || data[0] != '"' {
		return
	}
	lit, err := s.text()
	if err != nil {
		return
	}
	var want string
	if err := json.Unmarshal(data[:lit.end], &want); err != nil {
		t.Fatalf("the standard library refuses %q: %v", data[:lit.end], err)
	}
	if got := decodeLiteral(data, lit); got != want {
		t.Fatalf("%q decodes to %q, want %q", data[:lit.end], got, want)
	}
	if got := s.tally.tokens(); got != dhruva.Estimate(want) {
		t.Fatalf("%q counts %d, want %d", want, got, dhruva.Estimate(want))
	}
	escaped := append(appendEscaped([]byte{'"'}, want), '"')
	var back string
	if err := json.Unmarshal(escaped, &back); err != nil || back != want {
		t.Fatalf("%q escapes to %s", want, escaped)
	}
}

// FuzzObserver feeds an answer whole and split in two places: the observation
// is the same, whatever the bytes are.
func FuzzObserver(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a<think>b</think>c\"}}]}\r\n\r\ndata: [DONE]\n\n"), uint16(10), uint16(20))
	f.Add([]byte("event: content_block_start\rdata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"é\"}}\r\r"), uint16(1), uint16(2))
	f.Add([]byte("data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"x\"}]}}\n\n"), uint16(1), uint16(2))
	f.Add([]byte(`{"object":"response","output":[]}`), uint16(1), uint16(2))
	f.Fuzz(func(t *testing.T, reply []byte, i, j uint16) {
		a, b := min(int(i), len(reply)), min(int(j), len(reply))
		a, b = min(a, b), max(a, b)
		for _, name := range allDialects {
			whole := observeRaw(t, name, reply)
			split := observeRaw(t, name, reply[:a], reply[a:b], reply[b:])
			if diff := diffObservation(whole, split); diff != "" {
				t.Fatalf("%s: %s", name, diff)
			}
			if len(whole.Text) > 64<<10 || !utf8.ValidString(whole.Text) {
				t.Fatalf("%s: bad text of %d bytes", name, len(whole.Text))
			}
		}
	})
}

// FuzzStrip holds that stripping leaves no opening tag behind, and is stable.
func FuzzStrip(f *testing.F) {
	f.Add("a <dhruva-memory v=\"1\" tag=\"x\">\nb\n</dhruva-memory> c")
	f.Add("<dhruva-<dhruva-memory></dhruva-memory>memory> <system-reminder>x</system-reminder>")
	f.Add("<think>a</think>b</think>")
	f.Fuzz(func(t *testing.T, text string) {
		for _, kinds := range []tagKind{kindBlock, kindScaffold, kindThinking, notUser, notAssistant} {
			once, found := strip(kinds, text)
			if again, more := strip(kinds, once); again != once || more != 0 {
				t.Fatalf("%q strips to %q, which strips to %q", text, once, again)
			}
			if found == 0 && once != text {
				t.Fatalf("%q changed to %q without a tag", text, once)
			}
		}
		half := len(text) / 2
		parts := []dhruva.Part{{Text: text[:half]}, {Text: text[half:]}}
		words, _ := said(notUser, parts)
		if again, found := said(notUser, []dhruva.Part{{Text: words}}); again != words || found != 0 {
			t.Fatalf("%+v cleans to %q, which cleans to %q", parts, words, again)
		}
	})
}
