package smriti

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/ledger"
)

// Documents hold JSON. Each of their texts is redacted before it becomes JSON,
// so that what the ledger looks for later finds nothing that spans two of them.

// putDocument stores a value in a document; one with an id takes its place.
func (a *api) putDocument(ctx context.Context, d dhruva.Document, v any) (dhruva.Document, error) {
	text, err := a.document(v)
	if err != nil {
		return d, err
	}
	return a.ledger.PutDocument(ctx, ledger.DocumentInput{ID: d.ID, Space: d.Space, Kind: d.Kind, Title: d.Title, Text: text})
}

func (a *api) document(v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("smriti: document: %w", err)
	}
	var tree any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return "", fmt.Errorf("smriti: document: %w", err)
	}
	var b bytes.Buffer
	if err := encode(&b, a.redacted(tree)); err != nil {
		return "", fmt.Errorf("smriti: document: %w", err)
	}
	if text, _ := a.ledger.Redact(b.String()); !json.Valid([]byte(text)) {
		return "", fmt.Errorf("%w: the text looks as a whole like a secret; take out what is one", dhruva.ErrInvalid)
	}
	return b.String(), nil
}

// redacted is a tree whose texts hold no secrets.
func (a *api) redacted(tree any) any {
	switch t := tree.(type) {
	case string:
		s, _ := a.ledger.Redact(t)
		return s
	case []any:
		for i := range t {
			t[i] = a.redacted(t[i])
		}
	case map[string]any:
		for k := range t {
			t[k] = a.redacted(t[k])
		}
	}
	return tree
}

// readDocument reads a document's value.
func readDocument(d dhruva.Document, v any) error {
	if err := json.Unmarshal([]byte(d.Text), v); err != nil {
		return fmt.Errorf("smriti: document %s: %w", d.ID, err)
	}
	return nil
}
