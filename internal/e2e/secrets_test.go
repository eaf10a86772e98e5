package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	enc "encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/internal/pgtest"
	"github.com/dhruva-memory/dhruva/internal/testkit"
)

// canary is a secret in a text. No secret stands in this file: they are made up
// at run time.
type canary struct {
	kind, text, secret string
}

// canaries are one for each family of rules, new ones at each call.
func canaries(r *rand.Rand) (out []canary) {
	of := func(set string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = set[r.IntN(len(set))]
		}
		return string(b)
	}
	const digits, small, big, hexa = "0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789abcdef"
	token := func(n int) string { // letters and digits in turn, so that none looks like a word
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(of(big, 1) + of(digits, 1) + of(small, 2) + of(digits, 1))
		}
		return b.String()[:n]
	}
	chosen := of(big, 1) + of(small, 6) + of(digits, 2) + "!"
	jwt := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"`+of(digits, 12)+`"}`)) + "." + token(43)
	body := token(64)
	for _, c := range []canary{
		{"aws-access-token", "the id is %s in that account", "AK" + "IA" + of("234567ABCDEFGH", 16)},
		{"api-key", "aws_secret_access_key = %s", token(40)},
		{"github-pat", "I clone with %s, as before", "gh" + "p_" + token(36)},
		{"slack-bot-token", "the bot speaks with %s.", "xo" + "xb-" + of(digits, 12) + "-" + of(digits, 12) + "-" + token(24)},
		{"stripe-access-token", "stripe takes %s there", "sk" + "_live_" + token(24)},
		{"gcp-api-key", "maps want %s now", "AI" + "za" + token(35)},
		{"gitlab-pat", "the runner has %s", "gl" + "pat-" + token(20)},
		{"npm-access-token", "npm publishes with %s", "np" + "m_" + token(36)},
		{"openai-api-key", "the model is paid with %s", "s" + "k-proj-" + token(74) + "T3Blbk" + "FJ" + token(74)},
		{"anthropic-api-key", "the other one with %s", "s" + "k-ant-" + "api03-" + token(93) + "AA"},
		{"digitalocean-pat", "the droplet has %s", "do" + "p_v1_" + of(hexa, 62) + "a1"},
		{"dhruva-key", "memory is opened with %s", "dhr_" + "live_" + token(33)},
		{"jwt", "the session is %s today", jwt},
		{"bearer-token", "it sends Authorization: Bearer %s", token(32)},
		{"basic-auth", "or Authorization: Basic %s", base64.StdEncoding.EncodeToString([]byte("bob:" + chosen))},
		{"url-password", "postgres://app:%s@db.example.com:5432/app", of(big, 2) + of(digits, 3) + of(small, 6)},
		{"password", "my password is %s, please keep it", chosen},
		{"secret", "client_secret=%s", token(32)},
		{"token", `{"refresh_token": "%s"}`, token(40)},
		{"telegram-bot-token", "the bot's is %s", "7" + of(digits, 9) + ":AA" + token(33)},
		{"private-key", "-----BEGIN RSA PRIV" + "ATE KEY-----\n%s\n-----END RSA PRIV" + "ATE KEY-----", body},
	} {
		c.text = fmt.Sprintf(c.text, c.secret)
		out = append(out, c)
	}
	return out
}

// planted are the canaries of one way in.
type planted struct {
	way  string
	with []canary
}

func (p planted) text() string {
	var lines []string
	for n, c := range p.with {
		lines = append(lines, fmt.Sprintf("%s, item %d of the list:\n%s\n", p.way, n, c.text))
	}
	return strings.Join(lines, "\n")
}

// shapes are the forms in which a secret could stand in a file.
func shapes(secret string) (out map[string][]byte) {
	out = map[string][]byte{
		"plain": []byte(secret), "hex": []byte(hex.EncodeToString([]byte(secret))), "HEX": []byte(strings.ToUpper(hex.EncodeToString([]byte(secret)))),
		"reversed": reversed(secret), "url": []byte(url.QueryEscape(secret)),
	}
	for shift := range 3 { // whatever stands before it
		whole := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00", shift) + secret))
		mid := whole[(shift*8+5)/6 : len(whole)-4]
		out[fmt.Sprint("base64+", shift)] = []byte(mid)
		out[fmt.Sprint("base64url+", shift)] = []byte(strings.NewReplacer("+", "-", "/", "_").Replace(mid))
	}
	return out
}

func reversed(s string) []byte {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return b
}

// sought is a canary in one of its shapes.
type sought struct {
	text        []byte
	way, kind   string
	shape, head string
}

// searching finds many texts in one pass, by their first eight bytes.
type searching struct {
	first [1 << 16]bool // of the last two of them
	by    map[uint64][]sought
}

func searchFor(all []planted) *searching {
	s := &searching{by: map[uint64][]sought{}}
	for _, p := range all {
		for _, c := range p.with {
			for shape, text := range shapes(c.secret) {
				key := enc.BigEndian.Uint64(text)
				s.first[uint16(key)] = true
				s.by[key] = append(s.by[key], sought{text, p.way, c.kind, shape, c.secret[:4]})
			}
		}
	}
	return s
}

func (s *searching) in(text []byte) (found []sought) {
	key := uint64(0)
	for i, b := range text {
		if key = key<<8 | uint64(b); i < 7 || !s.first[uint16(key)] {
			continue
		}
		for _, want := range s.by[key] {
			if bytes.HasPrefix(text[i-7:], want.text) {
				found = append(found, want)
			}
		}
	}
	return found
}

// leaks tells where canaries stand in files.
func leaks(t *testing.T, dir string, all []planted) (found []string) {
	t.Helper()
	files, search := 0, searchFor(all)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for _, l := range search.in(text) {
			found = append(found, fmt.Sprintf("%s: %s of %s stands in %s (%s)", l.way, l.kind, l.head, filepath.Base(path), l.shape))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Fatalf("no file in %s", dir)
	}
	return found
}

// visit goes every way in that stores text, with canaries of its own each, and
// checks that the provider received them as they were.
func (s *server) visit(upstream *testkit.Provider, space string, r *rand.Rand) (all []planted) {
	s.Helper()
	ctx, api, key := context.Background(), s.admin(), s.key(space)
	plant := func(way string) planted {
		p := planted{way, canaries(r)}
		all = append(all, p)
		return p
	}
	quoted := func(text string) string {
		b, err := json.Marshal(text)
		s.must(err)
		return string(b)
	}
	s.proxied(upstream, key, plant, quoted)

	// the native API: send, remember, import, checkpoint, and what names things
	session, err := api.CreateSession(ctx, space, client.SessionInput{Title: plant("session title").with[2].text})
	s.must(err)
	asked, told := plant("send message"), plant("send reply")
	upstream.Enqueue(testkit.ChatJSON(told.text()))
	sent, err := api.Send(ctx, session.ID, client.SendInput{Message: asked.text(), Provider: "openai"})
	s.must(err)
	if sent.Reply != told.text() {
		s.Errorf("the reply was changed:\n%s", sent.Reply)
	}
	s.received(upstream, asked)
	if receipt, err := api.Receipt(ctx, sent.ReceiptID); err != nil || receipt.Redactions != len(asked.with)+len(told.with) {
		s.Errorf("send: the receipt counts %d (%v)", receipt.Redactions, err)
	}
	note := plant("remember")
	kept, err := api.Remember(ctx, space, client.RememberInput{Text: note.text(), Authority: "user"})
	s.must(err)
	if kept.Redactions != len(note.with) {
		s.Errorf("remember counts %d", kept.Redactions)
	}
	again, err := api.Idempotent("once").Remember(ctx, space, client.RememberInput{Text: note.text(), Authority: "user"})
	s.must(err)
	repeated, err := api.Idempotent("once").Remember(ctx, space, client.RememberInput{Text: note.text(), Authority: "user"})
	s.must(err)
	if again.Source != kept.Source || repeated.Redactions != len(note.with) {
		s.Errorf("remembered again as %s, %d counted at the repetition", again.Source, repeated.Redactions)
	}
	s.mcpRemember(key, plant("mcp"))
	bulk := plant("import")
	taken, err := api.Import(ctx, space, client.ImportInput{Key: plant("import key").with[2].secret, Title: plant("import title").with[2].text,
		Turns: []client.ImportTurn{{Role: dhruva.RoleUser, Text: bulk.text(), Speaker: plant("speaker").with[2].secret}}})
	s.must(err)
	if taken.Redactions < len(bulk.with) {
		s.Errorf("import counts %d", taken.Redactions)
	}
	s.importFile(space, plant("import file"))
	saved, art := plant("checkpoint"), plant("artifact")
	c, err := api.CreateCheckpoint(ctx, space, client.CheckpointInput{Session: session.ID, Title: saved.with[2].text, Summary: saved.text(),
		Decisions: []client.Item{{Text: saved.with[0].text}}, Tasks: []client.Task{{Text: saved.with[1].text, Intent: saved.with[3].text, ID: saved.with[4].secret}},
		Artifacts: []client.Artifact{{Content: art.text(), Label: art.with[5].text}}, Author: saved.with[7].secret})
	s.must(err)
	if c.Redactions < len(saved.with)+len(art.with) {
		s.Errorf("the checkpoint counts %d", c.Redactions)
	}
	d, n := plant("space").with[2].text, "named "+plant("space name").with[2].secret
	_, err = api.UpdateSpace(ctx, space, client.SpacePatch{Description: &d, ProjectRoot: &d})
	s.must(err)
	if _, err = api.CreateSpace(ctx, client.SpaceInput{Name: n}); err == nil || !strings.Contains(err.Error(), "looks like a secret") {
		s.Errorf("a space that is named like a secret: %v", err)
	}
	_, err = api.CreateSpace(ctx, client.SpaceInput{Name: "plainly named", Description: plant("new space").with[2].text})
	s.must(err)
	if _, err = api.CreateKey(ctx, client.KeyInput{Name: "of " + plant("key name").with[2].secret, Scopes: []dhruva.KeyScope{dhruva.StateRead}}); err == nil || !strings.Contains(err.Error(), "looks like a secret") {
		s.Errorf("a key that is named like a secret: %v", err)
	}
	return all
}

// proxied goes through the provider proxy, in the three dialects, streamed and
// not, with an answer and with none.
func (s *server) proxied(upstream *testkit.Provider, key string, plant func(string) planted, quoted func(string) string) {
	s.Helper()
	for _, c := range []struct {
		way, path, body string
		reply           func(string) testkit.Reply
	}{
		{"chat", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":%s}]}`, testkit.ChatJSON},
		{"chat sse", "/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":%s}]}`, func(t string) testkit.Reply { return testkit.ChatSSE(t[:len(t)/2], t[len(t)/2:]) }},
		{"responses", "/v1/responses", `{"model":"m","input":%s}`, testkit.ResponsesJSON},
		{"messages", "/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":%s}]}`, testkit.MessagesJSON},
		{"failed", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":%s}]}`, func(string) testkit.Reply { return testkit.ChatError(500, "server_error", "x", "no") }},
	} {
		asked, told := plant(c.way+" message"), plant(c.way+" answer")
		reply := c.reply(told.text())
		upstream.Enqueue(reply)
		body := fmt.Sprintf(c.body, quoted(asked.text()))
		resp := s.post(c.path, key, []byte(body), "X-Dhruva-Memory", "ingest")
		got, err := io.ReadAll(resp.Body)
		s.must(err)
		if string(got) != reply.Raw() {
			s.Errorf("%s: the reply was changed", c.way)
		}
		if sent := upstream.Last().Body; string(sent) != body {
			s.Errorf("%s: the provider received\n%s\nand not\n%s", c.way, sent, body)
		}
	}
	old, said, now := plant("history message"), plant("history answer"), plant("history next")
	upstream.Enqueue(testkit.ChatJSON("Noted, thank you for that."))
	body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%s},{"role":"assistant","content":%s},{"role":"user","content":%s}]}`,
		quoted(old.text()), quoted(said.text()), quoted(now.text()))
	resp := s.post("/v1/chat/completions", key, []byte(body))
	_, err := io.ReadAll(resp.Body)
	s.must(err)
	s.received(upstream, old, said, now)
}

// received checks that the last request to the provider holds every canary.
func (s *server) received(upstream *testkit.Provider, all ...planted) {
	s.Helper()
	sent := string(upstream.Last().Body)
	for _, p := range all {
		for _, c := range p.with {
			if !strings.Contains(sent, c.secret) {
				s.Errorf("%s: the provider did not receive the %s", p.way, c.kind)
			}
		}
	}
}

func (s *server) mcpRemember(key string, p planted) {
	s.Helper()
	ctx := context.Background()
	c := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	session, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: s.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer(key)}}, nil)
	s.must(err)
	defer session.Close()
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "remember", Arguments: map[string]any{"text": p.text()}})
	s.must(err)
	text, err := json.Marshal(res)
	s.must(err)
	if want := fmt.Sprintf(`\"redactions\":%d`, len(p.with)); res.IsError || !strings.Contains(string(text), strings.ReplaceAll(want, `\`, "")) {
		s.Errorf("mcp: %s", text)
	}
}

