package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/agents"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/ledger"
	"github.com/dhruva-memory/dhruva/llm"
	"github.com/dhruva-memory/dhruva/memory"
	"github.com/dhruva-memory/dhruva/recall"
	"github.com/dhruva-memory/dhruva/serve/internal/edge"
	"github.com/dhruva-memory/dhruva/store/memstore"
)

// rig is a whole API over a memory store and a scripted model.
type rig struct {
	*client.Client
	t     *testing.T
	url   string
	keys  *auth.Keys
	model *scripted
	// handler is the API without what stands before it.
	handler http.Handler
	store   *failing
	ledger  *ledger.Ledger
	// memory has no model for background work until a test gives it one.
	memory *memory.Memory
	// root is the directory that worktrees are allowed in.
	root string
}

// failing is a store that can be made to fail.
type failing struct {
	dhruva.Store
	err error
}

func (f *failing) View(ctx context.Context, s dhruva.Scope, fn func(dhruva.Tx) error) error {
	if f.err != nil {
		return f.err
	}
	return f.Store.View(ctx, s, fn)
}

func (f *failing) Update(ctx context.Context, s []dhruva.Scope, fn func(dhruva.Tx) error) error {
	if f.err != nil {
		return f.err
	}
	return f.Store.Update(ctx, s, fn)
}

// scripted is a model that answers what it is told to, in pieces.
type scripted struct {
	pieces []string
	err    error // after the pieces
	// gate, when not nil, is what the model waits for after its first piece.
	gate chan struct{}
	left chan struct{} // closed when a caller left meanwhile

	mu    sync.Mutex
	asked []string
}

func (s *scripted) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	return s.Stream(ctx, req, func(string) error { return nil })
}

func (s *scripted) Stream(ctx context.Context, req llm.Request, emit func(string) error) (llm.Response, error) {
	s.mu.Lock()
	s.asked = append(s.asked, req.Messages[len(req.Messages)-1].Content)
	s.mu.Unlock()
	var out llm.Response
	for _, p := range s.pieces {
		out.Text += p
		if err := emit(p); err != nil {
			return out, err
		}
		if s.gate == nil {
			continue
		}
		select {
		case <-s.gate:
		case <-ctx.Done():
			defer close(s.left)
			return out, llm.NewError("scripted", 0, "canceled", "the caller left", ctx.Err())
		}
	}
	return out, s.err
}

