package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/dhruva-memory/dhruva"
)

func TestGlanceReadsTheTopLevel(t *testing.T) {
	for body, want := range map[string]struct {
		model  string
		stream bool
	}{
		`{"model":"m","stream":true,"messages":[{"model":"x","stream":false}]}`: {"m", true},
		` { "messages" : "\"model\":\"x\"\\" , "model" : "a\u0062\"c" } `:       {`ab"c`, false},
		`{"stream":false,"n":1e400,"x":[[{}],{"y":"}]"}],"model":"é"}`:          {"é", false},
		`{}`:             {"", false},
		`{"model":null}`: {"", false},
	} {
		r, err := Glance(dhruva.DialectChat, "/v1/chat/completions", []byte(body), Limits{})
		if err != nil || r.Projection.Model != want.model || r.Projection.Stream != want.stream || r.Projection.Injectable != -1 {
			t.Errorf("%s: %+v %v", body, r, err)
		}
	}
}

// What Parse refuses at the top level, Glance refuses too.
func TestGlanceRefuses(t *testing.T) {
	for _, body := range []string{
		`{"model":"a","model":"b"}`, `{"model":"a","Model":"b"}`, `{"mod\u0065l":"a","model":"b"}`, `{"messages":[],"MESSAGES":[]}`,
		`{"model":"a"}x`, `{"model":"a"`, `[]`, ``, `{"model":"a` + "\xff" + `"}`, `{"x":"a}`, `{"x":[[}`, `{"x":}`,
		`{"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
	} {
		if _, err := Glance(dhruva.DialectChat, "/", []byte(body), Limits{}); !errors.Is(err, dhruva.ErrInvalid) {
			t.Errorf("%.60s: %v", body, err)
		}
	}
}

// FuzzGlance: whatever Parse takes, Glance takes and reads alike; nothing
// panics.
func FuzzGlance(f *testing.F) {
	f.Add([]byte(`{"model":"m","stream":true,"messages":[{"role":"user","content":"a\"\\"}],"x":{"y":[1,-2.5e3,"]"]}}`))
	f.Add([]byte(`{"x":"\\\\\"","model":"m"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		full, err := chat{Limits{}.withDefaults()}.Parse("/v1/chat/completions", nil, body)
		g, gerr := Glance(dhruva.DialectChat, "/v1/chat/completions", body, Limits{})
		if err == nil && (gerr != nil || g.Projection.Model != full.Projection.Model || g.Projection.Stream != full.Projection.Stream) {
			t.Errorf("%q: parsed %q %v, glanced %+v %v", body, full.Projection.Model, full.Projection.Stream, g, gerr)
		}
	})
}
