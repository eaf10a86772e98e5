package smriti

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/dhruva-memory/dhruva"
)

// A body's schema is a struct. Its tags say what is wanted of a field: need (it
// must be there), blank:"no" (not only white space), max and min (characters of a
// text, or bounds of a number), one (a list of words). A field that is absent or
// null keeps its default.

// id is a UUID as a client writes it; "" is none.
type id string

// UnmarshalJSON takes every form of a UUID that Smriti took.
func (i *id) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	u, err := uuid.Parse(strings.TrimSpace(s))
	if err != nil {
		return errUUID
	}
	*i = id(u.String())
	return nil
}

var errUUID = errors.New("not a UUID")

// number is a number as a client writes it.
type number float64

// UnmarshalJSON takes a number, also in quotes, as Smriti did.
func (n *number) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return errNumber
	}
	*n = number(f)
	return nil
}

var errNumber = errors.New("not a number")

// body reads a call's body into a schema.
func body[T any](c *call) (T, error) {
	var out T
	if !utf8.Valid(c.body) {
		return out, bad("the body is not valid UTF-8")
	}
	raw := map[string]json.RawMessage{}
	if err := json.Unmarshal(c.body, &raw); err != nil || raw == nil {
		return out, notObject(c.body, err)
	}
	var faults []fault
	v := reflect.ValueOf(&out).Elem()
	for i := range v.NumField() {
		if f := readField(raw, v.Type().Field(i), v.Field(i)); f != nil {
			faults = append(faults, *f)
		}
	}
	return out, faulty(faults...)
}

func notObject(body []byte, err error) error {
	var syntax *json.SyntaxError
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return faulty(fault{[]any{"body"}, "Field required", "missing"})
	case errors.As(err, &syntax) || err != nil && !json.Valid(body):
		return faulty(fault{[]any{"body"}, "JSON decode error", "json_invalid"})
	}
	return faulty(fault{[]any{"body"}, "Input should be a valid dictionary or object to extract fields from", "model_attributes_type"})
}

// readField reads one field, and says what is wrong with it.
func readField(raw map[string]json.RawMessage, f reflect.StructField, into reflect.Value) *fault {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	_, need := f.Tag.Lookup("need")
	value, there := raw[name]
	loc := []any{"body", name}
	switch {
	case !there && need:
		return &fault{loc, "Field required", "missing"}
	case !there, string(value) == "null" && !need:
		return nil
	case string(value) == "null":
		return wrongType(loc, into.Type(), nil)
	}
	if err := json.Unmarshal(value, into.Addr().Interface()); err != nil {
		return wrongType(loc, into.Type(), err)
	}
	return judge(loc, f.Tag, into)
}

// wrongType says what a field should be.
func wrongType(loc []any, t reflect.Type, err error) *fault {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var inner *elementFault
	switch {
	case errors.As(err, &inner):
		f := inner.fault
		f.Loc = append(loc, f.Loc...)
		return &f
	case errors.Is(err, errUUID):
		return &fault{loc, "Input should be a valid UUID", "uuid_parsing"}
	}
	switch t.Kind() {
	case reflect.String:
		return &fault{loc, "Input should be a valid string", "string_type"}
	case reflect.Bool:
		return &fault{loc, "Input should be a valid boolean", "bool_type"}
	case reflect.Int, reflect.Int64:
		return &fault{loc, "Input should be a valid integer", "int_type"}
	case reflect.Float64:
		return &fault{loc, "Input should be a valid number", "float_type"}
	case reflect.Slice:
		return &fault{loc, "Input should be a valid list", "list_type"}
	}
	return &fault{loc, "Input should be a valid dictionary", "dict_type"}
}

