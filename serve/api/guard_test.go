package api

import (
	"encoding/json"
	"testing"
)

// What encoding/json would mend silently is refused: names that stand twice,
// however they are spelled, and halves of surrogate pairs.
func TestStrictJSON(t *testing.T) {
	for body, ok := range map[string]bool{
		`{"a":1,"b":[{"a":1},{"a":2}],"c":{"a":"a"}}`: true,
		`{"a":"a","b":["a","a"]}`:                     true,
		`{"a":1,"a":2}`:                               false,
		`{"title":"one","t\u0069tle":"two"}`:          false,
		`{"a":{"b":1,"b":2}}`:                         false,
		`[{"a":[],"a":{}}]`:                           false,
		`{"a":"\ud83d\ude00 \\ud800 \\\\"}`:           true,
		`{"a":"\ud800"}`:                              false,
		`{"a":"\\\ud800"}`:                            false,
		`{"a":"\ude00\ud83d"}`:                        false,
		`{"a":"\ud83dx"}`:                             false,
		"{\"a\":\"\xff\"}":                            false,
		`{"A":1}`:                                     false,
	} {
		var v any
		if err := strictJSON().Unmarshal([]byte(body), &v); (err == nil) != ok {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func FuzzStrictJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"\ud83d\ude00"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		if strictJSON().Unmarshal(data, &v) == nil && !json.Valid(data) {
			t.Errorf("%q is taken", data)
		}
	})
}
