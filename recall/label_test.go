package recall

import "testing"

func TestRestatementFallsWhenEvidenceOnlyRepeatsTheQuery(t *testing.T) {
	x := fill(peerTalk...)
	score := func(query string, texts ...string) float64 {
		return x.Restatement(Query{Text: query}, texts)
	}
	const query = "When does the bakery open its ovens?"
	repeats := score(query, "The bakery opens its ovens.")
	adds := score(query, "The bakery opens its ovens in September, on the harbour road, with seven of them.")
	unknown := score("When does the bakery open its planetarium?", "The bakery opens its ovens in September.")
	known := score("When does the bakery open its ovens?", "The bakery opens its ovens in September.")
	nothing := score(query)
	if repeats >= adds {
		t.Errorf("repeating %.2f is not below adding %.2f", repeats, adds)
	}
	if unknown >= known {
		t.Errorf("an unknown word %.2f is not below known ones %.2f", unknown, known)
	}
	if nothing > repeats {
		t.Errorf("no text %.2f above a repeating one %.2f", nothing, repeats)
	}
	if got := score("the of and", "text"); got != restateBias {
		t.Errorf("a query without words: %.2f", got)
	}
}
