package wire

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/dhruva-memory/dhruva"
)

func dialectNamed(t testing.TB, name dhruva.Dialect) Dialect {
	t.Helper()
	d, ok := New(name, Limits{})
	if !ok {
		t.Fatalf("no dialect %q", name)
	}
	return d
}

func parse(t testing.TB, name dhruva.Dialect, body string) *Request {
	t.Helper()
	r, err := dialectNamed(t, name).Parse("/v1/x", http.Header{}, []byte(body))
	if err != nil {
		t.Fatalf("parse %.200s: %v", body, err)
	}
	return r
}

var allDialects = []dhruva.Dialect{dhruva.DialectChat, dhruva.DialectResponses, dhruva.DialectMessages}

func TestForRequestNamesOnlyTheThreeModelCalls(t *testing.T) {
	for path, want := range map[string]dhruva.Dialect{
		"/v1/chat/completions":      dhruva.DialectChat,
		"/p/x/v1/responses":         dhruva.DialectResponses,
		"/v1/messages":              dhruva.DialectMessages,
		"/v1/messages/count_tokens": "",
		"/v1/responses/compact":     "",
		"/v1/responses/resp_1":      "",
		"/v1/completions":           "",
	} {
		got, _ := Route(http.MethodPost, path)
		if got != want {
			t.Errorf("Route(%s) = %q, want %q", path, got, want)
		}
	}
	if _, ok := ForRequest(http.MethodGet, "/v1/responses"); ok {
		t.Error("a GET has a dialect")
	}
}

