package llm

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/dhruva-memory/dhruva"
)

// Reply is one answer of a Scripted generator.
type Reply struct {
	// Text is the answer; a stream delivers it in Deltas when they are set.
	Text string
	// Deltas are the pieces of a streamed answer. With an empty Text they are
	// also the whole answer when joined.
	Deltas []string
	// Err fails the call: at once for Generate, after the deltas for Stream.
	Err error
	// Wait holds the answer (a stream: after its first delta) until it is
	// closed or the call's context ends.
	Wait <-chan struct{}
	// Finish is FinishStop when empty.
	Finish Finish
	// InputTokens and OutputTokens are reported as they are.
	InputTokens, OutputTokens int
}

func (r Reply) pieces() []string {
	if len(r.Deltas) > 0 || r.Text == "" {
		return r.Deltas
	}
	return []string{r.Text}
}

func (r Reply) response(model, text string) Response {
	finish := r.Finish
	if finish == "" {
		finish = FinishStop
	}
	return Response{Text: text, Model: model, InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, FinishReason: finish}
}

// Scripted is a Generator for tests: it records every request exactly as given
// and answers from a queue. Its zero value is ready and has no answers.
type Scripted struct {
	// Default answers when the queue is empty. When it is nil too, the call
	// fails, so that a test notices a call it did not expect.
	Default func(Request) Reply

	mu       sync.Mutex
	queue    []Reply
	requests []Request
}

// NewScripted returns a Scripted with replies queued.
func NewScripted(replies ...Reply) *Scripted { return &Scripted{queue: replies} }

// Enqueue appends replies to the queue.
func (s *Scripted) Enqueue(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, replies...)
}

// Requests returns copies of all requests so far, in order of arrival.
func (s *Scripted) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.requests))
	for i, r := range s.requests {
		out[i] = r.Clone()
	}
	return out
}

// Prompt returns the newest request's messages as one text, each under its
// role, for assertions about what a model was told. It is empty before the
// first call.
func (s *Scripted) Prompt() string {
	all := s.Requests()
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	for _, m := range all[len(all)-1].Messages {
		b.WriteString(string(m.Role) + ": " + m.Content + "\n")
	}
	return b.String()
}

// take records req and removes the next reply.
func (s *Scripted) take(req Request) (Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req.Clone())
	if len(s.queue) > 0 {
		r := s.queue[0]
		s.queue = s.queue[1:]
		return r, nil
	}
	if s.Default != nil {
		return s.Default(req.Clone()), nil
	}
	return Reply{}, NewError("scripted", 0, "exhausted", fmt.Sprintf("no reply for request %d", len(s.requests)), nil)
}

// Generate implements Generator.
func (s *Scripted) Generate(ctx context.Context, req Request) (Response, error) {
	r, err := s.take(req)
	if err != nil {
		return Response{}, err
	}
	if err := pause(ctx, r.Wait); err != nil {
		return Response{}, err
	}
	if r.Err != nil {
		return Response{}, r.Err
	}
	text := r.Text
	if text == "" {
		text = strings.Join(r.Deltas, "")
	}
	return r.response(req.Model, text), nil
}

// Stream implements Generator.
func (s *Scripted) Stream(ctx context.Context, req Request, emit func(string) error) (Response, error) {
	r, err := s.take(req)
	if err != nil {
		return Response{}, err
	}
	var text strings.Builder
	broken := func(err error) (Response, error) { return Response{Text: text.String(), Model: req.Model}, err }
	for i, d := range r.pieces() {
		if i == 1 {
			if err := pause(ctx, r.Wait); err != nil {
				return broken(err)
			}
		}
		text.WriteString(d)
		if err := emit(d); err != nil {
			return broken(err)
		}
	}
	if len(r.pieces()) < 2 {
		err = pause(ctx, r.Wait)
	}
	if err == nil {
		err = r.Err
	}
	if err != nil {
		return broken(err)
	}
	return r.response(req.Model, text.String()), nil
}

// pause waits for gate, which may be nil, and fails when ctx ends first.
func pause(ctx context.Context, gate <-chan struct{}) error {
	if gate == nil {
		gate = closedGate()
	}
	// A context that has ended wins over an open gate, so tests are repeatable.
	if ctx.Err() == nil {
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
		}
	}
	return fmt.Errorf("llm: scripted: %w: %w", dhruva.ErrUnavailable, ctx.Err())
}

func closedGate() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
