package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/dhruva-memory/dhruva"
)

// benchBody makes a body of about size bytes in the manner of an agent's
// session: a system prompt, tools, questions, calls and results full of escapes.
func benchBody(name dhruva.Dialect, size int) []byte {
	result := strings.Repeat(`func main() {\n\tfmt.Println(\"hello, world\")\n}\n// a comment that is rather longer than the code itself\n`, 20)
	var b strings.Builder
	b.WriteString(`{"model":"m","max_tokens":4096,"stream":true,"`)
	b.WriteString(map[dhruva.Dialect]string{dhruva.DialectResponses: "input"}[name])
	if name != dhruva.DialectResponses {
		b.WriteString("messages")
	}
	b.WriteString(`":[`)
	for i := 0; b.Len() < size-300; i++ {
		switch name {
		case dhruva.DialectChat:
			fmt.Fprintf(&b, `{"role":"user","content":"question %d"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"read","arguments":"{\"path\":\"a.go\"}"}}]},{"role":"tool","tool_call_id":"call_%d","content":"%s"},{"role":"assistant","content":"It prints a greeting."},`, i, i, i, result)
		case dhruva.DialectMessages:
			fmt.Fprintf(&b, `{"role":"user","content":[{"type":"text","text":"question %d"}]},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"read","input":{"path":"a.go"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"%s"}]},{"role":"assistant","content":[{"type":"text","text":"It prints a greeting."}]},`, i, i, i, result)
		default:
			fmt.Fprintf(&b, `{"role":"user","content":"question %d"},{"type":"function_call","id":"fc_%d","call_id":"call_%d","name":"read","arguments":"{\"path\":\"a.go\"}"},{"type":"function_call_output","call_id":"call_%d","output":"%s"},{"role":"assistant","content":[{"type":"output_text","text":"It prints a greeting."}]},`, i, i, i, i, result)
		}
	}
	b.WriteString(`{"role":"user","content":"and what does it say?"}]}`)
	return []byte(b.String())
}

func BenchmarkParseApply(b *testing.B) {
	for _, name := range allDialects {
		for _, size := range []int{200, 100 << 10, 1 << 20} {
			body := benchBody(name, size)
			b.Run(fmt.Sprintf("%s/%dB", name, size), func(b *testing.B) {
				d := dialectNamed(b, name)
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					r, err := d.Parse("", http.Header{}, body)
					if err != nil {
						b.Fatal(err)
					}
					plan := dhruva.Plan{Edits: []dhruva.Edit{{Kind: dhruva.EditInject, Message: r.Projection.Injectable, Text: "remembered"}}}
					if _, _, err := d.Apply(r, plan); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkReference is what the same body costs elsewhere: a copy of it, and
// the standard library's check of its grammar.
func BenchmarkReference(b *testing.B) {
	body := benchBody(dhruva.DialectChat, 1<<20)
	b.Run("copy", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			bytes.Clone(body)
		}
	})
	b.Run("json.Valid", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			json.Valid(body)
		}
	})
	b.Run("scanner", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			s := scanner{b: body, maxDepth: 128}
			if err := s.skip(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkScanPlain is the floor: one megabyte of prose in one string.
func BenchmarkScanPlain(b *testing.B) {
	body := []byte(`{"messages":[{"role":"system","content":"` + strings.Repeat("plain prose without any escape. ", 32<<10) + `"},{"role":"user","content":"hi"}]}`)
	d := dialectNamed(b, dhruva.DialectChat)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Parse("", http.Header{}, body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkObserveChat(b *testing.B) {
	var reply strings.Builder
	for i := range 500 {
		fmt.Fprintf(&reply, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word %d \"},\"finish_reason\":null}]}\n\n", i)
	}
	reply.WriteString("data: [DONE]\n\n")
	raw := []byte(reply.String())
	d := dialectNamed(b, dhruva.DialectChat)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		o := d.Observe("text/event-stream", "")
		for at := 0; at < len(raw); at += 4096 {
			_, _ = o.Write(raw[at:min(at+4096, len(raw))])
		}
		o.Close()
	}
}
