package smriti

import (
	"net/http"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/agents"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/memory"
	"github.com/dhruva-memory/dhruva/serve/internal/edge"
)

// Config is what the API stands on.
type Config struct {
	Memory *memory.Memory
	Keys   *auth.Keys
	// Worktrees makes working copies; nil: these routes say that none are made.
	Worktrees *agents.Worktrees
	// Providers tells which model companies are configured; nil: none.
	Providers func() Providers
	// Local reports whether a request without a key acts as the local owner: on a
	// loopback listener of an installation without accounts. nil: never.
	Local func(*http.Request) bool
	// AllowedHosts are further names under which keyless requests are taken.
	AllowedHosts []string
	// MaxBody bounds a request's body, MaxText that of a route that takes a whole
	// text. 0: 1 MiB and 4 MiB.
	MaxBody, MaxText int64
}

const (
	defaultMaxBody = 1 << 20
	defaultMaxText = 4 << 20
)

// api holds what the handlers share.
type api struct {
	memory    *memory.Memory
	ledger    *ledger.Ledger
	agents    *agents.Agents
	worktrees *agents.Worktrees
	providers func() Providers
}

// over is the api within a call that may be repeated.
func (a *api) over(l *ledger.Ledger) *api {
	out := *a
	out.memory, out.ledger = a.memory.Over(l), l
	if a.worktrees != nil {
		out.worktrees = a.worktrees.Over(l)
	}
	out.agents = &agents.Agents{Ledger: l, Worktrees: out.worktrees}
	return &out
}

// New makes the handler of /api/v1, /api/v2, /api/v4 and /api/v5. Request ids
// and the log come from edge.Access around it.
func New(c Config) http.Handler {
	if c.MaxBody <= 0 {
		c.MaxBody = defaultMaxBody
	}
	if c.MaxText <= 0 {
		c.MaxText = defaultMaxText
	}
	if c.Providers == nil {
		c.Providers = func() Providers { return Providers{} }
	}
	a := &api{
		memory: c.Memory, ledger: c.Memory.Ledger, worktrees: c.Worktrees, providers: c.Providers,
		agents: &agents.Agents{Ledger: c.Memory.Ledger, Worktrees: c.Worktrees},
	}
	mux := http.NewServeMux()
	for _, r := range routes() {
		mux.Handle(r.pattern, c.guarded(a, r))
	}
	return edge.SecurityHeaders(named(edge.Unmatched(mux, unmatched)))
}

// routes are all routes of the API.
func routes() (all []route) {
	for _, some := range [][]route{
		repoRoutes(), commitRoutes(), packRoutes(), sessionRoutes(), sendRoutes(), stateRoutes(),
		draftRoutes(), lineageRoutes(), claimRoutes(), worktreeRoutes(), pasteRoutes(), memoryRoutes(),
	} {
		all = append(all, some...)
	}
	return all
}

// modelTime is how long a model may take until a call with an Idempotency-Key is
// taken for dead and may be made again.
const modelTime = 10 * time.Minute

// named gives a request an id where edge.Access did not.
func named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if dhruva.RequestIDFrom(r.Context()) == "" {
			r = r.WithContext(dhruva.WithRequestID(r.Context(), dhruva.NewID()))
			w.Header().Set(edge.HeaderRequestID, dhruva.RequestIDFrom(r.Context()))
		}
		next.ServeHTTP(w, r)
	})
}

// unmatched answers what no route takes in the API's own form.
func unmatched(w http.ResponseWriter, r *http.Request, status int) {
	refuse(w, r, &refusal{status: status, detail: http.StatusText(status)})
}
