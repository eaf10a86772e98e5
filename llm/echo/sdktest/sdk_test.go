package sdktest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/dhruva-memory/dhruva/llm/echo"
)

const said = "My cat is called Möbius, and she likes 猫草."

// A quarter of the runes, rounded up: of said, and of the answer to it.
const (
	saidTokens   = 11
	answerTokens = 12
)

func openaiClient() openai.Client {
	return openai.NewClient(openaioption.WithBaseURL("http://echo.internal/v1/"), openaioption.WithAPIKey("any"),
		openaioption.WithHTTPClient(&http.Client{Transport: echo.Provider{}}), openaioption.WithMaxRetries(0))
}

func anthropicClient() anthropic.Client {
	return anthropic.NewClient(anthropicoption.WithBaseURL("http://echo.internal/"), anthropicoption.WithAPIKey("any"),
		anthropicoption.WithHTTPClient(&http.Client{Transport: echo.Provider{}}), anthropicoption.WithMaxRetries(0))
}

func chatParams() openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:         "gpt-any",
		Messages:      []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("be brief"), openai.UserMessage("first"), openai.AssistantMessage("ok"), openai.UserMessage(said)},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
}

func TestOpenAISDKChat(t *testing.T) {
	params := chatParams()
	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
	client := openaiClient()
	got, err := client.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	if c := got.Choices[0]; c.Message.Content != "Echo: "+said || c.FinishReason != "stop" || got.Model != "gpt-any" || got.Usage.TotalTokens != got.Usage.PromptTokens+got.Usage.CompletionTokens || got.Usage.CompletionTokens == 0 {
		t.Errorf("%s", got.RawJSON())
	}
}

func TestOpenAISDKChatStream(t *testing.T) {
	client := openaiClient()
	stream := client.Chat.Completions.NewStreaming(t.Context(), chatParams())
	var acc openai.ChatCompletionAccumulator
	deltas := 0
	for stream.Next() {
		chunk := stream.Current()
		if !acc.AddChunk(chunk) {
			t.Fatalf("the accumulator refused %s", chunk.RawJSON())
		}
		if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			deltas++
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if c := acc.Choices[0]; c.Message.Content != "Echo: "+said || c.FinishReason != "stop" || acc.Usage.CompletionTokens == 0 || deltas < 3 {
		t.Errorf("%d deltas, %+v", deltas, acc.ChatCompletion)
	}
}

func responsesParams() responses.ResponseNewParams {
	return responses.ResponseNewParams{Model: "gpt-any", Instructions: openai.String("be brief"), Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(said)}}
}

func TestOpenAISDKResponses(t *testing.T) {
	client := openaiClient()
	got, err := client.Responses.New(t.Context(), responsesParams())
	if err != nil {
		t.Fatal(err)
	}
	if got.OutputText() != "Echo: "+said || got.Status != "completed" || got.Usage.OutputTokens == 0 || got.Instructions.OfString != "be brief" {
		t.Errorf("%s", got.RawJSON())
	}
}

func TestOpenAISDKResponsesStream(t *testing.T) {
	client := openaiClient()
	stream := client.Responses.NewStreaming(t.Context(), responsesParams())
	var types []string
	var text strings.Builder
	var final responses.Response
	for stream.Next() {
		ev := stream.Current()
		if ev.SequenceNumber != int64(len(types)) && len(types) < 5 {
			t.Errorf("event %d has number %d", len(types), ev.SequenceNumber)
		}
		if len(types) == 0 || types[len(types)-1] != ev.Type {
			types = append(types, ev.Type)
		}
		text.WriteString(ev.Delta)
		final = ev.Response
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	want := []string{"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added", "response.output_text.delta",
		"response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed"}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Error(diff)
	}
	if text.String() != "Echo: "+said || final.OutputText() != "Echo: "+said {
		t.Errorf("%q, %q", text.String(), final.OutputText())
	}
}

func messagesParams() anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: "claude-any", MaxTokens: 16, System: []anthropic.TextBlockParam{{Text: "be brief"}},
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("first")), anthropic.NewAssistantMessage(anthropic.NewTextBlock("ok")), anthropic.NewUserMessage(anthropic.NewTextBlock(said))},
	}
}

func TestAnthropicSDKMessages(t *testing.T) {
	client := anthropicClient()
	got, err := client.Messages.New(t.Context(), messagesParams())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Content) != 1 || got.Content[0].Text != "Echo: "+said || got.StopReason != "end_turn" || got.Model != "claude-any" || got.Usage.OutputTokens == 0 {
		t.Errorf("%s", got.RawJSON())
	}
}

func TestAnthropicSDKMessagesStream(t *testing.T) {
	client := anthropicClient()
	stream := client.Messages.NewStreaming(t.Context(), messagesParams())
	var acc anthropic.Message
	var types []string
	for stream.Next() {
		ev := stream.Current()
		if err := acc.Accumulate(ev); err != nil {
			t.Fatal(err)
		}
		if len(types) == 0 || types[len(types)-1] != ev.Type {
			types = append(types, ev.Type)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if acc.Content[0].Text != "Echo: "+said || acc.StopReason != "end_turn" || acc.Usage.OutputTokens != answerTokens {
		t.Errorf("%+v", acc)
	}
	want := []string{"message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Error(diff) // the SDK drops ping by itself
	}
}

func TestSDKModelsAndCounting(t *testing.T) {
	oa, an := openaiClient(), anthropicClient()
	list, err := oa.Models.List(t.Context())
	if err != nil || len(list.Data) != 1 || list.Data[0].ID != echo.Model {
		t.Errorf("%+v, %v", list, err)
	}
	page, err := an.Models.List(t.Context(), anthropic.ModelListParams{})
	if err != nil || len(page.Data) != 1 || page.Data[0].ID != echo.Model || page.HasMore {
		t.Errorf("%+v, %v", page, err)
	}
	if m, err := oa.Models.Get(t.Context(), "some/model"); err != nil || m.ID != "some/model" {
		t.Errorf("%+v, %v", m, err)
	}
	p := messagesParams()
	count, err := an.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{Model: p.Model, Messages: p.Messages})
	if want := int64(2 + 1 + saidTokens); err != nil || count.InputTokens != want {
		t.Errorf("%+v, want %d, %v", count, want, err)
	}
}

func TestSDKErrors(t *testing.T) {
	oa, an := openaiClient(), anthropicClient()
	_, err := oa.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{Model: "m"})
	if e, ok := err.(*openai.Error); !ok || e.StatusCode != 400 || e.Type != "invalid_request_error" || e.Param != "messages" {
		t.Errorf("%T %v", err, err)
	}
	_, err = an.Messages.New(t.Context(), anthropic.MessageNewParams{Model: "m"})
	if e, ok := err.(*anthropic.Error); !ok || e.StatusCode != 400 || e.Type() != "invalid_request_error" || e.RequestID == "" {
		t.Errorf("%T %v", err, err)
	}
}
