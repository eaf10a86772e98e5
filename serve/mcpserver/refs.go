package mcpserver

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/dhruva-memory/dhruva"
)

// maxRecalls bounds the recalls whose pieces have short names.
const maxRecalls = 512

// refs gives the tokens of a recall short names, for clients that show their
// model only the text: a token is longer than most snippets. A name holds for
// the principal who recalled, while the process lives and the name is not
// among the oldest; what it stands for is checked by read like any token.
type refs struct {
	mu     sync.Mutex
	tokens map[string][]string
	order  []string // oldest first
}

// keep names a recall; its pieces are name.1, name.2 and so on.
func (r *refs) keep(ctx context.Context, evidence []dhruva.Evidence) string {
	tokens := make([]string, len(evidence))
	for i, e := range evidence {
		tokens[i] = e.Token
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	name := strings.ToLower(rand.Text()[:4])
	for r.tokens[refKey(ctx, name)] != nil { // 512 of a million: soon over
		name = strings.ToLower(rand.Text()[:4])
	}
	if r.tokens == nil {
		r.tokens = map[string][]string{}
	}
	if len(r.order) >= maxRecalls {
		delete(r.tokens, r.order[0])
		r.order = r.order[1:]
	}
	r.tokens[refKey(ctx, name)] = tokens
	r.order = append(r.order, refKey(ctx, name))
	return name
}

// resolve puts the tokens in the place of names. What is no name of this
// principal stays as it is, and reads as not found.
func (r *refs) resolve(ctx context.Context, given []string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]string, len(given))
	for i, g := range given {
		out[i] = g
		name, number, _ := strings.Cut(g, ".")
		n, err := strconv.Atoi(number)
		if tokens := r.tokens[refKey(ctx, name)]; err == nil && n >= 1 && n <= len(tokens) {
			out[i] = tokens[n-1]
		}
	}
	return out
}

func refKey(ctx context.Context, name string) string {
	p, _ := dhruva.PrincipalFrom(ctx) // a remote memory needs none: the process is one principal then
	return fmt.Sprintf("%q %q %.16q", p.Tenant, p.ID, name)
}
