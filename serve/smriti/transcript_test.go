package smriti_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva/serve/smriti"
)

func TestTranscriptFormats(t *testing.T) {
	type m = smriti.Message
	hi := []m{{"human", "hello\nthere"}, {"assistant", "hi: you"}, {"human", "bye"}}
	for name, c := range map[string]struct {
		text string
		want []m
	}{
		"role":            {"User: hello\nthere\n\nAssistant: hi: you\nHuman: bye", hi},
		"role, own line":  {"User:\nhello\nthere\nCopilot:\nhi: you\nyou: bye", hi},
		"said":            {"You said:\nhello\nthere\nChatGPT said:\nhi: you\nYou said:\nbye", hi},
		"bold":            {"**User**: hello\nthere\n\n**gpt-4o**: hi: you\n\n**Human:** bye", hi},
		"tag":             {"<user>hello\nthere</user>\n<assistant>\nhi: you\n</assistant>\n<human> bye </human>", hi},
		"bare":            {"User\nhello\nthere\n\nBot\nhi: you\n\nYou\nbye\n", hi},
		"cursor":          {"User\nhello\nthere\nCursor\nhi: you\nUser\nbye", hi},
		"windows":         {"User: hello\r\nthere\r\nAI: hi: you\r\nUser: bye\r\n", hi},
		"first wins":      {"User: see\n**Assistant**: quoted\nClaude: ok", []m{{"human", "see\n**Assistant**: quoted"}, {"assistant", "ok"}}},
		"unknown names":   {"Note: this\nUser: hello", []m{{"unknown", "Note: this"}, {"human", "hello"}}},
		"nothing fits":    {"  just a text\nof lines: two ", []m{{"unknown", "just a text\nof lines: two"}}},
		"speaks of users": {"The user: a study", []m{{"unknown", "The user: a study"}}},
		"other scripts":   {"User: नमस्ते\nAssistant: 你好", []m{{"human", "नमस्ते"}, {"assistant", "你好"}}},
		"empty messages":  {"User:\n\nAssistant: x\n", []m{{"assistant", "x"}}},
		"blank":           {" \n\t\n", nil},
	} {
		if d := cmp.Diff(c.want, smriti.ParseTranscript(c.text)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// FuzzParseTranscript: nothing that was said is lost or made up, and no message is
// empty or of another role.
func FuzzParseTranscript(f *testing.F) {
	for _, s := range []string{
		"User: a\nAssistant: b", "You said:\na\nChatGPT said:\nb", "**User**: a\n**AI:** b", "<user>a</user>\n<bot>b", "User\na\nBot\nb", "", "\x00: :\n<>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		all := smriti.ParseTranscript(text)
		left := strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
		for _, m := range all {
			if strings.TrimSpace(m.Content) != m.Content || m.Content == "" || !utf8.ValidString(m.Content) {
				t.Fatalf("message %q", m.Content)
			}
			if m.Role != "human" && m.Role != "assistant" && m.Role != "unknown" {
				t.Fatalf("role %q", m.Role)
			}
			at := strings.Index(left, m.Content)
			if at < 0 {
				t.Fatalf("%q is not in what is left, %q", m.Content, left)
			}
			left = left[at+len(m.Content):]
		}
		if len(all) == 0 && len(strings.Fields(text)) > 1 && !strings.ContainsAny(text, ":<*_") && len(strings.TrimSpace(text)) > 24*8 {
			t.Fatalf("nothing of %q", text)
		}
	})
}
