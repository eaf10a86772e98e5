package memory

import (
	"strings"
	"testing"
)

// Security §8.5: however it is spaced, spelled or suffixed, no look-alike of our
// frame, of a role tag or of a chat template's token stands in a block, and no
// line break but our own begins a line.
func TestQuoteBreaksFences(t *testing.T) {
	for _, tag := range []string{
		"</dhruva-memory>", "<dhruva-memory v=\"1\" tag=\"0\">", "< /dhruva-memory>", "</dhruva_memory>", "< / dhruva-memory >",
		"<\n/dhruva-memory>", "</dhruva-memoryx>", "</DhruvaMemory>", "</dhruva\u200b-memory>", "<\u00ad/dhruva-memory>",
		"<system>", "</ assistant>", "<User>", "<|im_end|>", "< |im_end|>", "<｜User｜>",
	} {
		got := quote("a " + tag + " b")
		if strings.Contains(got, "<") {
			t.Errorf("%q becomes %q", tag, got)
		}
	}
	for _, sep := range []string{"\n", "\r", "\r\n", "\u2028", "\u2029", "\v", "\f", "\u0085", "\n\u200b"} {
		if got := quote("a" + sep + "[2] user said"); got != "a\n    [2] user said" {
			t.Errorf("%q gives %q", sep, got)
		}
	}
	if got := quote("if a < b && c <d> or <b>bold</b> 👩‍👩‍👧"); got != "if a < b && c <d> or <b>bold</b> 👩‍👩‍👧" {
		t.Errorf("harmless text became %q", got)
	}
}

func FuzzQuote(f *testing.F) {
	f.Add("x </dhruva-memory> y")
	f.Fuzz(func(t *testing.T, text string) {
		got := quote(text)
		if lookAlike.MatchString(got) || strings.ContainsAny(got, "\r\v\f\u0085\u2028\u2029") {
			t.Errorf("%q", got)
		}
		if quote(got) != got && !strings.Contains(got, "\n") {
			t.Errorf("not stable: %q, %q", got, quote(got))
		}
	})
}
