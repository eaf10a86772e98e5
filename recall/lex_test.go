package recall

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func texts(ws []word) []string {
	out := []string{}
	for _, w := range ws {
		out = append(out, w.text)
	}
	return out
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"I won't, can't and don't; they're Caroline’s", "i and do they caroline"},
		{"wouldn't've o'clock rock'n", "would o clock rock n"},
		{"1,234 people, 1,2 and 12,345,678", "1234 people 1 2 and 12345678"},
		{"the 1st, 22nd and 3rd of Twelve", "the 1 22 and 3 of 12"},
		{"Café Ångström naïve", "cafe angstrom naive"},
		{"Привет Ёлка", "привет ёлка"},
		{"日本語を", "日本 本語 語を"},
		{"snake_case well-known", "snake case well known"},
		{"हिन्दी", "हिन्दी"},
		{"½ ﬁne ＡＢＣ", "1 2 fine abc"},
		{"’tis '' ' \xff\xfe", "tis"},
	} {
		if diff := cmp.Diff(c.want, strings.Join(texts(words(c.in)), " ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.in, diff)
		}
	}
}

func TestSentences(t *testing.T) {
	type s struct {
		Words    string
		Question bool
	}
	var got []s
	for _, x := range sentences("I did it! Did you? \"Really?\"  Version 1.2 is out\n\nnext line. 本当？はい。 3.5") {
		got = append(got, s{strings.Join(texts(x.words), " "), x.question})
	}
	want := []s{
		{"i did it", false}, {"did you", true}, {"really", true}, {"version 1 2 is out", false}, {"next line", false},
		{"本当", true}, {"はい", false}, {"3 5", false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnalyzeDoc(t *testing.T) {
	a := analyzeDoc(Doc{
		Speaker: "Jon", TimeText: "8 May", Caption: "a red boat",
		Text: "We sailed yesterday. Did you sail in Lisbon?",
	})
	var body, meta []string
	for _, x := range a.body {
		mark := ""
		if x.question {
			mark = "?"
		}
		body = append(body, stem(x.raw)+mark)
	}
	for _, x := range a.meta {
		meta = append(meta, stem(x.raw))
	}
	if diff := cmp.Diff([]string{"sail", "yesterday", "sail?", "lisbon?", "red", "boat"}, body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"jon", "8"}, meta); diff != "" {
		t.Errorf("meta (-want +got):\n%s", diff)
	}
	if want := hasTime | hasPlace | firstPerson | isQuestion | hasQuestion; a.flags != want {
		t.Errorf("flags %b, want %b", a.flags, want)
	}
}

func TestTurnFlags(t *testing.T) {
	for text, want := range map[string]flags{
		"the park":                  hasPlace,
		"moved to the Netherlands":  hasPlace,
		"she may march":             0,
		"on the 3rd":                hasTime | hasNumber,
		"back in 2019":              hasTime | hasNumber,
		"this summer":               hasTime,
		"this is it, summer":        0,
		"we have a couple of seven": hasNumber | firstPerson,
		"I'm Bob":                   firstPerson,
	} {
		if got := turnFlags(words(text)); got != want {
			t.Errorf("%q: flags %b, want %b", text, got, want)
		}
	}
}

func TestQueryAsks(t *testing.T) {
	for text, want := range map[string]asks{
		"When did it start?":           {when: true},
		"How long have you been here?": {when: true, number: true},
		"How recently?":                {when: true},
		"Which city was it?":           {where: true},
		"what number is it":            {number: true},
		"where":                        {where: true},
		"What did she like?":           {},
	} {
		if got := queryAsks(words(text)); got != want {
			t.Errorf("%q: asks %+v, want %+v", text, got, want)
		}
	}
}

func TestGrams(t *testing.T) {
	for raw, want := range map[string][]string{
		"dog":    {"<dog", "dog>"},
		"a":      {"<a>"},
		"ab":     {"<ab>"},
		"été":    {"<été", "été>"},
		"banana": {"<ban", "bana", "anan", "nana", "ana>"},
	} {
		var got []string
		grams(raw, func(g string) { got = append(got, g) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", raw, diff)
		}
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, s := range []string{
		"Hey Mel! What's up?", "won't've 1,234th o'clock", "日本語テキスト。", "\xff\xfe\x00'’", "2023-05-07 5/7/2023 last May 3 weeks ago",
		"\xf3Ǌ", "日ٜ語0", "日枃'A0000", "ǅ İ ß ﬁ ½ é́́", "a couple of months ago, on Tuesday", strings.Repeat("x", 300),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := texts(words(s))
		for _, w := range once {
			if w == "" || utf8.RuneCountInString(w) > maxWordRunes || utf8.ValidString(s) && !utf8.ValidString(w) {
				t.Fatalf("%q: word %q", s, w)
			}
		}
		if twice := texts(words(strings.Join(once, " "))); !cmp.Equal(once, twice) {
			t.Fatalf("%q: not stable: %q, then %q", s, once, twice)
		}
		a := analyzeDoc(Doc{Text: s, Caption: s, Speaker: s, TimeText: s, Time: day(2024, 2, 29)})
		if len(a.body) > 0 && len(a.body)%2 != 0 && len(words(s)) < maxWords {
			// The caption repeats the text's words; cutting into sentences must not lose or make any.
			t.Fatalf("%q: text and caption differ: %d terms", s, len(a.body))
		}
		parseQuery(s, day(2024, 2, 29), []string{s})
	})
}