// judge holds a value against the tags of its field.
func judge(loc []any, tag reflect.StructTag, v reflect.Value) *fault {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		return judgeText(loc, tag, v.String())
	case reflect.Int, reflect.Int64:
		return judgeNumber(loc, tag, v.Int())
	case reflect.Slice:
		for i := range v.Len() {
			if e := v.Index(i); e.Kind() == reflect.String && !clean(e.String()) {
				return &fault{append(loc, i), "Input should be a valid string", "string_unicode"}
			}
		}
	}
	return nil
}

// clean: text that a store takes.
func clean(s string) bool { return dhruva.ValidText("text", s) == nil }

func judgeText(loc []any, tag reflect.StructTag, s string) *fault {
	n := utf8.RuneCountInString(s)
	switch {
	case !clean(s):
		return &fault{loc, "Input should be a valid string", "string_unicode"}
	case tag.Get("blank") == "no" && strings.TrimSpace(s) == "":
		return &fault{loc, "Value error, must not be blank", "value_error"}
	case tag.Get("min") != "" && n < bound(tag.Get("min")):
		return &fault{loc, fmt.Sprintf("String should have at least %s character", tag.Get("min")), "string_too_short"}
	case tag.Get("max") != "" && n > bound(tag.Get("max")):
		return &fault{loc, fmt.Sprintf("String should have at most %s characters", tag.Get("max")), "string_too_long"}
	}
	if one := tag.Get("one"); one != "" {
		return judgeWord(loc, strings.Fields(one), s)
	}
	return nil
}

func judgeWord(loc []any, words []string, s string) *fault {
	for _, w := range words {
		if w == s {
			return nil
		}
	}
	return &fault{loc, "Input should be '" + strings.Join(words, "', '") + "'", "literal_error"}
}

func judgeNumber(loc []any, tag reflect.StructTag, n int64) *fault {
	switch {
	case tag.Get("min") != "" && n < int64(bound(tag.Get("min"))):
		return &fault{loc, "Input should be greater than or equal to " + tag.Get("min"), "greater_than_equal"}
	case tag.Get("max") != "" && n > int64(bound(tag.Get("max"))):
		return &fault{loc, "Input should be less than or equal to " + tag.Get("max"), "less_than_equal"}
	}
	return nil
}

// bound is a number in a tag.
func bound(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic("smriti: tag " + strconv.Quote(s)) // a test reads all tags
	}
	return n
}

// elementFault is a fault within a field.
type elementFault struct{ fault }

// Error is the message.
func (e *elementFault) Error() string { return e.Msg }

// pathID is an id of the path.
func (c *call) pathID(name string) (string, error) { return parseID("path", name, c.PathValue(name)) }

// queryID is an id of the query, "" when it is not there.
func (c *call) queryID(name string) (string, error) {
	v := c.query().Get(name)
	if v == "" {
		return "", nil
	}
	return parseID("query", name, v)
}

// needQueryID is an id that the query must have.
func (c *call) needQueryID(name string) (string, error) {
	if c.query().Get(name) == "" {
		return "", faulty(fault{[]any{"query", name}, "Field required", "missing"})
	}
	return c.queryID(name)
}

func parseID(where, name, value string) (string, error) {
	u, err := uuid.Parse(value)
	if err != nil {
		return "", faulty(fault{[]any{where, name}, errUUID.Error(), "uuid_parsing"})
	}
	return u.String(), nil
}

// queryFlag is a boolean of the query, in the words that Smriti took.
func (c *call) queryFlag(name string) (bool, error) {
	switch strings.ToLower(c.query().Get(name)) {
	case "", "0", "false", "off", "no", "n", "f":
		return false, nil
	case "1", "true", "on", "yes", "y", "t":
		return true, nil
	}
	return false, faulty(fault{[]any{"query", name}, "Input should be a valid boolean, unable to interpret input", "bool_parsing"})
}

func (c *call) query() url.Values { return c.URL.Query() }

// orNull is a text that is null on the wire when there is none.
func orNull[T ~string](s T) *T {
	if s == "" {
		return nil
	}
	return &s
}

// or is the first text that is there.
func or[T ~string](texts ...T) T {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}
