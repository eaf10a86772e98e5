package llm

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestJSONIsFoundAndNeverRepaired(t *testing.T) {
	for answer, want := range map[string]string{
		`{"a":1}`: `{"a":1}`, " [1, 2]\n": "[1, 2]", `"text"`: `"text"`, "null": "null", "\ufeff{}": "{}",
		"```json\n{\"a\":1}\n```": `{"a":1}`, "```\n[1]\n```": "[1]",
		"Sure!\n\n```json\n{\"a\":1}\n```\nAnything else?":            `{"a":1}`,
		`A set {x, y} and { z: 1 } gives {"a": {"b": "}"}} as asked.`: `{"a": {"b": "}"}}`,
		`First {"a":1}, then {"b":[1,2,3]}.`:                          `{"b":[1,2,3]}`,
		"{\n  \"a\": 1\n}":                                            "{\n  \"a\": 1\n}",
		"":                                                            "", "I cannot.": "", "{": "", `{"a":1`: "", `{"a":1,}`: "", `{"a":{"b":1},}`: "", `{"a":"x`: "",
		`{"title":"cut","tasks":[{"text":"x"}`: "", "{'a': 1}": "", "[1, 2": "", `{"a": nan}`: "",
	} {
		got, ok := JSON(answer)
		if string(got) != want || ok != (want != "") {
			t.Errorf("%q: %q, %t", answer, got, ok)
		}
	}
	for _, long := range []string{strings.Repeat("{", 1<<20), strings.Repeat(`{"a":`, 1<<18), strings.Repeat("{ ", 1<<19), strings.Repeat(`{"a"}`, 1<<18)} {
		if got, ok := JSON(long); ok { // a search that is not linear would not come back
			t.Errorf("found %.20q in %.20q", got, long)
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":1}`, "```json\n{\"a\":1}\n```", `x {"a":"}"} y`, `{"a":{"b":1},}`, `{"a":"\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		got, ok := JSON(answer)
		if ok != json.Valid(got) || ok && !strings.Contains(answer, string(got)) {
			t.Fatalf("%q: %q, %t", answer, got, ok)
		}
		if raw := strings.TrimSpace(answer); json.Valid([]byte(raw)) && string(got) != raw {
			t.Fatalf("%q was valid and became %q", answer, got)
		}
	})
}
