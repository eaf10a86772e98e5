package wire_test

import (
	"fmt"
	"net/http"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/wire"
)

// A request is looked at, edited by splices, and its answer observed.
func Example() {
	body := []byte(`{"model":"m", "messages":[{"role":"user","content":"Where do I live?"}], "seed":9223372036854775808}`)
	d, _ := wire.ForRequest(http.MethodPost, "/v1/chat/completions")
	r, err := d.Parse("/v1/chat/completions", http.Header{}, body)
	if err != nil {
		fmt.Println(err)
		return
	}
	last := r.Projection.Injectable
	fmt.Println(r.Projection.Messages[last].Text)

	plan := dhruva.Plan{Edits: []dhruva.Edit{{Kind: dhruva.EditInject, Message: last, Text: "(user said: Porto)"}}}
	out, splices, err := d.Apply(r, plan)
	fmt.Println(string(out), splices, err)

	o := d.Observe("text/event-stream", "")
	fmt.Fprint(o, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"In Porto.\"},\"finish_reason\":\"stop\"}]}\n\n")
	fmt.Fprint(o, "data: [DONE]\n\n")
	seen := o.Close()
	fmt.Println(seen.Text, seen.Terminal)
	// Output:
	// Where do I live?
	// {"model":"m", "messages":[{"role":"user","content":"Where do I live?\n\n(user said: Porto)"}], "seed":9223372036854775808} [{inject 68 22 0}] <nil>
	// In Porto. completed
}
