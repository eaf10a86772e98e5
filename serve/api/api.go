package api

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/dhruva-memory/dhruva/agents"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/memory"
	"github.com/dhruva-memory/dhruva/serve/internal/edge"
)

// Config is what the API stands on.
type Config struct {
	Memory *memory.Memory
	Keys   *auth.Keys
	// Worktrees makes working copies; nil: none are allowed.
	Worktrees *agents.Worktrees
	// Version is told in the OpenAPI document.
	Version string
	// MaxBody bounds a request's body; 0 is 1 MiB. MaxImport is for a
	// conversation that is imported; 0 is 64 MiB.
	MaxBody, MaxImport int64
}

const (
	defaultMaxBody   = 1 << 20
	defaultMaxImport = 64 << 20
)

// api holds what the handlers share.
type api struct {
	memory *memory.Memory
	ledger *ledger.Ledger
	keys   *auth.Keys
	huma   huma.API

	agents    *agents.Agents
	worktrees *agents.Worktrees
}

// New makes the handler of /api/v6. Request ids and the log come from
// edge.Access around it.
func New(c Config) http.Handler {
	if c.MaxBody <= 0 {
		c.MaxBody = defaultMaxBody
	}
	if c.MaxImport <= 0 {
		c.MaxImport = defaultMaxImport
	}
	mux := http.NewServeMux()
	a := &api{memory: c.Memory, ledger: c.Memory.Ledger, keys: c.Keys, worktrees: c.Worktrees}
	if a.worktrees == nil {
		a.worktrees = &agents.Worktrees{Ledger: a.ledger}
	}
	a.agents = &agents.Agents{Ledger: a.ledger, Worktrees: a.worktrees}
	a.huma = humago.NewWithPrefix(mux, client.Prefix, humaConfig(c.Version))
	a.spaces()
	a.sessions()
	a.checkpoints()
	a.recall()
	a.receipts()
	a.keyRoutes()
	a.jobs()
	a.lineage()
	a.drafts()
	a.coordination()
	a.nullable("Session", "mount", "forked_turn")
	a.nullable("Checkpoint", "window")
	a.nullable("Draft", "window")
	a.nullable("Origin", "window")
	a.nullable("Merged", "checkpoint")
	a.nullable("Conflict", "base")
	a.nullable("Worktree", "probe")
	return guard(c, edge.Routes(mux))
}

// nullable says of fields that hold an object that they may be null, which
// huma has no tag for.
func (a *api) nullable(schema string, fields ...string) {
	s := a.huma.OpenAPI().Components.Schemas.Map()[schema]
	for _, f := range fields {
		s.Properties[f] = &huma.Schema{OneOf: []*huma.Schema{s.Properties[f], {Type: "null"}}}
	}
}

func humaConfig(version string) huma.Config {
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	registry.RegisterTypeAlias(reflect.TypeFor[client.Item](), reflect.TypeFor[itemSchema]())
	registry.RegisterTypeAlias(reflect.TypeFor[client.Task](), reflect.TypeFor[taskSchema]())
	registry.RegisterTypeAlias(reflect.TypeFor[client.Artifact](), reflect.TypeFor[artifactSchema]())
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info:    &huma.Info{Title: "Dhruva", Version: version, Description: "Steady memory for AI work: the native API."},
			Components: &huma.Components{Schemas: registry, SecuritySchemes: map[string]*huma.SecurityScheme{
				"key": {Type: "http", Scheme: "bearer", Description: "A Dhruva key, also accepted as x-api-key."},
			}},
			Security: []map[string][]string{{"key": {}}},
			Servers:  []*huma.Server{{URL: client.Prefix}},
		},
		OpenAPIPath:                  "/openapi",
		Formats:                      map[string]huma.Format{"application/json": strictJSON(), "json": strictJSON()},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{asProblem},
	}
}

// read is the response of a route that reads.
type read[T any] struct {
	Body T
}

// answer is the response of a change.
type answer[T any] struct {
	Replayed string `header:"Idempotency-Replayed" doc:"true when the answer is about what an earlier call with this Idempotency-Key did."`
	Body     T
}

// none is one without a body.
type none struct {
	Replayed string `header:"Idempotency-Replayed" doc:"true when an earlier call with this Idempotency-Key did it."`
}

// route registers an operation that reads and answers with a body.
func route[I, T any](a *api, op huma.Operation, f func(context.Context, *I) (T, error)) {
	huma.Register(a.huma, a.described(op), func(ctx context.Context, in *I) (*read[T], error) {
		out, err := f(ctx, in)
		if err != nil {
			return nil, a.failure(ctx, err)
		}
		return &read[T]{Body: out}, nil
	})
}

// described completes an operation with what is alike in all of them. The body
// has been read and bounded by guard, so huma must not set a deadline that
// would end a long answer.
func (a *api) described(op huma.Operation) huma.Operation {
	op.BodyReadTimeout = -1
	op.MaxBodyBytes = -1
	op.Responses = map[string]*huma.Response{"default": {
		Description: "Refused: an RFC 9457 problem.",
		Content: map[string]*huma.MediaType{problemType: {
			Schema: a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[client.Problem](), true, "Problem"),
		}},
	}}
	return op
}
