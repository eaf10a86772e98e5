package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dhruva-memory/dhruva"
)

var (
	_ Generator = (*Scripted)(nil)
	_ Embedder  = Invertible{}
)

func ask(text string) Request {
	return Request{Model: "m", Messages: []Message{{RoleUser, text}}}
}

func TestScriptedRecordsTheExactRequest(t *testing.T) {
	s := NewScripted(Reply{Text: "one", InputTokens: 4, OutputTokens: 1}, Reply{Deltas: []string{"t", "wo"}, Finish: FinishLength})
	temp := 0.5
	req := Request{Model: "m", Messages: []Message{{RoleSystem, "be brief"}, {RoleUser, "hi"}}, MaxTokens: 7, Temperature: &temp, JSON: true, Schema: json.RawMessage(`{"a":1}`)}
	want := req.Clone()
	got, err := s.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Response{Text: "one", Model: "m", InputTokens: 4, OutputTokens: 1, FinishReason: FinishStop}, got); diff != "" {
		t.Error(diff)
	}
	req.Messages[1].Content, req.Schema[2], temp = "changed", 'z', 2
	if diff := cmp.Diff([]Request{want}, s.Requests()); diff != "" {
		t.Error(diff)
	}
	if got := s.Prompt(); got != "system: be brief\nuser: hi\n" {
		t.Errorf("prompt %q", got)
	}
	if got, err = s.Generate(t.Context(), ask("x")); err != nil || got.Text != "two" || got.FinishReason != FinishLength {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestScriptedWithoutAReplyFails(t *testing.T) {
	_, err := new(Scripted).Generate(t.Context(), ask("x"))
	if !errors.Is(err, dhruva.ErrUnavailable) || !strings.Contains(err.Error(), "no reply for request 1") {
		t.Fatal(err)
	}
	s := &Scripted{Default: func(r Request) Reply { return Reply{Text: r.Messages[0].Content + "!"} }}
	if got, err := s.Generate(t.Context(), ask("x")); err != nil || got.Text != "x!" {
		t.Fatal(got, err)
	}
}

func TestScriptedStreamsBlocksAndFails(t *testing.T) {
	gate, boom := make(chan struct{}), errors.New("boom")
	s := NewScripted(Reply{Deltas: []string{"a", "b"}, Wait: gate, Err: boom})
	var got []string
	res, err := s.Stream(t.Context(), ask("x"), func(d string) error {
		if got = append(got, d); len(got) == 1 {
			close(gate) // without this the stream would never go on
		}
		return nil
	})
	if !errors.Is(err, boom) || res.Text != "ab" || res.FinishReason != "" || len(got) != 2 {
		t.Fatalf("%+v, %v, %q", res, err, got)
	}
	s.Enqueue(Reply{Text: "a"})
	if res, err = s.Stream(t.Context(), ask("x"), func(string) error { return boom }); !errors.Is(err, boom) || res.Text != "a" {
		t.Fatalf("%+v, %v", res, err)
	}
}

func TestScriptedWaitEndsWithItsContext(t *testing.T) {
	s := NewScripted(Reply{Text: "a", Wait: make(chan struct{})}, Reply{Deltas: []string{"a", "b"}, Wait: make(chan struct{})})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	go func() { _, err := s.Generate(ctx, ask("x")); done <- err }()
	go func() { _, err := s.Stream(ctx, ask("x"), func(string) error { return nil }); done <- err }()
	cancel()
	for range 2 {
		if err := <-done; !errors.Is(err, context.Canceled) || !errors.Is(err, dhruva.ErrUnavailable) {
			t.Fatal(err)
		}
	}
}

func TestScriptedIsSafeForManyGoroutines(t *testing.T) {
	s := &Scripted{Default: func(r Request) Reply { return Reply{Text: r.Messages[0].Content} }}
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			text := fmt.Sprint(i)
			if got, err := s.Generate(t.Context(), ask(text)); err != nil || got.Text != text {
				t.Errorf("%q, %v", got.Text, err)
			}
		})
	}
	wg.Wait()
	if n := len(s.Requests()); n != 50 {
		t.Fatal(n)
	}
}

