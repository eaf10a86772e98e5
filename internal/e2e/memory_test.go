package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	aoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/dhruva-memory/dhruva/client"
	"github.com/dhruva-memory/dhruva/internal/testkit"
)

const (
	fact   = "The night train to Lisbon leaves from platform 14."
	ask    = "From which platform does the night train to Lisbon leave?"
	answer = "platform 14"
)

// A fact said through Chat Completions, by the official client, is recalled
// through Messages, MCP, the command line and the API, and never from another
// space.
func TestM1_OneFactEveryWayIn(t *testing.T) { eachStore(t, oneFactEveryWayIn) }

func oneFactEveryWayIn(t *testing.T, at place) {
	upstream := testkit.NewProvider(t)
	s := startAt(t, at, upstream)
	ctx := context.Background()
	here, there := s.key("here"), s.key("there")

	chat := openai.NewClient(option.WithBaseURL(s.URL+"/v1"), option.WithAPIKey(here))
	_, err := chat.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
		Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(fact)}})
	s.must(err)

	// each way in: what it shows for a key
	ways := map[string]func(key string) string{
		"messages": func(key string) string {
			c := anthropic.NewClient(aoption.WithBaseURL(s.URL), aoption.WithAPIKey(key))
			_, err := c.Messages.New(ctx, anthropic.MessageNewParams{Model: "m", MaxTokens: 64,
				Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(ask))}})
			s.must(err)
			return string(upstream.Last().Body) // what the provider received
		},
		"mcp": s.mcpRecall,
		"cli": func(key string) string { return s.run("recall", "--space", spaceOf(key, here), "--json", ask) },
		"api": func(key string) string {
			out, err := (&client.Client{BaseURL: s.URL, Key: key}).Recall(ctx, spaceOf(key, here), client.RecallInput{Query: ask})
			s.must(err)
			text, err := json.Marshal(out)
			s.must(err)
			return string(text)
		},
	}
	for name, way := range ways {
		if got := way(there); strings.Contains(got, answer) {
			t.Errorf("%s: another space shows\n%s", name, got)
		}
		if got := way(here); !strings.Contains(got, answer) {
			t.Errorf("%s: not recalled:\n%s", name, got)
		}
	}
}

func spaceOf(key, here string) string {
	if key == here {
		return "here"
	}
	return "there"
}

// mcpRecall asks with the official MCP client over streamable HTTP.
func (s *server) mcpRecall(key string) string { return s.mcpRecallOf(key, ask) }

func (s *server) mcpRecallOf(key, query string) string {
	s.Helper()
	ctx := context.Background()
	c := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	transport := &mcp.StreamableClientTransport{Endpoint: s.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer(key)}}
	session, err := c.Connect(ctx, transport, nil)
	s.must(err)
	defer session.Close()
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "recall", Arguments: map[string]any{"query": query}})
	s.must(err)
	text, err := json.Marshal(res)
	s.must(err)
	return string(text)
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// Memory off: the provider receives the client's bytes. Response bytes are the
// provider's in every mode, streamed or not, in all three dialects.
func TestI1_BytesAreSacred(t *testing.T) { eachStore(t, bytesAreSacred) }

func bytesAreSacred(t *testing.T, at place) {
	upstream := testkit.NewProvider(t)
	s := startAt(t, at, upstream)
	key := s.key("work")
	odd := `"x_unknown": {"b":1e400, "a": 9223372036854775808, "b":"\/<>&\u2028 é"},`
	cases := map[string]struct {
		path, body string
		reply      testkit.Reply
	}{
		"chat":      {"/v1/chat/completions", `{ "model":"m",` + odd + ` "messages":[{"role":"user","content":"` + fact + `"}] }`, testkit.ChatJSONCanary("Noted, thank you for that.")},
		"chat sse":  {"/v1/chat/completions", `{"stream":true,"model":"m",` + odd + `"messages":[{"role":"user","content":"` + fact + `"}]}`, testkit.ChatSSECanary("Noted, ", "thank you.")},
		"responses": {"/v1/responses", `{"model":"m",` + odd + `"input":"` + fact + `"}`, testkit.ResponsesJSONCanary("Noted, thank you for that.")},
		"messages":  {"/v1/messages?beta=true", `{"max_tokens":9,"model":"m",` + odd + `"messages":[{"role":"user","content":"` + fact + `"}]}`, testkit.MessagesJSONCanary("Noted, thank you for that.")},
		"msgs sse":  {"/v1/messages?beta=true", `{"stream":true,"max_tokens":9,"model":"m",` + odd + `"messages":[{"role":"user","content":"` + fact + `"}]}`, testkit.MessagesSSECanary("Noted, ", "thank you.").EveryByte()},
	}
	for name, c := range cases {
		for _, mode := range []string{"off", "ingest", "recall", "both"} {
			upstream.Enqueue(c.reply)
			resp := s.post(c.path, key, []byte(c.body), "X-Dhruva-Memory", mode)
			got, err := io.ReadAll(resp.Body)
			s.must(err)
			if string(got) != c.reply.Raw() {
				t.Errorf("%s %s: response differs:\n%s\n%s", name, mode, got, c.reply.Raw())
			}
			sent := upstream.Last()
			if (mode == "off" || mode == "ingest") && sha256.Sum256(sent.Body) != sha256.Sum256([]byte(c.body)) {
				t.Errorf("%s %s: upstream body differs:\n%s\n%s", name, mode, sent.Body, c.body)
			}
			if !bytes.Contains(sent.Body, []byte(odd)) || sent.Target != c.path {
				t.Errorf("%s %s: unknown fields or the query string changed: %s\n%s", name, mode, sent.Target, sent.Body)
			}
			for h := range sent.Header {
				if strings.HasPrefix(h, "X-Dhruva") {
					t.Errorf("%s: header %s reached the provider", name, h)
				}
			}
		}
	}
}

// A path that the mux would redirect is a clean refusal in the dialect's shape.
func TestUncleanPathsAreNotRedirected(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	for _, path := range []string{"/v1//models", "/v1/models/../x", "/v1/chat//completions"} {
		resp := s.post(path, "x", nil)
		body, err := io.ReadAll(resp.Body)
		s.must(err)
		if resp.StatusCode != http.StatusNotFound || !bytes.Contains(body, []byte(`"error"`)) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
}