func TestEmptyPlanReturnsTheSameSlice(t *testing.T) {
	body := []byte(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
	for _, name := range allDialects {
		d := dialectNamed(t, name)
		r, err := d.Parse("", nil, body)
		if err != nil {
			t.Fatal(err)
		}
		out, splices, err := d.Apply(r, dhruva.Plan{})
		if err != nil || len(splices) != 0 || &out[0] != &body[0] || len(out) != len(body) {
			t.Errorf("%s: Apply(r, Plan{}) is not r.Body (%v)", name, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	deep := `{"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`
	many := `{"messages":[` + strings.Repeat(`{},`, 100_000) + `{}]}`
	cases := map[string]struct {
		body string
		want error
		says string
	}{
		"empty":                   {``, dhruva.ErrInvalid, "byte 0"},
		"not an object":           {`[]`, dhruva.ErrInvalid, "object"},
		"trailing data":           {`{} {}`, dhruva.ErrInvalid, "after the value"},
		"byte-order mark":         {"\xEF\xBB\xBF{}", dhruva.ErrInvalid, "object"},
		"invalid UTF-8":           {"{\"model\":\"a\xff\"}", dhruva.ErrInvalid, "UTF-8"},
		"overlong UTF-8":          {"{\"model\":\"\xc0\xafabcdefgh\"}", dhruva.ErrInvalid, "UTF-8"},
		"UTF-8 surrogate":         {"{\"model\":\"\xed\xa0\x80abcdefgh\"}", dhruva.ErrInvalid, "UTF-8"},
		"invalid UTF-8 in a name": {"{\"a\xff\":1}", dhruva.ErrInvalid, "UTF-8"},
		"control character":       {"{\"model\":\"a\nb\"}", dhruva.ErrInvalid, "control"},
		"bad escape":              {`{"model":"\x"}`, dhruva.ErrInvalid, "escape"},
		"short escape":            {`{"model":"\u12"}`, dhruva.ErrInvalid, "escape"},
		"bad number":              {`{"x":01}`, dhruva.ErrInvalid, "','"},
		"bare fraction":           {`{"x":1.}`, dhruva.ErrInvalid, "number"},
		"plus number":             {`{"x":+1}`, dhruva.ErrInvalid, "value"},
		"trailing comma":          {`{"x":1,}`, dhruva.ErrInvalid, "name"},
		"open string":             {`{"x":"abc`, dhruva.ErrInvalid, "end"},
		"open object":             {`{"x":1`, dhruva.ErrInvalid, "'}'"},
		"deep":                    {deep, dhruva.ErrInvalid, "128"},
		"many":                    {many, dhruva.ErrTooLarge, "100000"},
		"duplicate model":         {`{"model":"a","model":"b"}`, dhruva.ErrInvalid, `"model" twice`},
		"escaped duplicate":       {`{"model":"a","mod\u0065l":"b"}`, dhruva.ErrInvalid, `"model" twice`},
		"case variant":            {`{"Model":"a"}`, dhruva.ErrInvalid, `"Model"`},
		"folding rune":            {`{"meſſages":[]}`, dhruva.ErrInvalid, `"messages"`},
		"N":                       {`{"N":2}`, dhruva.ErrInvalid, `"n"`},
		"duplicate role":          {`{"messages":[{"role":"user","role":"system"}]}`, dhruva.ErrInvalid, `"role" twice`},
		"variant content":         {`{"messages":[{"Content":"x"}]}`, dhruva.ErrInvalid, `"Content"`},
		"duplicate text":          {`{"messages":[{"content":[{"type":"text","text":"a","text":"b"}]}]}`, dhruva.ErrInvalid, `"text" twice`},
	}
	for name, c := range cases {
		if name == "many" {
			c.body = strings.Replace(c.body, "messages", "input", 1)
		}
		for _, dialect := range allDialects {
			_, err := dialectNamed(t, dialect).Parse("", nil, []byte(c.body))
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s, %s: got %v, want %v saying %s", name, dialect, err, c.want, c.says)
			}
		}
	}
}

func TestInjectionAppendsBehindTheLastHumanText(t *testing.T) {
	cases := []struct {
		name       dhruva.Dialect
		body, want string
	}{
		{dhruva.DialectChat, `{"messages":[{"content":"hi","role":"user"}]}`,
			`{"messages":[{"content":"hi\n\n<M> \"é\"","role":"user"}]}`},
		{dhruva.DialectChat, `{"messages":[{"role":"user","content":[{"type":"text","text":"hi"} ] }]}`,
			`{"messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"<M> \"é\""} ] }]}`},
		{dhruva.DialectChat, `{"input":"hi"}`, `{"input":"hi\n\n<M> \"é\""}`},
		{dhruva.DialectResponses, `{"input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]}]}`,
			`{"input":[{"role":"user","content":[{"type":"input_text","text":"hi"},{"type":"input_text","text":"<M> \"é\""}]}]}`},
		{dhruva.DialectMessages, `{"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]}`,
			`{"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}},{"type":"text","text":"<M> \"é\""}]}]}`},
	}
	for _, c := range cases {
		r := parse(t, c.name, c.body)
		edit := dhruva.Edit{Kind: dhruva.EditInject, Message: 0, Text: `<M> "é"`}
		out, splices, err := dialectNamed(t, c.name).Apply(r, dhruva.Plan{Edits: []dhruva.Edit{edit}})
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		want := strings.ReplaceAll(c.want, `"<M> "é""`, `"<M> \"é\""`)
		if string(out) != want {
			t.Errorf("got  %s\nwant %s", out, want)
		}
		if back := undo(c.body, out, splices); !bytes.Equal(back, []byte(c.body)) {
			t.Errorf("undone: %s", back)
		}
	}
}

// undo takes insertions back out of a body and puts cuts back in.
func undo(original string, out []byte, splices []dhruva.Splice) []byte {
	var back []byte
	from, at := 0, 0 // in out, in original
	for _, s := range splices {
		back = append(back, out[from:s.Offset]...)
		at += s.Offset - from
		back = append(back, original[at:at+s.Cut]...)
		at += s.Cut
		from = s.Offset + s.Len
	}
	return append(back, out[from:]...)
}