func newRig(t *testing.T) *rig {
	t.Helper()
	store := &failing{Store: memstore.New()}
	keyring := auth.NewKeyring([]byte("a seed of at least thirty-two bytes!"))
	keys := &auth.Keys{Store: store, Keyring: keyring}
	if err := keys.Bootstrap(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	model := &scripted{pieces: []string{"It is ", "Canberra."}, left: make(chan struct{})}
	m := &memory.Memory{
		Ledger: ledger.New(store, keyring), Recall: recall.NewEngine(store, keyring), Keys: keyring,
		Providers: func(name string) (memory.Provider, error) {
			return memory.Provider{Name: or(name, "scripted"), DefaultModel: "m1", Generator: model}, nil
		},
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	handler := New(Config{Memory: m, Keys: keys, Version: "test", Worktrees: &agents.Worktrees{Ledger: m.Ledger, Roots: []string{root}, Dir: filepath.Join(root, "made")}})
	s := httptest.NewServer(edge.Access{Log: slog.New(slog.DiscardHandler)}.Wrap(handler))
	t.Cleanup(s.Close)
	r := &rig{t: t, url: s.URL, keys: keys, model: model, handler: handler, store: store, ledger: m.Ledger, memory: m, root: root}
	r.Client = &client.Client{BaseURL: s.URL, Key: r.key(auth.KeyInput{Scopes: dhruva.KeyScopes()})}
	return r
}

// key makes a key of the local owner.
func (r *rig) key(in auth.KeyInput) string {
	r.t.Helper()
	_, secret, err := r.keys.Create(dhruva.WithPrincipal(r.t.Context(), auth.LocalPrincipal()), in)
	if err != nil {
		r.t.Fatal(err)
	}
	return secret.Reveal()
}

// as is the client with another key.
func (r *rig) as(in auth.KeyInput) *client.Client {
	return &client.Client{BaseURL: r.url, Key: r.key(in)}
}

// twins makes two spaces of one name, which this API would not.
func (r *rig) twins(name string) (ids []string) {
	r.t.Helper()
	for range 2 {
		s, err := r.ledger.CreateSpace(dhruva.WithPrincipal(r.t.Context(), auth.LocalPrincipal()), ledger.SpaceInput{Name: name})
		if err != nil {
			r.t.Fatal(err)
		}
		ids = append(ids, string(s.ID))
	}
	return ids
}

// raw sends a request that the client would never make.
func (r *rig) raw(method, path, body string, header ...string) (int, client.Problem, http.Header) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+client.Prefix+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.Key)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	var p client.Problem
	if res.StatusCode >= 400 {
		if err := json.Unmarshal(b, &p); err != nil {
			r.t.Fatalf("%s %s: %d is no problem: %s", method, path, res.StatusCode, b)
		}
	}
	return res.StatusCode, p, res.Header
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func TestSpaces(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	s := must[client.Space](t)(r.CreateSpace(ctx, client.SpaceInput{Name: "work", Description: "d", ProjectRoot: "/p"}))
	if s.Name != "work" || s.Description != "d" || s.ProjectRoot != "/p" || s.ID == "" {
		t.Fatalf("made %+v", s)
	}
	for _, ref := range []string{"work", string(s.ID)} {
		if diff := cmp.Diff(s, must[client.Space](t)(r.Space(ctx, ref))); diff != "" {
			t.Errorf("by %s: %s", ref, diff)
		}
	}
	name := "home/work"
	if got := must[client.Space](t)(r.UpdateSpace(ctx, "work", client.SpacePatch{Name: &name})); got.Name != name || got.Description != "d" {
		t.Errorf("patched %+v", got)
	}
	if got := must[client.Space](t)(r.Space(ctx, name)); got.ID != s.ID {
		t.Errorf("a name with a slash finds %+v", got)
	}
	if got := must[client.List[client.Space]](t)(r.Spaces(ctx, dhruva.Page{})); len(got.Items) != 1 || got.Next != "" {
		t.Errorf("list %+v", got)
	}
	if err := r.DeleteSpace(ctx, name); err != nil {
		t.Fatal(err)
	}
	if got := must[client.List[client.Space]](t)(r.Spaces(ctx, dhruva.Page{})); len(got.Items) != 0 {
		t.Errorf("after the delete: %+v", got)
	}
}

func TestListsArePaged(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	want := map[dhruva.SpaceID]bool{}
	for n := range 5 {
		want[must[client.Space](t)(r.CreateSpace(ctx, client.SpaceInput{Name: string(rune('a' + n))})).ID] = true
	}
	page := dhruva.Page{Limit: 2}
	for n := 0; ; n++ {
		got := must[client.List[client.Space]](t)(r.Spaces(ctx, page))
		for _, s := range got.Items {
			if !want[s.ID] {
				t.Fatalf("%s twice or unknown", s.ID)
			}
			delete(want, s.ID)
		}
		if got.Next == "" {
			break
		}
		if page.After = got.Next; n > 5 {
			t.Fatal("the pages do not end")
		}
	}
	if len(want) > 0 {
		t.Fatalf("not listed: %v", want)
	}
}

func TestSendStoresAndSaysWhatWasSent(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	must[client.Space](t)(r.CreateSpace(ctx, client.SpaceInput{Name: "geo"}))
	s := must[client.Session](t)(r.CreateSession(ctx, "geo", client.SessionInput{}))
	first := must[client.SendResult](t)(r.Send(ctx, s.ID, client.SendInput{Message: "What is the capital of Australia?"}))
	if first.Reply != "It is Canberra." || first.Mode != dhruva.ModeHead || first.Badge != "HEAD · none" || first.ReceiptID == "" || len(first.Turns) != 2 {
		t.Fatalf("first %+v", first)
	}
	second := must[client.SendResult](t)(r.Send(ctx, s.ID, client.SendInput{Message: "And its population?"}))
	if diff := cmp.Diff([]dhruva.TurnID{first.Turns[0].ID, first.Turns[1].ID}, second.TurnIDs); diff != "" {
		t.Errorf("turn_ids: %s", diff)
	}
	if diff := cmp.Diff([]int64{1, 2}, second.Numbers); diff != "" {
		t.Errorf("turn_numbers: %s", diff)
	}
	if !strings.Contains(r.model.asked[1], "capital of Australia") {
		t.Errorf("the prompt lacks the history: %q", r.model.asked[1])
	}
	turns := must[client.List[client.Turn]](t)(r.Turns(ctx, s.ID, 0, 3))
	if len(turns.Items) != 3 || turns.Next != "3" || turns.Items[2].Seq != 3 {
		t.Errorf("turns %+v", turns)
	}
	receipt := must[client.Receipt](t)(r.Receipt(ctx, second.ReceiptID))
	if receipt.Kind != "send" || receipt.Session != s.ID || receipt.State != "final" {
		t.Errorf("receipt %+v", receipt)
	}
	preview := must[client.Preview](t)(r.Preview(ctx, s.ID, client.SendInput{Message: "x"}))
	if len(preview.Numbers) != 4 || !strings.Contains(preview.Prompt, "x") || len(r.model.asked) != 2 {
		t.Errorf("preview %+v, asked %d", preview, len(r.model.asked))
	}
}

func TestSendAsEvents(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	s := must[client.Session](t)(r.CreateSession(ctx, "", client.SessionInput{}))
	if s.SpaceID != nil || !s.Fresh {
		t.Fatalf("fresh session %+v", s)
	}
	var pieces []string
	res, err := r.SendStream(ctx, s.ID, client.SendInput{Message: "hello"}, func(p string) error { pieces = append(pieces, p); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"It is ", "Canberra."}, pieces); diff != "" {
		t.Errorf("deltas: %s", diff)
	}
	if res.Reply != "It is Canberra." || res.Mode != dhruva.ModeFresh || len(res.Turns) != 2 {
		t.Errorf("done %+v", res)
	}
}

func TestAFailedSendStoresNeitherTurn(t *testing.T) {
	for name, pieces := range map[string][]string{"before the first piece": nil, "in the middle": {"half"}} {
		t.Run(name, func(t *testing.T) {
			r, ctx := newRig(t), t.Context()
			r.model.pieces, r.model.err = pieces, llm.NewError("scripted", 500, "overloaded", "too busy", nil)
			s := must[client.Session](t)(r.CreateSession(ctx, "", client.SessionInput{}))
			_, err := r.SendStream(ctx, s.ID, client.SendInput{Message: "hello"}, func(string) error { return nil })
			wantProblem(t, err, 502, "upstream")
			if !strings.Contains(err.Error(), "too busy") {
				t.Errorf("the provider's words are lost: %v", err)
			}
			_, err = r.Send(ctx, s.ID, client.SendInput{Message: "hello"})
			wantProblem(t, err, 502, "upstream")
			if got := must[client.List[client.Turn]](t)(r.Turns(ctx, s.ID, 0, 0)); len(got.Items) != 0 {
				t.Errorf("stored %+v", got.Items)
			}
		})
	}
}

func TestCheckpointsMountAndFork(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	must[client.Space](t)(r.CreateSpace(ctx, client.SpaceInput{Name: "geo"}))
	s := must[client.Session](t)(r.CreateSession(ctx, "geo", client.SessionInput{}))
	must[client.SendResult](t)(r.Send(ctx, s.ID, client.SendInput{Message: "We plan a trip to Australia."}))
	in := client.CheckpointInput{
		Session: s.ID, Title: "Trip", Objective: "plan", Summary: "Australia in May.",
		Decisions: []client.Item{{Text: "Go in May"}, {Text: "Fly", ID: "fly", Cites: []client.Cite{{From: 1, Through: 2}}}},
		Tasks:     []client.Task{{Text: "Book"}, {Text: "Pack", ID: "pack", Intent: "implement", BlockedBy: "book", Status: "open"}},
		Entities:  []client.Item{{Text: "Australia"}},
		Artifacts: []client.Artifact{{ID: "a1", Type: "note", Label: "List", Content: "hat\n"}},
		Author:    "mel",
	}
	c := must[client.Checkpoint](t)(r.CreateCheckpoint(ctx, "geo", in))
	same := client.CheckpointInput{Session: c.Session, Title: c.Title, Objective: c.Objective, Summary: c.Summary, Decisions: c.Decisions,
		Tasks: c.Tasks, Entities: c.Entities, Artifacts: c.Artifacts, Author: c.Author}
	if diff := cmp.Diff(in, same); diff != "" {
		t.Errorf("what was sent does not come back in its form: %s", diff)
	}
	if c.Window == nil || c.Window.Through != 2 || c.Window.Session != s.ID || len(c.Items) != 9 {
		t.Errorf("checkpoint %+v", c)
	}
	for _, ref := range []string{c.Hash.String(), c.Hash.Short()} {
		if diff := cmp.Diff(c, must[client.Checkpoint](t)(r.Checkpoint(ctx, ref))); diff != "" {
			t.Errorf("by %s: %s", ref, diff)
		}
	}
	if got := must[client.List[client.Turn]](t)(r.CheckpointTurns(ctx, c.Hash.Short())); len(got.Items) != 2 {
		t.Errorf("turns of the checkpoint: %+v", got)
	}
	if got := must[client.List[client.Branch]](t)(r.Branches(ctx, "geo")); len(got.Items) != 1 || got.Items[0].Head != c.Hash || got.Items[0].Name != "main" {
		t.Errorf("branches %+v", got)
	}
	if got := must[client.List[client.Checkpoint]](t)(r.Checkpoints(ctx, "geo", client.CheckpointFilter{Branch: "main"})); len(got.Items) != 1 {
		t.Errorf("checkpoints %+v", got)
	}
	if got := must[client.Verification](t)(r.Verify(ctx, "geo")); !got.OK || got.Checked != 1 {
		t.Errorf("verify %+v", got)
	}
	mounted := must[client.Session](t)(r.Mount(ctx, s.ID, client.MountInput{Checkpoint: c.Hash.Short()}))
	if mounted.Mount == nil || mounted.Mount.Checkpoint != c.Hash || mounted.Mount.Base != 2 {
		t.Fatalf("mount %+v", mounted.Mount)
	}
	p := must[client.Preview](t)(r.Preview(ctx, s.ID, client.SendInput{Message: "What next?"}))
	if p.Mode != dhruva.ModeMounted || p.Badge != "MOUNTED · "+c.Hash.Short() || len(p.TurnIDs) != 0 || strings.Contains(p.Prompt, "We plan a trip") {
		t.Errorf("mounted preview %+v", p)
	}
	if got := must[client.Session](t)(r.Unmount(ctx, s.ID)); got.Mount != nil {
		t.Errorf("still mounted: %+v", got.Mount)
	}
	for name, fork := range map[string]func() (client.Session, error){
		"session": func() (client.Session, error) {
			return r.Fork(ctx, s.ID, client.ForkInput{Checkpoint: c.Hash.Short(), Branch: "b1", Title: "T"})
		},
		"checkpoint": func() (client.Session, error) {
			return r.ForkCheckpoint(ctx, c.Hash.Short(), client.ForkInput{Branch: "b2", Title: "T"})
		},
	} {
		f := must[client.Session](t)(fork())
		if f.ForkedFrom != c.Hash || f.Title != "T" || f.LastSeq != 0 || !strings.HasPrefix(f.Branch, "b") {
			t.Errorf("fork by %s: %+v", name, f)
		}
	}
}

func TestAttachAndTitle(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	space := must[client.Space](t)(r.CreateSpace(ctx, client.SpaceInput{Name: "geo"}))
	s := must[client.Session](t)(r.CreateSession(ctx, "", client.SessionInput{Title: "a"}))
	got := must[client.Session](t)(r.Attach(ctx, s.ID, "geo"))
	if got.SpaceID == nil || *got.SpaceID != space.ID || got.Fresh {
		t.Errorf("attached %+v", got)
	}
	if got := must[client.Session](t)(r.SetTitle(ctx, s.ID, "b")); got.Title != "b" {
		t.Errorf("title %+v", got)
	}
	_, err := r.SetTitle(ctx, s.ID, "")
	wantProblem(t, err, 422, "invalid")
	if got := must[client.List[client.Session]](t)(r.Sessions(ctx, "geo", client.SessionFilter{})); len(got.Items) != 1 {
		t.Errorf("sessions %+v", got)
	}
	if err := r.DeleteSession(ctx, s.ID); err != nil {
		t.Fatal(err)
	}
	_, err = r.Session(ctx, s.ID)
	wantProblem(t, err, 404, "not_found")
}

func TestRememberRecallRead(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	must[client.Space](t)(r.CreateSpace(ctx, client.SpaceInput{Name: "work"}))
	const text = "The deploy window is Friday at nine in the evening."
	stored := must[client.Remembered](t)(r.Remember(ctx, "work", client.RememberInput{Text: text, Authority: "user"}))
	if stored.State != dhruva.SourceReady || stored.Class != dhruva.ClassUserTyped || stored.Receipt == "" {
		t.Fatalf("remembered %+v", stored)
	}
	got := must[client.Recall](t)(r.Recall(ctx, "work", client.RecallInput{Query: "when is the deploy window?"}))
	if got.Status != dhruva.RecallRecalled || len(got.Evidence) == 0 || got.Evidence[0].Source != stored.Source || got.Receipt == "" {
		t.Fatalf("recall %+v", got)
	}
	read := must[client.ReadResults](t)(r.Read(ctx, []string{got.Evidence[0].Token, "nonsense"}))
	if len(read.Results) != 2 || read.Results[0].Status != "ok" || !strings.Contains(text, read.Results[0].Text) || read.Results[1].Status != "not_found" {
		t.Errorf("read %+v", read)
	}
	src := must[client.Source](t)(r.Source(ctx, "work", stored.Source))
	if src.Text != text || len(src.References) == 0 {
		t.Errorf("source %+v", src)
	}
	if list := must[client.List[client.Source]](t)(r.Sources(ctx, "work", client.SourceFilter{State: dhruva.SourceReady})); len(list.Items) != 1 {
		t.Errorf("sources %+v", list)
	}
	none := must[client.Recall](t)(r.Recall(ctx, "", client.RecallInput{Query: "when is the deploy window?"}))
	if none.Status == dhruva.RecallRecalled {
		t.Errorf("another space recalls it: %+v", none)
	}
	list := must[client.List[client.Receipt]](t)(r.Receipts(ctx, client.ReceiptFilter{Space: "work", Kind: "recall"}))
	if len(list.Items) != 1 || list.Items[0].ID != got.Receipt {
		t.Errorf("receipts %+v", list)
	}
}

func TestImportMayBeRepeated(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	must[client.Space](t)(r.CreateSpace(ctx, client.SpaceInput{Name: "work"}))
	in := client.ImportInput{Key: "k", Title: "old", Turns: []client.ImportTurn{{Role: "user", Text: "My cat is called Miso."}, {Role: "assistant", Text: "Noted."}}}
	first := must[client.Imported](t)(r.Import(ctx, "work", in))
	again := must[client.Imported](t)(r.Import(ctx, "work", in))
	if first.New != 2 || again.New != 0 || again.Skipped != 2 || first.Session != again.Session {
		t.Errorf("first %+v, again %+v", first, again)
	}
}

func TestKeys(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	space := must[client.Space](t)(r.CreateSpace(ctx, client.SpaceInput{Name: "work"}))
	must[client.Space](t)(r.CreateSpace(ctx, client.SpaceInput{Name: "other"}))
	k := must[client.NewKey](t)(r.CreateKey(ctx, client.KeyInput{Name: "n", Space: "work", Scopes: []dhruva.KeyScope{dhruva.MemoryRead}}))
	if !strings.HasPrefix(k.Secret, "dhr_live_") || k.Space != space.ID || k.ID == "" {
		t.Fatalf("key %+v", k)
	}
	c := &client.Client{BaseURL: r.url, Key: k.Secret}
	must[client.Recall](t)(c.Recall(ctx, "work", client.RecallInput{Query: "x"}))
	_, err := c.Recall(ctx, "other", client.RecallInput{Query: "x"})
	wantProblem(t, err, 404, "not_found")
	_, err = c.CreateCheckpoint(ctx, "work", client.CheckpointInput{Title: "x"})
	wantProblem(t, err, 403, "denied")
	list := must[client.List[client.Key]](t)(r.Keys(ctx, dhruva.Page{}))
	b, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte(k.Secret)) {
		t.Error("the list shows a key")
	}
	if err := r.RevokeKey(ctx, k.ID); err != nil {
		t.Fatal(err)
	}
	_, err = c.Recall(ctx, "work", client.RecallInput{Query: "x"})
	wantProblem(t, err, 401, "unauthenticated")
}

