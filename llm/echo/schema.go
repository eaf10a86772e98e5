package echo

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxDepth ends recursive schemas, maxItems an unreasonable minItems, and
// maxNodes and maxBytes what both leave possible together: a value that
// branches at every level and repeats a long text. Past a limit it is null.
const (
	maxDepth = 12
	maxItems = 64
	maxNodes = 2_000
	maxBytes = 8 << 20
)

// fromSchema makes a value that fits a JSON Schema as structured output uses
// it: objects with all their properties in order, arrays with one item (or
// minItems), the first of an enumeration, and the user's text in every free
// string. pattern and most formats are beyond it.
func fromSchema(schema json.RawMessage, user string) json.RawMessage {
	g := &generator{root: schema, text: user}
	return g.value(schema, 0)
}

type generator struct {
	root  json.RawMessage
	text  string
	nodes int
	bytes int
}

// leaf accounts for a value without members.
func (g *generator) leaf(raw json.RawMessage) json.RawMessage {
	if g.bytes += len(raw); g.bytes > maxBytes {
		return json.RawMessage("null")
	}
	return raw
}

// node is what the generator reads of a schema.
type node struct {
	Ref        string            `json:"$ref"`
	Type       typeNames         `json:"type"`
	Const      json.RawMessage   `json:"const"`
	Enum       []json.RawMessage `json:"enum"`
	AnyOf      []json.RawMessage `json:"anyOf"`
	OneOf      []json.RawMessage `json:"oneOf"`
	AllOf      []json.RawMessage `json:"allOf"`
	Properties json.RawMessage   `json:"properties"`
	Required   []string          `json:"required"`
	Items      json.RawMessage   `json:"items"`
	MinItems   int               `json:"minItems"`
	MaxItems   *int              `json:"maxItems"`
	MinLength  int               `json:"minLength"`
	MaxLength  *int              `json:"maxLength"`
	Minimum    json.RawMessage   `json:"minimum"`
	Maximum    json.RawMessage   `json:"maximum"`
	Format     string            `json:"format"`
}

// typeNames is a type or a list of types.
type typeNames []string

// UnmarshalJSON takes a string or an array of strings.
func (t *typeNames) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*t = typeNames{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(raw, &many); err != nil {
		return err
	}
	*t = many
	return nil
}

func (g *generator) value(schema json.RawMessage, depth int) json.RawMessage {
	if g.nodes++; depth > maxDepth || g.nodes > maxNodes || g.bytes > maxBytes {
		return json.RawMessage("null")
	}
	var n node
	// A schema that is true, or that uses a keyword otherwise than the
	// standard does, leaves what could be read.
	_ = json.Unmarshal(schema, &n)
	switch {
	case n.Ref != "":
		return g.value(g.resolve(n.Ref), depth+1)
	case len(n.Const) > 0:
		return g.leaf(n.Const)
	case len(n.Enum) > 0:
		return g.leaf(n.Enum[0])
	}
	for _, alternatives := range [][]json.RawMessage{n.AnyOf, n.OneOf, n.AllOf} {
		if len(alternatives) > 0 {
			return g.value(alternatives[0], depth+1)
		}
	}
	return g.typed(n, depth)
}

func (g *generator) typed(n node, depth int) json.RawMessage {
	switch n.kind() {
	case "object":
		return g.object(n, depth)
	case "array":
		return g.array(n, depth)
	case "string":
		return g.leaf(value(g.fit(n)))
	case "integer", "number":
		return n.number()
	case "boolean":
		return json.RawMessage("false")
	case "null":
		return json.RawMessage("null")
	}
	return g.leaf(value(g.text))
}

// kind is the type, or what the keywords suggest when there is none.
func (n node) kind() string {
	for _, t := range n.Type {
		if t != "null" {
			return t
		}
	}
	switch {
	case len(n.Type) > 0:
		return "null"
	case len(n.Properties) > 0:
		return "object"
	case len(n.Items) > 0:
		return "array"
	}
	return ""
}

func (g *generator) object(n node, depth int) json.RawMessage {
	var kv []any
	properties := map[string]json.RawMessage{}
	_ = json.Unmarshal(n.Properties, &properties) // absent or odd: none
	for _, name := range keysInOrder(n.Properties, properties) {
		// Deep down only what is required: optional branches may recurse.
		if depth < maxDepth/2 || slices.Contains(n.Required, name) {
			kv = append(kv, name, g.value(properties[name], depth+1))
		}
	}
	for _, name := range n.Required {
		if _, known := properties[name]; !known {
			kv = append(kv, name, g.leaf(value(g.text)))
		}
	}
	return members(kv)
}

// members is obj for names that need escaping.
func members(kv []any) json.RawMessage {
	b := []byte{'{'}
	for i := 0; i < len(kv); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, value(kv[i])...), ':')
		b = append(b, value(kv[i+1])...)
	}
	return append(b, '}')
}

// keysInOrder lists an object's keys as written.
func keysInOrder(raw json.RawMessage, object map[string]json.RawMessage) []string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return slices.Sorted(maps.Keys(object))
	}
	var out []string
	for dec.More() {
		key, err := dec.Token()
		name, ok := key.(string)
		var skip json.RawMessage
		if err != nil || !ok || dec.Decode(&skip) != nil {
			break
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func (g *generator) array(n node, depth int) json.RawMessage {
	count := max(1, min(n.MinItems, maxItems))
	if n.MaxItems != nil {
		count = min(count, max(0, *n.MaxItems))
	}
	if depth >= maxDepth/2 {
		count = min(count, n.MinItems)
	}
	items := make([]json.RawMessage, max(0, count))
	for i := range items {
		items[i] = g.value(n.Items, depth+1)
	}
	return list(items...)
}

// fit is the text within the length limits, or a fixed value of a format.
func (g *generator) fit(n node) string {
	switch n.Format {
	case "date-time":
		return "2026-01-01T00:00:00Z"
	case "date":
		return "2026-01-01"
	case "time":
		return "00:00:00Z"
	case "uuid":
		return "00000000-0000-4000-8000-000000000000"
	case "email":
		return "echo@example.com"
	case "uri", "url":
		return "https://example.com/"
	}
	s := g.text
	if missing := min(n.MinLength, 1<<16) - utf8.RuneCountInString(s); missing > 0 {
		s += strings.Repeat(".", missing)
	}
	if n.MaxLength != nil {
		s = string([]rune(s)[:max(0, min(*n.MaxLength, utf8.RuneCountInString(s)))])
	}
	return s
}

// number is the least value allowed, or the greatest, or zero.
func (n node) number() json.RawMessage {
	var v float64
	switch {
	case json.Unmarshal(n.Minimum, &v) == nil && v > 0:
		return n.Minimum
	case json.Unmarshal(n.Maximum, &v) == nil && v < 0:
		return n.Maximum
	}
	return json.RawMessage("0")
}

// resolve follows a local reference such as #/$defs/task; anything else is the
// empty schema.
func (g *generator) resolve(ref string) json.RawMessage {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := g.root
	for _, name := range strings.Split(path, "/")[1:] {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		var object map[string]json.RawMessage
		if json.Unmarshal(at, &object) != nil {
			return nil
		}
		at = object[name]
	}
	return at
}
