package main

import (
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// maxReasons is how many reasons a piece of evidence shows.
const maxReasons = 3

// reasonWords says in plain words what a leg of a score is; a label, which has
// no value, speaks for itself.
func reasonWords() map[string]string {
	return map[string]string{
		"psg": "same words", "bigram": "same phrases", "char4": "similar spelling", "declq": "answers the question before it",
		"win2": "its surroundings", "winp2": "its surroundings", "sess": "the conversation", "next1": "what follows it",
		"prev2": "what precedes it", "prevq": "the question before it", "spk": "speaker", "date": "date",
		"at_when": "says when", "at_num": "says how many", "at_where": "says where", "fp": "first person", "isq": "a question", "len": "length",
	}
}

// reasons are the labels, which say what to make of a piece of evidence, and
// then the strongest legs that speak for it.
func reasons(why []dhruva.Reason) []string {
	var out []string
	words := reasonWords()
	for _, labels := range []bool{true, false} {
		for _, r := range why {
			if (r.Value == 0) != labels || r.Value < 0 {
				continue
			}
			if say := or(words[r.Name], oneLine(r.Name, 60)); len(out) < maxReasons && !slices.Contains(out, say) {
				out = append(out, say)
			}
		}
	}
	return out
}
