package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Prefix is where the native API stands under a server's URL.
const Prefix = "/api/v6"

// The headers of calls that may be repeated.
const (
	HeaderIdempotencyKey = "Idempotency-Key"
	HeaderReplayed       = "Idempotency-Replayed"
)

// maxAnswer bounds an answer that is read as a whole: a thousand turns of the
// largest size are far beyond what a list should hold in memory.
const maxAnswer = 256 << 20

// Client calls one server. Its zero HTTP field is http.DefaultTransport without
// redirects.
type Client struct {
	// BaseURL is the server, such as http://127.0.0.1:7373.
	BaseURL string
	// Key is a Dhruva key; "" sends none.
	Key  string
	HTTP *http.Client

	once *once // nil: calls are not repeatable
}

// once is what Idempotent adds to a client.
type once struct {
	key      string
	replayed atomic.Bool
}

// Idempotent is the client with an idempotency key (1 to 255 visible ASCII
// characters) on each call that writes: repeating one with the same key, after a
// lost answer or dhruva.ErrUnavailable, has no second effect and is answered as
// the first. Use a new key for each thing to be done.
func (c *Client) Idempotent(key string) *Client {
	out := *c
	out.once = &once{key: key}
	return &out
}

// Replayed reports whether an answer to this client of Idempotent was about what
// an earlier call did.
func (c *Client) Replayed() bool { return c.once != nil && c.once.replayed.Load() }

// List is one page of a list. Next is the cursor of the next page, "" on the
// last one.
type List[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next" doc:"Give it as after for the next page; empty on the last."`
}

// Health is the state of a server.
type Health struct {
	Status  string `json:"status"`
	Version string `json:"version,omitempty"`
	// Instance is random for each process that serves.
	Instance string `json:"instance,omitempty"`
	// Work is how background work stood a while ago; nil when it is not known yet.
	Work *Work `json:"work,omitempty"`
}

// Work is how the background work of an installation stands. Counts of what
// waits end at 1,000 for each tenant.
type Work struct {
	At            time.Time `json:"at"`
	Nodes         int       `json:"nodes"`
	PendingLeaves int       `json:"pending_leaves"`
	WaitingJobs   int       `json:"waiting_jobs"`
	DeadJobs      int       `json:"dead_jobs"`
	// FeedLag is how many changes the last follower of a space is behind.
	FeedLag int64 `json:"feed_lag"`
}

// Health asks a server how it is; it needs no key. A server that is there and
// cannot serve says so in Status, without an error.
func (c *Client) Health(ctx context.Context) (Health, error) {
	var out Health
	req, err := (&Client{BaseURL: c.BaseURL}).request(ctx, http.MethodGet, "/health", nil, "application/json")
	if err != nil {
		return out, err
	}
	res, err := c.http().Do(req)
	if err != nil {
		return out, transportError(ctx, err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<16)).Decode(&out); err != nil || out.Status == "" {
		return out, badAnswer(fmt.Errorf("status %d is not of a server like this", res.StatusCode))
	}
	return out, nil
}

// call asks the API for a T.
func call[T any](ctx context.Context, c *Client, method, path string, in any) (T, error) {
	var out T
	res, err := c.do(ctx, method, path, in, "application/json")
	if err != nil {
		return out, err
	}
	defer res.Body.Close()
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(&out); err != nil {
		return out, badAnswer(err)
	}
	return out, nil
}

// none asks for something that has no answer but success.
func (c *Client) none(ctx context.Context, method, path string) error {
	res, err := c.do(ctx, method, path, nil, "application/json")
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// do returns a successful answer, its body open, or an error.
func (c *Client) do(ctx context.Context, method, path string, in any, accept string) (*http.Response, error) {
	req, err := c.request(ctx, method, Prefix+path, in, accept)
	if err != nil {
		return nil, err
	}
	res, err := c.http().Do(req)
	if err != nil {
		return nil, transportError(ctx, err)
	}
	if c.once != nil {
		c.once.replayed.CompareAndSwap(false, res.Header.Get(HeaderReplayed) == "true")
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, 1<<20)) // what cannot be read is told by the status alone
	return nil, refused(res, body)
}

func (c *Client) request(ctx context.Context, method, path string, in any, accept string) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("client: %w: %w", dhruva.ErrInvalid, err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.BaseURL, "/")+path, body)
	if err != nil {
		return nil, fmt.Errorf("client: %w: %w", dhruva.ErrInvalid, err)
	}
	req.Header.Set("Accept", accept)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	if c.once != nil && method != http.MethodGet {
		req.Header.Set(HeaderIdempotencyKey, c.once.key)
	}
	return req, nil
}

func (c *Client) http() *http.Client {
	if c.HTTP != nil {
		return c.HTTP
	}
	return &http.Client{CheckRedirect: NoRedirect}
}

// NoRedirect is an http.Client's CheckRedirect: the API never redirects, and a
// key must not travel to where a redirect points.
func NoRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func transportError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // the URL is known to the caller and may be long
	}
	return fmt.Errorf("client: %w: the server cannot be reached: %w", dhruva.ErrUnavailable, err)
}

func badAnswer(err error) error {
	return fmt.Errorf("client: the answer cannot be read: %w: %w", dhruva.ErrUnavailable, err)
}

func pageQuery(p dhruva.Page, q url.Values) string {
	if q == nil {
		q = url.Values{}
	}
	setIf(q, "after", p.After)
	if p.Limit > 0 {
		q.Set("limit", strconv.Itoa(p.Limit))
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

func setIf(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}
