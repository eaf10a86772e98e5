package agents_test

import (
	"fmt"

	"github.com/dhruva-memory/dhruva/agents"
)

func ExampleState_Markdown() {
	s := agents.State{
		Space: agents.Space{Name: "Harbour"},
		Commit: &agents.Commit{
			Hash: "0123456789abcdef", Author: "ana", Objective: "Find every boat a berth.",
			Decisions: []string{"Use SQLite"}, Tasks: []agents.Task{{Text: "Count the boats", ID: "count"}, {Text: "Paint the pier", Status: "done"}},
		},
	}
	fmt.Print(s.Markdown(agents.View{}))
	// Output:
	// # Harbour
	//
	// Latest checkpoint: `0123456` · by `ana` · just now
	//
	// ## Current objective
	// Find every boat a berth.
	//
	// ## Decisions
	// - Use SQLite
	//
	// ## In progress
	// - Count the boats (`count`)
}