func TestInvertibleReadsBackEveryText(t *testing.T) {
	e := Invertible{}
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.StringN(0, 100, 400), 1, 5).Draw(t, "texts")
		vectors, err := e.Embed(context.Background(), texts)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range vectors {
			if got, err := e.Text(v); err != nil || got != texts[i] || len(v) != invertibleDim {
				t.Fatalf("%q came back as %q (%v, %d components)", texts[i], got, err, len(v))
			}
		}
	})
}

func TestInvertibleNearnessAndLimits(t *testing.T) {
	e := Invertible{Dim: 128}
	v, err := e.Embed(t.Context(), []string{"the capital of Australia", "Australia, the capital!", "zebra quilt"})
	if err != nil {
		t.Fatal(err)
	}
	if near, far := dot(v[0], v[1]), dot(v[0], v[2]); near < far+0.3 {
		t.Errorf("near %.3f, far %.3f", near, far)
	}
	if _, err := e.Embed(t.Context(), []string{strings.Repeat("x", 64)}); !errors.Is(err, dhruva.ErrInvalid) {
		t.Error(err)
	}
	if _, err := e.Text(make([]float32, 3)); !errors.Is(err, dhruva.ErrInvalid) {
		t.Error(err)
	}
	if e.Model() == (Invertible{}).Model() {
		t.Error("two vector spaces under one name")
	}
}

func dot(a, b []float32) (sum float32) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func TestErrorNeverShowsASecret(t *testing.T) {
	secret := "my-own-PLAIN-credential"
	leaks := []string{secret, "sk-proj-abcdefgh1234", "sk-ant-api03-AbCdEf_-123456789", "dhr_live_0123456789abcdef", "gsk_0123456789ab", "AIzaSyA1234567890", "sk-abcd****wxyz"}
	for _, leak := range leaks {
		message := "Incorrect API key provided: " + leak + ". Authorization: Bearer " + leak + "\nsee (" + leak + ")"
		err := NewError("openai", 401, leak, message, nil, secret)
		for _, shown := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", *err), fmt.Sprint(fmt.Errorf("x: %w", err))} {
			if strings.Contains(shown, leak) {
				t.Errorf("%q shows %q", shown, leak)
			}
		}
		if !strings.Contains(err.Error(), "Incorrect API key provided") {
			t.Errorf("the message is lost: %v", err)
		}
	}
	if got := (&Error{Provider: "p", Message: "key sk-abcdefghijkl"}).Error(); strings.Contains(got, "abcdefghijkl") {
		t.Error(got)
	}
}

func TestMaskLeavesWordsAlone(t *testing.T) {
	for _, s := range []string{"", "task-management-in-general", "sk-learn", "the disk-full-condition-here", "a key-value store", "Basic usage"} {
		if got := Mask(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func TestErrorShape(t *testing.T) {
	cause := context.DeadlineExceeded
	err := NewError("openai", 429, "rate_limit_exceeded", strings.Repeat("é", 1000)+"\r\n", cause)
	if !errors.Is(err, dhruva.ErrUnavailable) || !errors.Is(err, cause) || !err.Temporary() {
		t.Error(err)
	}
	if len(err.Message) > maxMessage || !strings.HasSuffix(err.Message, "é…") || strings.ContainsAny(err.Error(), "\r\n") {
		t.Errorf("%d bytes: %q", len(err.Message), err.Message)
	}
	if got := NewError("p", 400, "bad", "no", nil); got.Error() != "llm: p: status 400: bad: no" || got.Temporary() {
		t.Error(got)
	}
}

func FuzzMask(f *testing.F) {
	f.Add("a sk-12345678 b", "12345678")
	f.Fuzz(func(t *testing.T, s, secret string) {
		got := Mask(s, secret)
		if len(secret) >= 3 && secret != masked && !strings.Contains(secret, "*") && strings.Contains(got, secret) && !strings.Contains("Bearer Basic bearer sk-dhr_pk-rk-key-gsk_xai-AIzahf_", secret) {
			t.Fatalf("%q still holds %q", got, secret)
		}
		if again := Mask(got, secret); len(secret) == 0 && again != got {
			t.Fatalf("not stable: %q, %q", got, again)
		}
	})
}
