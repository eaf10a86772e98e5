package mock

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/llm"
)

var _ llm.Generator = Provider{}

func TestMockSaysBackEightyCharacters(t *testing.T) {
	long := strings.Repeat("é", 79) + "日本"
	req := llm.Request{Messages: []llm.Message{{Role: llm.RoleSystem, Content: "s"}, {Role: llm.RoleUser, Content: "first"}, {Role: llm.RoleUser, Content: long}, {Role: llm.RoleAssistant, Content: "a"}}}
	for range 2 {
		got, err := Provider{}.Generate(t.Context(), req)
		if err != nil || got.Text != "Mock: "+strings.Repeat("é", 79)+"日" || got.Model != Model || got.FinishReason != llm.FinishStop || got.InputTokens == 0 {
			t.Errorf("%+v, %v", got, err)
		}
	}
	req.Messages[2].Content, req.Model = "short", "m9"
	var said string
	got, err := Provider{}.Stream(t.Context(), req, func(s string) error { said += s; return nil })
	if err != nil || said != "Mock: short" || got.Text != said || got.Model != "m9" {
		t.Errorf("%+v, %v", got, err)
	}
	stop := errors.New("stop")
	if _, err := (Provider{}).Stream(t.Context(), req, func(string) error { return stop }); err != stop {
		t.Error(err)
	}
}

func TestMockAnswersJSON(t *testing.T) {
	req := llm.Request{JSON: true, Messages: []llm.Message{{Role: llm.RoleUser, Content: "x"}}}
	got, err := Provider{}.Generate(t.Context(), req)
	if err != nil || !json.Valid([]byte(got.Text)) || got.Text != Answer {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestMockRefuses(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	one := []llm.Message{{Role: llm.RoleUser, Content: "x"}}
	for name, call := range map[string]func() (llm.Response, error){
		"schema": func() (llm.Response, error) {
			return Provider{}.Generate(t.Context(), llm.Request{Messages: one, Schema: json.RawMessage(`{}`)})
		},
		"nothing": func() (llm.Response, error) { return Provider{}.Generate(t.Context(), llm.Request{}) },
		"ended":   func() (llm.Response, error) { return Provider{}.Generate(ended, llm.Request{Messages: one}) },
	} {
		if _, err := call(); !errors.Is(err, dhruva.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