func TestATestKeyReachesOnlyEcho(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	c := r.as(auth.KeyInput{Scopes: dhruva.KeyScopes(), Test: true})
	s := must[client.Session](t)(c.CreateSession(ctx, "", client.SessionInput{}))
	_, err := c.Send(ctx, s.ID, client.SendInput{Message: "x", Provider: "openai"})
	wantProblem(t, err, 403, "denied")
	if got := must[client.SendResult](t)(c.Send(ctx, s.ID, client.SendInput{Message: "x"})); got.Provider != "echo" {
		t.Errorf("provider %s", got.Provider)
	}
}

// Nothing half-written: a key that cannot be made leaves no space behind.
func TestARefusedKeyMakesNoSpace(t *testing.T) {
	r := newRig(t)
	for _, body := range []string{
		`{"scopes":["bogus"],"space":"half-written"}`,
		`{"scopes":["proxy"],"space":"half-written","expires_at":"2001-01-01T00:00:00Z"}`,
		`{"scopes":["proxy"],"space":"half-written","test":true,"provider":"openai"}`,
	} {
		if status, p, _ := r.raw("POST", "/keys", body); status != 422 {
			t.Errorf("%s: %d %+v", body, status, p)
		}
	}
	if status, _, _ := r.raw("GET", "/spaces/half-written", ""); status != 404 {
		t.Errorf("the space is there: %d", status)
	}
}