func (s *server) importFile(space string, p planted) {
	s.Helper()
	line, err := json.Marshal(map[string]string{"role": "user", "text": p.text(), "session": "old"})
	s.must(err)
	file := filepath.Join(s.TempDir(), "turns.jsonl")
	s.must(os.WriteFile(file, line, 0o600))
	var out struct{ Redactions int }
	s.must(json.Unmarshal([]byte(s.run("import", "jsonl", file, "--space", space, "--json")), &out))
	if out.Redactions != len(p.with) {
		s.Errorf("dhruva import counts %d", out.Redactions)
	}
}

// Security 3, memory plane 2.6b: no secret of any family that comes in by any way
// stands in any file afterwards, in no form, while the server runs and when it
// has ended; what the provider was sent, and the client was answered, has it.
// The store holds its placeholder.
func TestSecretsNeverStored(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { secretsNeverStored(t, place{dir: t.TempDir()}, nil) })
	t.Run("postgres", func(t *testing.T) {
		pg := pgtest.Start(t, pgtest.Options{})
		secretsNeverStored(t, place{t.TempDir(), pg.URL(t)}, pg)
	})
}

func secretsNeverStored(t *testing.T, at place, pg *pgtest.Server) {
	upstream := testkit.NewProvider(t)
	s := startAt(t, at, upstream)
	all := s.visit(upstream, "work", rand.New(rand.NewPCG(1, 7)))
	look := func(when string) {
		t.Helper()
		for _, dir := range dirs(at, pg) {
			for _, l := range leaks(t, dir, all) {
				t.Errorf("%s: %s", when, l)
			}
		}
	}
	look("running")
	s.holdPlaceholders("work")
	s.stop()
	look("ended")
	for _, p := range all {
		for _, c := range p.with {
			if strings.Contains(s.logs.String(), c.secret) {
				t.Errorf("%s: %s stands in the log", p.way, c.kind)
			}
		}
	}
	t.Logf("%d canaries", len(all)*len(all[0].with))
}

