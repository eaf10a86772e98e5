package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
)

func TestReasonsAreFewAndPlain(t *testing.T) {
	for name, tt := range map[string]struct {
		why  []dhruva.Reason
		want []string
	}{
		"none":                       {nil, nil},
		"labels come first":          {[]dhruva.Reason{{Name: "psg", Value: 2}, {Name: "char4", Value: 1}, {Name: "date", Value: .5}, {Name: "weak"}}, []string{"weak", "same words", "similar spelling"}},
		"what speaks against is not": {[]dhruva.Reason{{Name: "len", Value: -3}, {Name: "spk", Value: 1}}, []string{"speaker"}},
		"one word once":              {[]dhruva.Reason{{Name: "win2", Value: 2}, {Name: "winp2", Value: 1}, {Name: "new", Value: .1}}, []string{"its surroundings", "new"}},
	} {
		if diff := cmp.Diff(tt.want, reasons(tt.why)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAReceiptShowsWhatWasInjected(t *testing.T) {
	var out bytes.Buffer
	printReceipt(&out, dhruva.Receipt{
		ID: "r1", Kind: "proxy", Path: "hosted", State: "final", CreatedAt: time.Unix(0, 0), Memory: dhruva.MemoryRecalled,
		Recall: dhruva.RecallAccount{Reason: dhruva.GatePassed, Evidence: 1, Sources: []dhruva.SourceID{"s1"}},
		Edits:  []dhruva.Splice{{Kind: dhruva.EditInject, Offset: 40, Len: 300, Cut: 7}},
		Context: &dhruva.ContextUsed{
			Mode: dhruva.ModeMounted, Checkpoints: []dhruva.Hash{{0xab, 0xcd}}, Base: 4, Turns: []int64{5, 6}, Cut: 1, Evidence: []dhruva.SourceID{"s2"}, Tokens: 90,
		},
	})
	want := "receipt  r1\nkind     proxy over hosted, final\nat       " + when(time.Unix(0, 0)) + `
memory   recalled (passed), 1 piece of evidence
evidence s1
edit     inject at byte 40: 300 bytes stand where 7 stood
context  MOUNTED, 2 turns after #4, 1 cut, about 90 tokens
  checkpoint abcd000
  evidence   s2
tokens   0 asked, 0 sent on, 0 recalled (estimated)
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
