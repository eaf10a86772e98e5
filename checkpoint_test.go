package dhruva

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func sampleCheckpoint() *Checkpoint {
	c := &Checkpoint{
		Space: "0190b8a0-0000-7000-8000-000000000001", CreatedAt: time.UnixMicro(1_700_000_000_000_001).UTC(),
		Author: "mira", Window: Window{Session: "0190b8a0-0000-7000-8000-000000000002", Base: 0, Through: 12},
		Items: []Item{
			{ID: "t", Kind: KindTitle, Text: "East coast"},
			{ID: "d", Kind: KindDecision, Text: "Fly to Sydney — first", Cites: []Cite{{3, 4}}},
			{ID: "k", Kind: KindTask, Text: "Book", Attrs: []Attr{{AttrStatus, "open"}}},
		},
	}
	for i := range c.Items {
		for b := range c.Items[i].Salt {
			c.Items[i].Salt[b] = byte(i*16 + b)
		}
		c.Items[i].Digest = DigestItem(c.Items[i])
	}
	c.Hash = HashCheckpoint(c)
	return c
}

// The vectors stand in docs/format.md: a change here is a new format.
func TestCheckpointVector(t *testing.T) {
	c := sampleCheckpoint()
	if got := c.Items[1].Digest.String(); got != vectorItem {
		t.Errorf("item digest %s, want %s", got, vectorItem)
	}
	if got := c.Hash.String(); got != vectorCheckpoint {
		t.Errorf("checkpoint hash %s, want %s", got, vectorCheckpoint)
	}
}

const (
	vectorItem       = "5b5e81bef0d2a1e5ca66d48cb2615eac1a5b85e146386961dc69ceb0a6a5da76"
	vectorCheckpoint = "1f5beab9d94d0baa1d45676f1762378d59a6960460168e461a779e78f7007a10"
)

// Any change of what the hash covers is found.
func TestVerifyFindsEveryChange(t *testing.T) {
	changes := map[string]func(*Checkpoint){
		"space":   func(c *Checkpoint) { c.Space += "x" },
		"parents": func(c *Checkpoint) { c.Parents = append(c.Parents, c.Hash) },
		"time":    func(c *Checkpoint) { c.CreatedAt = c.CreatedAt.Add(time.Microsecond) },
		"author":  func(c *Checkpoint) { c.Author = "m" },
		"window":  func(c *Checkpoint) { c.Window.Through++ },
		"session": func(c *Checkpoint) { c.Window.Session = "" },
		"text":    func(c *Checkpoint) { c.Items[1].Text = strings.ToUpper(c.Items[1].Text) },
		"attr":    func(c *Checkpoint) { c.Items[2].Attrs[0].Value = "done" },
		"cite":    func(c *Checkpoint) { c.Items[1].Cites[0].Through++ },
		"salt":    func(c *Checkpoint) { c.Items[0].Salt[0]++ },
		"digest":  func(c *Checkpoint) { c.Items[0].Digest[0]++ },
		"kind":    func(c *Checkpoint) { c.Items[1].Kind = KindAssumption },
		"id":      func(c *Checkpoint) { c.Items[1].ID = "e" },
		"order":   func(c *Checkpoint) { c.Items[0], c.Items[1] = c.Items[1], c.Items[0] },
		"missing": func(c *Checkpoint) { c.Items = c.Items[:2] },
		"hash":    func(c *Checkpoint) { c.Hash[31]++ },
	}
	if err := VerifyCheckpoint(sampleCheckpoint()); err != nil {
		t.Fatal(err)
	}
	for name, change := range changes {
		c := sampleCheckpoint()
		change(c)
		if VerifyCheckpoint(c) == nil {
			t.Errorf("%s: a change was not found", name)
		}
	}
}

// An erased item keeps its digest; the lineage still verifies.
func TestVerifyAfterErasure(t *testing.T) {
	c := sampleCheckpoint()
	i := &c.Items[1]
	i.Text, i.Attrs, i.Cites, i.Salt, i.Redacted = "", nil, nil, [16]byte{}, true
	if err := VerifyCheckpoint(c); err != nil {
		t.Error(err)
	}
	i.Text = "rest"
	if VerifyCheckpoint(c) == nil {
		t.Error("a redacted item with content verifies")
	}
}

// Branch, tenant, UUID and generation are names and state, outside the hash.
func TestHashLeavesNamesOut(t *testing.T) {
	c := sampleCheckpoint()
	c.Branch, c.Tenant, c.ID, c.Generation = "other", "t", "id", 9
	if HashCheckpoint(c) != c.Hash {
		t.Error("a name changed the hash")
	}
}

// Length prefixes keep neighbours apart: no two different contents share an encoding.
func TestDigestIsInjective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 12, -1)
		a := Item{Text: text.Draw(t, "a"), Attrs: []Attr{{text.Draw(t, "an"), text.Draw(t, "av")}}}
		b := Item{Text: text.Draw(t, "b"), Attrs: []Attr{{text.Draw(t, "bn"), text.Draw(t, "bv")}}}
		same := a.Text == b.Text && a.Attrs[0] == b.Attrs[0]
		if (DigestItem(a) == DigestItem(b)) != same {
			t.Errorf("%+v and %+v", a, b)
		}
	})
}

func TestParseHash(t *testing.T) {
	h := sampleCheckpoint().Hash
	if got, err := ParseHash(h.String()); err != nil || got != h {
		t.Errorf("%v %v", got, err)
	}
	if got, err := ParseHash(""); err != nil || !got.IsZero() {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{"a1b2c3d", strings.Repeat("g", 64), h.String() + "00"} {
		if _, err := ParseHash(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
