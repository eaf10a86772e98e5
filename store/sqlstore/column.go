package sqlstore

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Forms of values in columns.

// micros reads a time column.
type micros struct{ t *time.Time }

// Scan implements sql.Scanner; NULL is the zero time.
func (m micros) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*m.t = time.Time{}
	case int64:
		*m.t = time.UnixMicro(v).UTC()
	default:
		return fmt.Errorf("time column holds %T", v)
	}
	return nil
}

// optional is a time that may be absent in meaning.
func optional(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// hash reads a hash column.
type hash struct{ h *dhruva.Hash }

// Scan implements sql.Scanner; empty and NULL are the absent hash.
func (h hash) Scan(v any) error {
	*h.h = dhruva.Hash{}
	b, ok := v.([]byte)
	if v != nil && !ok || len(b) != 0 && len(b) != len(h.h) {
		return fmt.Errorf("hash column holds %T of %d bytes", v, len(b))
	}
	copy(h.h[:], b)
	return nil
}

// digest is the column form of a hash.
func digest(h dhruva.Hash) []byte {
	if h.IsZero() {
		return []byte{}
	}
	return h[:]
}

// hashes reads a JSON list of hashes.
type hashes struct{ list *[]dhruva.Hash }

// Scan implements sql.Scanner. Nearly all lists are of one, or empty.
func (h hashes) Scan(v any) error {
	*h.list = nil
	s, _ := v.(string)
	if s == "null" {
		return nil
	}
	var one dhruva.Hash
	if len(s) == len(`[""]`)+2*len(one) {
		if _, err := hex.Decode(one[:], []byte(s[2:len(s)-2])); err == nil {
			*h.list = []dhruva.Hash{one}
			return nil
		}
	}
	return document{h.list}.Scan(v)
}

// flag is the column form of a bool.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// boolean reads a flag; Postgres gives what SQLite gives, a number.
type boolean struct{ b *bool }

// Scan implements sql.Scanner.
func (b boolean) Scan(v any) error {
	switch v := v.(type) {
	case int64:
		*b.b = v != 0
	case bool:
		*b.b = v
	default:
		return fmt.Errorf("flag column holds %T", v)
	}
	return nil
}

// named reads a text column into a type of ours.
type named[T ~string] struct{ s *T }

// Scan implements sql.Scanner.
func (n named[T]) Scan(v any) error {
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("text column holds %T", v)
	}
	*n.s = T(s)
	return nil
}

// flags reads a number whose bits are flags, the lowest first.
type flags []*bool

// Scan implements sql.Scanner.
func (f flags) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return fmt.Errorf("flags column holds %T", v)
	}
	for bit, b := range f {
		*b = n>>bit&1 != 0
	}
	return nil
}

// blob is the column form of bytes; nil is not NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// document reads a JSON column.
type document struct{ into any }

// Scan implements sql.Scanner.
func (d document) Scan(v any) error {
	switch v := v.(type) {
	case string:
		return json.Unmarshal([]byte(v), d.into)
	case []byte:
		return json.Unmarshal(v, d.into)
	}
	return fmt.Errorf("JSON column holds %T", v)
}

// asJSON is the column form of a list or a document. What it is given was
// validated, so it can be encoded.
func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("sqlstore: %T cannot be JSON: %v", v, err))
	}
	return string(b)
}
