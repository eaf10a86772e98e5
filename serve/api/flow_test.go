package api

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

// TestAustraliaAndNewZealand: what a model is given when an older conclusion is
// mounted or forked, asserted on the prompt it got.
func TestAustraliaAndNewZealand(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	must[client.Space](t)(r.CreateSpace(ctx, client.SpaceInput{Name: "trips"}))
	s := must[client.Session](t)(r.CreateSession(ctx, "trips", client.SessionInput{}))
	ask := func(id dhruva.SessionID, m string) (client.SendResult, string) {
		t.Helper()
		res := must[client.SendResult](t)(r.Send(ctx, id, client.SendInput{Message: m}))
		return res, r.model.asked[len(r.model.asked)-1]
	}
	ask(s.ID, "My next trip goes to Australia, to Perth.")
	australia := must[client.Checkpoint](t)(r.CreateCheckpoint(ctx, "trips", client.CheckpointInput{
		Session: s.ID, Title: "Australia", Summary: "The next trip goes to Australia.", Decisions: []client.Item{{Text: "Fly to Perth"}},
	}))
	ask(s.ID, "I changed my mind: the next trip goes to New Zealand, to Nelson.")
	must[client.Checkpoint](t)(r.CreateCheckpoint(ctx, "trips", client.CheckpointInput{
		Session: s.ID, Title: "New Zealand", Summary: "The next trip goes to New Zealand.", Decisions: []client.Item{{Text: "Fly to Nelson"}},
	}))
	head, prompt := ask(s.ID, "Where does my next trip go?")
	if head.Mode != dhruva.ModeHead || !strings.Contains(prompt, "New Zealand") {
		t.Errorf("HEAD %s lacks New Zealand:\n%s", head.Badge, prompt)
	}
	must[client.Session](t)(r.Mount(ctx, s.ID, client.MountInput{Checkpoint: australia.Hash.String()}))
	mounted, prompt := ask(s.ID, "Where does my next trip go?")
	isolated(t, mounted, prompt, dhruva.ModeMounted, australia.Hash)
	again, prompt := ask(s.ID, "Are you sure?")
	isolated(t, again, prompt, dhruva.ModeMounted, australia.Hash)
	if len(again.TurnIDs) != 2 || !strings.Contains(prompt, "Where does my next trip go?") {
		t.Errorf("turns after the mount are missing: %+v\n%s", again.Numbers, prompt)
	}
	fork := must[client.Session](t)(r.Fork(ctx, s.ID, client.ForkInput{Checkpoint: australia.Hash.Short()}))
	forked, prompt := ask(fork.ID, "Where does my next trip go?")
	isolated(t, forked, prompt, dhruva.ModeForked, australia.Hash)
	must[client.Session](t)(r.Unmount(ctx, s.ID))
	if _, prompt = ask(s.ID, "And now?"); !strings.Contains(prompt, "New Zealand") {
		t.Errorf("without the mount New Zealand is missing:\n%s", prompt)
	}
}

func isolated(t *testing.T, res client.SendResult, prompt string, mode dhruva.Mode, h dhruva.Hash) {
	t.Helper()
	if res.Mode != mode || res.Badge != string(mode)+" · "+h.Short() {
		t.Errorf("mode %s, badge %s", res.Mode, res.Badge)
	}
	if diff := cmp.Diff([]dhruva.Hash{h}, res.Checkpoints); diff != "" {
		t.Errorf("checkpoints: %s", diff)
	}
	if !strings.Contains(prompt, "Australia") || !strings.Contains(prompt, "Perth") {
		t.Errorf("%s lacks Australia:\n%s", mode, prompt)
	}
	if strings.Contains(prompt, "Zealand") || strings.Contains(prompt, "Nelson") {
		t.Errorf("%s shows New Zealand:\n%s", mode, prompt)
	}
}

func TestParallelSendsLeaveNoGap(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	s := must[client.Session](t)(r.CreateSession(ctx, "", client.SessionInput{}))
	const n = 20
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if _, err := r.Send(ctx, s.ID, client.SendInput{Message: "hello"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	turns := must[client.List[client.Turn]](t)(r.Turns(ctx, s.ID, 0, 1000))
	if len(turns.Items) != 2*n {
		t.Fatalf("%d turns, want %d", len(turns.Items), 2*n)
	}
	for i, turn := range turns.Items {
		if turn.Seq != int64(i+1) {
			t.Fatalf("turn %d has number %d", i+1, turn.Seq)
		}
	}
}

func TestPiecesArriveBeforeTheEnd(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	r.model.gate = make(chan struct{})
	s := must[client.Session](t)(r.CreateSession(ctx, "", client.SessionInput{}))
	n := 0
	_, err := r.SendStream(ctx, s.ID, client.SendInput{Message: "hello"}, func(string) error {
		if n++; n == 1 {
			close(r.model.gate) // the model goes on only when its first piece has arrived
		}
		return nil
	})
	if err != nil || n != 2 {
		t.Fatalf("%d pieces, %v", n, err)
	}
}

func TestAClientThatLeavesStoresNothing(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	r.model.gate = make(chan struct{}) // never opened: the model waits for its context
	s := must[client.Session](t)(r.CreateSession(ctx, "", client.SessionInput{}))
	enough := errors.New("enough")
	if _, err := r.SendStream(ctx, s.ID, client.SendInput{Message: "hello"}, func(string) error { return enough }); !errors.Is(err, enough) {
		t.Fatalf("got %v", err)
	}
	<-r.model.left
	if got := must[client.List[client.Turn]](t)(r.Turns(ctx, s.ID, 0, 0)); len(got.Items) != 0 {
		t.Errorf("stored %+v", got.Items)
	}
}

func TestTheLogHoldsRoutesAndNoContent(t *testing.T) {
	r := newRig(t)
	var lines bytes.Buffer
	mux := http.NewServeMux()
	mux.Handle(client.Prefix+"/", r.handler)
	front := Front{Log: slog.New(slog.NewJSONHandler(&lines, nil)), Loopback: true}.Wrap(mux)
	get := func(host, path string, header ...string) int {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		req.Host = host
		req.Header.Set("Authorization", "Bearer "+r.Key)
		for i := 0; i+1 < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		front.ServeHTTP(w, req)
		return w.Code
	}
	if code := get("127.0.0.1:7373", client.Prefix+"/spaces/a-secret-name?x=1"); code != http.StatusUnprocessableEntity {
		t.Errorf("an unknown parameter gives %d", code)
	}
	if code := get("127.0.0.1:7373", client.Prefix+"/spaces/a-secret-name"); code != http.StatusNotFound {
		t.Errorf("a missing space gives %d", code)
	}
	if code := get("evil.example", client.Prefix+"/spaces"); code != http.StatusForbidden {
		t.Errorf("a foreign Host gives %d", code)
	}
	if code := get("127.0.0.1:7373", client.Prefix+"/spaces", "Origin", "https://evil.example"); code != http.StatusForbidden {
		t.Errorf("a foreign Origin gives %d", code)
	}
	log := lines.String()
	if !strings.Contains(log, `"route":"GET `+client.Prefix+`/spaces/{space}"`) {
		t.Errorf("the route is missing: %s", log)
	}
	for _, secret := range []string{"a-secret-name", r.Key, "evil"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %s: %s", secret, log)
		}
	}
}
