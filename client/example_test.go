package client_test

import (
	"context"
	"fmt"
	"log"

	"github.com/dhruva-memory/dhruva/client"
)

// Something is remembered in a space and recalled with its evidence.
func Example() {
	ctx := context.Background()
	c := client.Client{BaseURL: "http://127.0.0.1:7373", Key: "dhr_live_…"}
	if _, err := c.Remember(ctx, "work", client.RememberInput{Text: "We ship on Fridays."}); err != nil {
		log.Fatal(err)
	}
	r, err := c.Recall(ctx, "work", client.RecallInput{Query: "when do we ship?"})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range r.Evidence {
		fmt.Println(e.Snippet, e.Token)
	}
}
