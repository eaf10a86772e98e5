package recallbench

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

type row map[string]any

// writeSet writes a set to a new directory named name.
func writeSet(t *testing.T, name string, turns, queries []row) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	writeLines(t, filepath.Join(dir, turnsFile), turns)
	writeLines(t, filepath.Join(dir, queriesFile), queries)
	return dir
}

func writeLines(t *testing.T, path string, rows []row) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	enc := json.NewEncoder(z)
	for _, r := range rows {
		if err := enc.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

var (
	fixtureThings  = []string{"kayak", "violin", "telescope", "greenhouse", "typewriter", "accordion", "sailboat", "loom", "kiln", "beehive", "piano", "canoe"}
	fixturePlaces  = []string{"Bergen", "Porto", "Tartu", "Ghent", "Graz", "Split", "Turku", "Bari", "Lugo", "Nantes", "Sibiu", "Kotor"}
	fixtureReasons = []string{"rain", "dust", "noise", "cost", "moths", "frost", "mice", "heat", "wind", "rust", "smoke", "salt"}
	fixtureFiller  = []string{"Sounds lovely, tell me more.", "I had a busy day at the office.", "Nice to hear from you!", "The weather has been odd lately."}
)

// peerSet is in the shape of conversations between people. Answers to questions
// share no word with them: only the turns beside them do.
func peerSet(t *testing.T) string {
	var turns, queries []row
	add := func(session, seq int, speaker, text string) string {
		id := fmt.Sprintf("D%d:%d", session, seq)
		turns = append(turns, row{
			"conv": "c1", "id": id, "session": session, "seq": seq, "speaker": speaker, "text": text,
			"time": fmt.Sprintf("1:56 pm on %d May, 2023", 2*session), "caption": nil,
		})
		return id
	}
	query := func(category, question string, gold ...string) {
		queries = append(queries, row{
			"conv": "c1", "qid": fmt.Sprint("c1/q", len(queries)), "category": category,
			"question": question, "answer": 1, "gold": append([]string{}, gold...),
		})
	}
	for i, thing := range fixtureThings {
		s := i + 1
		add(s, 1, "Ada", fixtureFiller[i%4])
		bought := add(s, 2, "Ben", fmt.Sprintf("I bought a %s in %s yesterday.", thing, fixturePlaces[i]))
		add(s, 3, "Ada", fmt.Sprintf("What worries you about the %s?", thing))
		why := add(s, 4, "Ben", fmt.Sprintf("Mostly %s, to be honest.", fixtureReasons[i]))
		add(s, 5, "Ada", fixtureFiller[(i+1)%4])
		query("single_hop", fmt.Sprintf("Where did Ben buy the %s?", thing), bought)
		query("open_domain", fmt.Sprintf("What worries Ben about his %s?", thing), why)
		query("temporal", fmt.Sprintf("What did Ben buy on %d May 2023?", 2*s-1), bought)
		query("adversarial", fmt.Sprintf("Where did Ada buy the %s?", thing), bought)
	}
	query("open_domain", "Is Ben rich?")
	return writeSet(t, "people", turns, queries)
}

// chatSet is in the shape of chats with a model: roles, numbers for ids, the
// generator's mark at the end of user messages, questions that have no answer.
func chatSet(t *testing.T) string {
	var turns, queries []row
	for i, thing := range fixtureThings {
		u := row{"conv": "k", "id": 2 * i, "batch": 1, "role": "user", "turn": i, "time": nil,
			"text": fmt.Sprintf("I keep my %s in %s because of the %s. ->-> 1,%d", thing, fixturePlaces[i], fixtureReasons[i], i)}
		if i == 0 {
			u["time"] = "March-15-2024"
		}
		turns = append(turns, u, row{"conv": "k", "id": 2*i + 1, "batch": 1, "role": "assistant", "turn": i, "time": nil,
			"text": fmt.Sprintf("A %s needs care. Here are some general thoughts about storage, cleaning and insurance that may help you along.", thing)})
		queries = append(queries,
			row{"conv": "k", "qid": fmt.Sprint("k/e/", i), "category": "information_extraction", "answer": "x",
				"question": fmt.Sprintf("Why do I keep my %s in %s?", thing, fixturePlaces[i]), "gold": []int{2 * i}},
			row{"conv": "k", "qid": fmt.Sprint("k/a/", i), "category": "abstention", "answer": "x",
				"question": fmt.Sprintf("Which varnish did the luthier recommend for my %s?", thing), "gold": []int{}})
	}
	return writeSet(t, "chats", turns, queries)
}