func dirs(at place, pg *pgtest.Server) []string {
	if pg == nil {
		return []string{at.dir}
	}
	return []string{at.dir, pg.Dir()}
}

// holdPlaceholders: each family is told by its placeholder where it stood.
func (s *server) holdPlaceholders(space string) {
	s.Helper()
	ctx, api := context.Background(), s.admin()
	sessions, err := api.Sessions(ctx, space, client.SessionFilter{})
	s.must(err)
	var stored strings.Builder
	for _, session := range sessions.Items {
		turns, err := api.Turns(ctx, session.ID, 0, 1000)
		s.must(err)
		for _, turn := range turns.Items {
			stored.WriteString(turn.Content)
		}
	}
	for _, c := range canaries(rand.New(rand.NewPCG(3, 3))) {
		if n := strings.Count(stored.String(), "[redacted:"+c.kind+"]"); n < 10 {
			s.Errorf("%s: its placeholder stands %d times", c.kind, n)
		}
	}
}

// The same with redaction off finds every canary that was said: the search
// above can fail. The log and doctor say that it is off.
func TestSecretsAreStoredWhenRedactionIsOff(t *testing.T) {
	at := place{dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(at.dir, "limits.yaml"), []byte("redaction: off\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startAt(t, at, nil)
	p := planted{"remember", canaries(rand.New(rand.NewPCG(5, 5)))}
	kept, err := s.admin().Remember(context.Background(), "", client.RememberInput{Text: p.text()})
	s.must(err)
	found := strings.Join(leaks(t, at.dir, []planted{p}), "\n")
	for _, c := range p.with {
		if !strings.Contains(found, c.kind) {
			t.Errorf("%s is not found", c.kind)
		}
	}
	s.must(os.Chmod(at.dir, 0o700))
	if doctor := s.run("doctor"); kept.Redactions != 0 || !strings.Contains(doctor, "redaction") || !strings.Contains(doctor, "off: secrets") {
		t.Errorf("%d redactions; doctor says\n%s", kept.Redactions, doctor)
	}
	s.stop()
	if !strings.Contains(s.logs.String(), "redaction is off") {
		t.Errorf("the log does not say it:\n%s", s.logs)
	}
}
