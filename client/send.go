package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/dhruva-memory/dhruva"
)

// SendInput is one message to a model in a session.
type SendInput struct {
	Message string `json:"message,omitempty" doc:"What is said; left out of a regeneration."`
	// Edit and Regenerate make another version of a turn; what followed the first
	// stays and is left aside.
	Edit       int64 `json:"edit,omitempty" minimum:"1" doc:"Number of the message that this one is another version of."`
	Regenerate int64 `json:"regenerate,omitempty" minimum:"1" doc:"Number of the answer of which another version is asked for."`

	Provider string `json:"provider,omitempty" doc:"Default: the session's, else the configured one."`
	Model    string `json:"model,omitempty"`
	History  string `json:"history,omitempty" enum:"none,session" doc:"Whether this session's turns go along. Default: session."`
	Memory   string `json:"memory,omitempty" enum:"off,recall" doc:"Default: recall in a space, off in FRESH."`
	Depth    int    `json:"depth,omitempty" enum:"0,1,3" doc:"How many checkpoints are shown. Default: the mount's, else 1."`
}

// Sent says exactly what a model is given.
type Sent struct {
	Mode        dhruva.Mode     `json:"mode" doc:"FRESH, HEAD, MOUNTED or FORKED."`
	Badge       string          `json:"badge" doc:"The mode with the hash, as shown to people."`
	Checkpoints []dhruva.Hash   `json:"checkpoints" doc:"Checkpoints in the prompt, oldest first."`
	TurnIDs     []dhruva.TurnID `json:"turn_ids" doc:"Turns of the history in the prompt."`
	Numbers     []int64         `json:"turn_numbers" doc:"Their sequence numbers."`
	Base        int64           `json:"base" doc:"Only turns after this sequence number are in the window."`
	Cut         int             `json:"cut" doc:"Turns of the window left out for the budget; the newest are kept."`
	LeftOut     string          `json:"left_out,omitempty" doc:"What was left out and why."`
	Tokens      int             `json:"tokens" doc:"Estimated tokens of the prompt."`
	Provider    string          `json:"provider"`
	Model       string          `json:"model"`
	Evidence    []EvidenceRef   `json:"evidence" doc:"Evidence in the prompt."`
	Recall      RecallState     `json:"recall"`
}

// RecallState is how the automatic recall of a prompt ended.
type RecallState struct {
	Status dhruva.RecallStatus `json:"status"`
	Reason dhruva.GateReason   `json:"gate_reason"`
}

// SendResult is a reply with everything that was sent for it.
type SendResult struct {
	Reply string `json:"reply"`
	Sent
	Turns     []Turn           `json:"turns" doc:"The turns stored: the message and the reply; of a regeneration the reply alone."`
	ReceiptID dhruva.ReceiptID `json:"receipt_id"`
	// Redactions counts the secrets of message and reply that were not stored.
	Redactions int `json:"redactions,omitempty" doc:"How many secrets were replaced by placeholders in what was stored of message and reply."`
}

// Section is a part of a prompt.
type Section struct {
	Name   string `json:"name"`
	Text   string `json:"text"`
	Tokens int    `json:"tokens"`
}

// Preview is the exact prompt a send would make; no model is called.
type Preview struct {
	Prompt   string    `json:"prompt"`
	Sections []Section `json:"sections"`
	Sent
}

// Delta is a piece of a streamed reply.
type Delta struct {
	Text string `json:"text"`
}

// Send asks a model and returns the whole reply.
func (c *Client) Send(ctx context.Context, id dhruva.SessionID, in SendInput) (SendResult, error) {
	return call[SendResult](ctx, c, http.MethodPost, sessionPath(id)+"/send", in)
}

// Preview returns the prompt that Send would make.
func (c *Client) Preview(ctx context.Context, id dhruva.SessionID, in SendInput) (Preview, error) {
	return call[Preview](ctx, c, http.MethodPost, sessionPath(id)+"/preview", in)
}

// SendStream is Send with the reply as it is written. When onDelta fails the
// call ends with its error; the server then stores neither turn.
func (c *Client) SendStream(ctx context.Context, id dhruva.SessionID, in SendInput, onDelta func(string) error) (out SendResult, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	res, err := c.do(ctx, http.MethodPost, sessionPath(id)+"/send", in, "text/event-stream")
	if err != nil {
		return out, err
	}
	defer res.Body.Close()
	events := eventReader{r: bufio.NewReader(res.Body)}
	for {
		name, data, err := events.next()
		if err != nil {
			return out, fmt.Errorf("client: the stream ended before its last event: %w: %w", dhruva.ErrUnavailable, err)
		}
		switch name {
		case "delta":
			var d Delta
			if err := json.Unmarshal(data, &d); err != nil {
				return out, badAnswer(err)
			}
			if err := onDelta(d.Text); err != nil {
				return out, err
			}
		case "done":
			if err := json.Unmarshal(data, &out); err != nil {
				return out, badAnswer(err)
			}
			return out, nil
		case "error":
			return out, readProblem(http.StatusBadGateway, data)
		}
	}
}

// eventReader reads server-sent events as our server writes them; unknown
// fields and comments are skipped, as the standard asks.
type eventReader struct{ r *bufio.Reader }

func (e *eventReader) next() (name string, data []byte, err error) {
	for {
		line, err := e.r.ReadString('\n')
		if err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return "", nil, err
		}
		line = strings.TrimRight(line, "\r\n")
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && (name != "" || data != nil):
			return name, bytes.TrimSuffix(data, []byte("\n")), nil
		case field == "event":
			name = value
		case field == "data":
			data = append(append(data, value...), '\n')
		}
	}
}
