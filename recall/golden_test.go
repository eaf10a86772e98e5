package recall

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Two made-up conversations. Each query leans on one leg of the recipe; the
// order is what the recipe gives, so a change of a leg or weight shows here.
var (
	peerTalk = []Doc{
		{Ref: "1.1", Group: "1", Pos: 1, Speaker: "Nora", Time: day(2024, 3, 4), Text: "Hi Ivo! How was the trip?"},
		{Ref: "1.2", Group: "1", Pos: 2, Speaker: "Ivo", Time: day(2024, 3, 4), Text: "Wonderful. We rented a cabin near Bled and rowed every morning."},
		{Ref: "1.3", Group: "1", Pos: 3, Speaker: "Nora", Time: day(2024, 3, 4), Text: "Which instrument did your sister bring along?"},
		{Ref: "1.4", Group: "1", Pos: 4, Speaker: "Ivo", Time: day(2024, 3, 4), Text: "Her cello, the old one."},
		{Ref: "1.5", Group: "1", Pos: 5, Speaker: "Nora", Time: day(2024, 3, 4), Text: "I adopted a kitten last Friday.", Caption: "a grey kitten on a sofa"},
		{Ref: "2.1", Group: "2", Pos: 1, Speaker: "Ivo", Time: day(2024, 6, 11), Text: "Guess who signed the lease for the bakery?"},
		{Ref: "2.2", Group: "2", Pos: 2, Speaker: "Nora", Time: day(2024, 6, 11), Text: "No way! Congratulations!"},
		{Ref: "2.3", Group: "2", Pos: 3, Speaker: "Ivo", Time: day(2024, 6, 11), Text: "We open in September with seven ovens."},
		{Ref: "2.4", Group: "2", Pos: 4, Speaker: "Nora", Time: day(2024, 6, 11), Text: "My kitten broke a vase this morning."},
	}
	modelTalk = []Doc{
		{Ref: "u1", Group: "a", Pos: 1, Role: User, Text: "I take 20 mg of lisinopril every evening and I'm allergic to penicillin."},
		{Ref: "a1", Group: "a", Pos: 2, Role: Responder, Text: "Thanks for telling me. With lisinopril, have your potassium checked, and mention the penicillin allergy to every doctor, dentist and pharmacist you see."},
		{Ref: "u2", Group: "b", Pos: 1, Role: User, Text: "Plan a week in Porto for my parents."},
		{Ref: "a2", Group: "b", Pos: 2, Role: Responder, Text: "Day one: Ribeira and a port cellar. Day two: Serralves museum. Day three: a boat along the Douro."},
		{Ref: "u3", Group: "b", Pos: 3, Role: User, Text: "They prefer trains, and the budget is 900 euros."},
	}
)

func TestGoldenRankings(t *testing.T) {
	for _, c := range []struct {
		docs  []Doc
		query string
		want  []string
	}{
		{peerTalk, "Which instrument did Ivo's sister bring?", []string{"1.4", "1.3"}},    // the answer inherits the question
		{peerTalk, "When did Nora adopt the kitten?", []string{"1.5", "2.4"}},             // time, speaker, stem
		{peerTalk, "What did Nora say on 1 March 2024?", []string{"1.5"}},                 // a relative date resolved
		{peerTalk, "Where did they row?", []string{"1.2"}},                                // place
		{peerTalk, "How many ovens will the bakery have?", []string{"2.3", "2.2", "2.1"}}, // number
		{modelTalk, "What am I allergic to?", []string{"u1", "a1"}},
		{modelTalk, "What is the budget for Porto?", []string{"u3", "u2"}},
		{modelTalk, "Do I take any medication like lisinopril?", []string{"u1", "a1"}},
		{modelTalk, "Which museum is on day two?", []string{"a2"}},
	} {
		got := ask(fill(c.docs...), c.query)
		if diff := cmp.Diff(c.want, got[:min(len(c.want), len(got))]); diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", c.query, got, diff)
		}
	}
}

func TestAttribution(t *testing.T) {
	x := fill(peerTalk...)
	for _, c := range []struct {
		query     string
		known, by bool // by: the evidence is the named participant's own
	}{
		{"Who adopted a kitten, was it Nora?", true, true},
		{"When did Ivo adopt a kitten?", true, false},
		{"Did Nora and Ivo see the kitten?", false, false},
		{"Who adopted a kitten?", false, false},
	} {
		a := x.Evaluate(Query{Text: c.query}).Attribution
		if a.Known != c.known || a.Known && (a.Margin > 0) != c.by {
			t.Errorf("%q: %+v", c.query, a)
		}
	}
}

func TestLongTurnsRankByTheirBestPassage(t *testing.T) {
	filler := "the committee discussed budgets schedules and several minor proposals at considerable length "
	long := ""
	for range 20 {
		long += filler
	}
	x := fill(
		Doc{Ref: "long", Group: "a", Role: User, Text: long + "the vault combination is hidden behind the clock " + long},
		Doc{Ref: "plain", Group: "b", Role: User, Text: long + long},
	)
	hits := x.Search(Query{Text: "Where is the vault combination hidden?"})
	if len(hits) != 1 || hits[0].Ref != "long" || hits[0].Legs.Psg != 1 {
		t.Errorf("hits %+v", hits)
	}
	if n := passageCount(x.turns[x.refs["long"]].body); n < 10 {
		t.Errorf("%d passages", n)
	}
}
