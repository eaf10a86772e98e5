package memory

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/llm"
)

// Whatever a model answers, it is a draft that can be saved or an error of its own:
// texts trimmed and valid, no two the same, attributes in order, cites among the
// turns that were shown.
func FuzzDraftAnswer(f *testing.F) {
	f.Add(`{"title":"T","decisions":["a",1,null,{"text":"b","turns":[3,"4-9"]}],"tasks":[{"text":"x","intent_hint":"DOCS","blocked_by":["y"]}]}`)
	f.Add("Sure:\n```json\n{\"summary\":[\"a\",{}],\"entities\":{\"name\":\"\\u0000\\ud800\"}}\n```")
	f.Add(`{"artifacts":[{"content":" x\n","label":[1,2]},{"content":7},[[]]],"open_questions":"q","tasks":5}`)
	f.Add(`{"decisions":[{"text":"a","turns":"99999999999999999999-3"},{"text":"a ","turns":{"text":"5"}}],"title":{}}`)
	shown := []int64{3, 4, 5, 9}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := readAnswer("p", llm.Response{Text: text}, draftFields()...)
		var known *llm.Error
		if err != nil {
			if !errors.As(err, &known) || !errors.Is(err, dhruva.ErrUnavailable) {
				t.Fatal(err)
			}
			return
		}
		d := Draft{Turns: shown}
		d.fill(a, true)
		checkDraft(t, d)
	})
}

func checkDraft(t *testing.T, d Draft) {
	for _, text := range []string{d.Title, d.Objective, d.Summary} {
		if err := dhruva.ValidText("slot", text); err != nil || text != strings.TrimSpace(text) {
			t.Fatalf("%q: %v", text, err)
		}
	}
	if utf8.RuneCountInString(d.Title) > 200 || strings.ContainsAny(d.Title, "\n\r") {
		t.Fatalf("title %q", d.Title)
	}
	for _, list := range d.lists() {
		seen := map[string]bool{}
		for _, i := range *list {
			key := dhruva.Normalize(i.Text)
			if list == &d.Artifacts {
				key = i.Text + "\x00" + i.Attr(dhruva.AttrLabel)
			} else if i.Text != strings.TrimSpace(i.Text) {
				t.Fatalf("not trimmed: %q", i.Text)
			}
			if strings.TrimSpace(i.Text) == "" || seen[key] || len(i.Text) > maxText || dhruva.ValidText("item", i.Text) != nil {
				t.Fatalf("blank, doubled or not valid: %q", i.Text)
			}
			seen[key] = true
			checkItem(t, i, d.Turns)
		}
	}
}

func checkItem(t *testing.T, i DraftItem, shown []int64) {
	for n, a := range i.Attrs {
		if a.Value == "" || dhruva.ValidText("attr", a.Value) != nil || n > 0 && i.Attrs[n-1].Name >= a.Name || a.Name == dhruva.AttrStatus ||
			a.Name == dhruva.AttrIntent && !slices.Contains(intents, a.Value) {
			t.Fatalf("attributes %+v", i.Attrs)
		}
	}
	if i.Uncited != (len(i.Cites) == 0) {
		t.Fatalf("%+v", i)
	}
	last := int64(-1)
	for _, c := range i.Cites {
		for seq := c.From; seq <= c.Through; seq++ {
			if !slices.Contains(shown, seq) || seq <= last {
				t.Fatalf("cites %+v", i.Cites)
			}
			last = seq
		}
	}
}
