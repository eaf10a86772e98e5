package recall_test

import (
	"fmt"

	"github.com/dhruva-memory/dhruva/recall"
)

func ExampleIndex() {
	x := recall.New()
	x.Add(recall.Doc{Ref: "turn-1", Group: "monday", Pos: 1, Role: recall.User, Text: "My dog is called Biscuit and she is allergic to chicken."})
	x.Add(recall.Doc{Ref: "turn-2", Group: "monday", Pos: 2, Role: recall.Responder, Text: "Noted."})
	for _, hit := range x.Search(recall.Query{Text: "What is my dog called?"}) {
		fmt.Println(hit.Ref)
	}
	fmt.Println(len(x.Search(recall.Query{Text: "zebra quantum"})))
	// Output:
	// turn-1
	// 0
}
