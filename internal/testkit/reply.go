package testkit

import (
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Reply is one scripted answer. Its methods return a changed copy, so a reply
// can be shared and refined:
//
//	testkit.ChatSSE("Hel", "lo").EveryByte()
//	testkit.SSE(first).Wait(gate).Then(rest).Close()
type Reply struct {
	status int
	header http.Header
	steps  []step
}

type stepKind int

const (
	stepWrite stepKind = iota // write one chunk and flush it
	stepWait                  // wait for a channel
	stepFlush                 // send the header now
	stepClose                 // drop the connection mid-reply (FIN)
	stepReset                 // drop the connection mid-reply (RST)
)

type step struct {
	kind  stepKind
	chunk string
	gate  <-chan struct{}
}

// Static answers with a whole body and its length.
func Static(status int, contentType, body string) Reply {
	return Reply{
		status: status,
		header: http.Header{"Content-Type": {contentType}},
		steps:  []step{{kind: stepWrite, chunk: body}},
	}
}

// JSON answers 200 with a JSON body.
func JSON(body string) Reply { return Static(http.StatusOK, "application/json", body) }

// Status answers with a status and a JSON body, for failures.
func Status(status int, body string) Reply { return Static(status, "application/json", body) }

// SSE answers 200 with an event stream. Each chunk is written and flushed by
// itself, so chunk borders are (as far as TCP allows) read borders.
func SSE(chunks ...string) Reply {
	r := Reply{
		status: http.StatusOK,
		header: http.Header{
			"Content-Type":  {"text/event-stream; charset=utf-8"},
			"Cache-Control": {"no-cache"},
		},
	}
	return r.Then(chunks...)
}

// Then appends chunks, each flushed by itself.
func (r Reply) Then(chunks ...string) Reply {
	r.steps = slices.Clone(r.steps)
	for _, c := range chunks {
		r.steps = append(r.steps, step{kind: stepWrite, chunk: c})
	}
	return r
}

// Wait holds the reply until gate is closed or receives, the client goes away,
// or the test ends. A Wait before the first chunk holds the header back too.
func (r Reply) Wait(gate <-chan struct{}) Reply {
	return r.with(step{kind: stepWait, gate: gate})
}

// Flush sends what there is so far: at the start, the header alone.
func (r Reply) Flush() Reply { return r.with(step{kind: stepFlush}) }

// Close drops the connection here in good TCP order but without ending the
// HTTP message: the client sees an unexpected end.
func (r Reply) Close() Reply { return r.with(step{kind: stepClose}) }

// Reset drops the connection here with a TCP reset.
func (r Reply) Reset() Reply { return r.with(step{kind: stepReset}) }

func (r Reply) with(s step) Reply {
	r.steps = append(slices.Clone(r.steps), s)
	return r
}

// After puts a wait before everything else, the header included.
func (r Reply) After(gate <-chan struct{}) Reply {
	r.steps = append([]step{{kind: stepWait, gate: gate}}, r.steps...)
	return r
}

// Header sets one response header; values that were there are replaced.
func (r Reply) Header(name string, values ...string) Reply {
	h := maps.Clone(r.header)
	if h == nil {
		h = http.Header{}
	}
	h[http.CanonicalHeaderKey(name)] = values
	r.header = h
	return r
}

// Raw is the concatenation of all chunks: the body the client should see.
func (r Reply) Raw() string {
	var b strings.Builder
	for _, s := range r.steps {
		b.WriteString(s.chunk)
	}
	return b.String()
}

// Split re-cuts the body: chunks of the given sizes in turn, the last size
// repeating. Waits and failures between chunks are dropped.
func (r Reply) Split(sizes ...int) Reply {
	raw := r.Raw()
	r.steps = nil
	for i := 0; len(raw) > 0; i++ {
		n := len(raw)
		if len(sizes) > 0 {
			n = max(1, min(sizes[min(i, len(sizes)-1)], len(raw)))
		}
		r = r.Then(raw[:n])
		raw = raw[n:]
	}
	return r
}

// EveryByte cuts the body into one-byte chunks.
func (r Reply) EveryByte() Reply { return r.Split(1) }

// player performs one reply.
type player struct {
	w      http.ResponseWriter
	r      *http.Request
	gone   chan struct{}
	closed <-chan struct{}
	sent   bool
}

func (p *player) run(reply Reply) {
	maps.Copy(p.w.Header(), reply.header)
	if !reply.streams() && p.w.Header().Get("Content-Length") == "" {
		p.w.Header().Set("Content-Length", strconv.Itoa(len(reply.Raw())))
	}
	for _, s := range reply.steps {
		if !p.step(reply, s) {
			close(p.gone)
			panic(http.ErrAbortHandler)
		}
	}
	p.head(reply)
}

// step performs one step and reports whether the client is still there.
func (p *player) step(reply Reply, s step) bool {
	switch s.kind {
	case stepWait:
		return p.wait(s.gate)
	case stepFlush:
		p.head(reply)
		return http.NewResponseController(p.w).Flush() == nil
	case stepWrite:
		p.head(reply)
		if _, err := p.w.Write([]byte(s.chunk)); err != nil {
			return false
		}
		if reply.streams() {
			return http.NewResponseController(p.w).Flush() == nil
		}
	case stepClose, stepReset:
		p.drop(s.kind)
	}
	return true
}

func (p *player) wait(gate <-chan struct{}) bool {
	select {
	case <-gate:
		return true
	case <-p.closed:
		panic(http.ErrAbortHandler)
	case <-p.r.Context().Done():
		return false
	}
}

func (p *player) head(reply Reply) {
	if p.sent {
		return
	}
	p.sent = true
	if reply.status != 0 {
		p.w.WriteHeader(reply.status)
	}
}

// drop ends the connection; ErrAbortHandler keeps net/http from finishing the
// message.
func (p *player) drop(kind stepKind) {
	if p.sent {
		// An error here means the connection is gone already, as wanted.
		_ = http.NewResponseController(p.w).Flush()
	}
	if kind == stepReset {
		if c, ok := p.r.Context().Value(connKey{}).(*net.TCPConn); ok {
			_ = c.SetLinger(0)
		}
	}
	panic(http.ErrAbortHandler)
}

func (r Reply) chunks() []step {
	return slices.DeleteFunc(slices.Clone(r.steps), func(s step) bool { return s.kind != stepWrite })
}

func (r Reply) fails() bool {
	return slices.ContainsFunc(r.steps, func(s step) bool { return s.kind == stepClose || s.kind == stepReset })
}

// streams tells whether chunks are flushed one by one: an event stream, or any
// reply cut into several chunks or cut off.
func (r Reply) streams() bool {
	return strings.HasPrefix(r.header.Get("Content-Type"), "text/event-stream") ||
		len(r.chunks()) > 1 || r.fails() ||
		slices.ContainsFunc(r.steps, func(s step) bool { return s.kind == stepFlush })
}
