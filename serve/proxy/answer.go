package proxy

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/memory"
	"github.com/dhruva-memory/dhruva/wire"
)

// answered takes the provider's header, before the client sees it, and starts
// to look at a copy of the body.
func (c *call) answered(res *http.Response) error {
	x, r := c.x, &c.prepared.Receipt
	x.clean(res)
	r.Upstream.Status = res.StatusCode
	r.Upstream.TTFBUs = time.Since(x.forwarded).Microseconds()
	r.Upstream.RequestID = label(or(res.Header.Get("X-Request-Id"), res.Header.Get("Request-Id")))
	c.sign(x.w.Header())
	c.streamed = strings.Contains(res.Header.Get("Content-Type"), "event-stream")
	body := &relayed{body: res.Body, call: c, left: res.ContentLength}
	if res.StatusCode/100 == 2 {
		body.end.words = endings(x.route.dialect)
		c.observe(res)
	}
	res.Body = body
	return nil
}

// sign adds our own headers, the only ones that an answer gains.
func (c *call) sign(h http.Header) {
	x, r := c.x, &c.prepared.Receipt
	h.Set(headerRequestID, x.id)
	if r.ID != "" {
		h.Set(headerReceiptID, string(r.ID))
	}
	h.Set(headerMemory, string(or(r.Memory, dhruva.MemoryOff)))
	h.Set(headerContinuity, string(or(r.Continuity, dhruva.ContinuityNotApplicable)))
	if !x.forwarded.IsZero() {
		h.Set(headerOverhead, strconv.FormatInt((x.forwarded.Sub(x.start)-x.reading).Microseconds(), 10))
	}
}

// maxLabel bounds, in characters, what a provider says that goes into receipts.
// The ledger takes secrets out of it.
const maxLabel = 200

// tokenText is what keys are made of.
const tokenText = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/=."

func label(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxLabel {
			return strings.Clone(strings.TrimRight(strings.ToValidUTF8(s[:i], "\uFFFD"), tokenText)) // no half of a secret, which could not be told
		}
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// observe starts the goroutine that looks at the copy and then captures.
func (c *call) observe(res *http.Response) {
	if c.dialect == nil {
		return
	}
	o, err := guarded(func() (wire.Observer, error) {
		return c.dialect.Observe(res.Header.Get("Content-Type"), strings.Join(res.Header.Values("Content-Encoding"), ",")), nil
	})
	if err != nil {
		c.x.logError("observe", err)
		return
	}
	c.tee = newTee(c.x.h.config.Limits.Observe)
	c.x.h.pending.begin()
	go func() {
		defer c.x.h.pending.end()
		c.settle(c.tee.run(o))
	}()
}

// endings are the bytes after which a dialect's client takes the answer for
// complete, although the stream has not ended yet. Finding them in visible
// text is harmless: a recall may then wait for this turn a little early.
func endings(d dhruva.Dialect) [][]byte {
	switch d {
	case dhruva.DialectMessages:
		return [][]byte{[]byte("message_stop")}
	case dhruva.DialectResponses:
		return [][]byte{[]byte("response.completed"), []byte("response.incomplete"), []byte("response.failed")}
	}
	return [][]byte{[]byte("[DONE]")}
}

// relayed is the provider's body on its way to the client. ReverseProxy reads
// and closes it on one goroutine.
type relayed struct {
	body io.ReadCloser
	call *call
	left int64 // of the declared length; -1 when there is none
	end  ending
}

func (b *relayed) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if n > 0 {
		b.saw(p[:n])
	}
	if err != nil {
		b.finish(err)
	}
	return n, err
}

func (b *relayed) saw(p []byte) {
	c := b.call
	c.out += int64(len(p))
	if c.tee != nil {
		c.tee.write(p)
	}
	// A client knows the last byte of a declared length when it has it.
	last := b.left > 0 && b.left == int64(len(p))
	if b.left > 0 {
		b.left -= int64(len(p))
	}
	if last || b.end.in(p) {
		c.announce()
	}
}

func (b *relayed) Close() error {
	b.finish(http.ErrBodyReadAfterClose) // without effect after the end
	return b.body.Close()
}

// finish hands the rest over: nothing of it runs before the end is announced,
// and nothing of it delays the end.
func (b *relayed) finish(err error) {
	c := b.call
	if c.ended {
		return
	}
	c.prepared.Receipt.Upstream.Terminal = terminalOf(c.x.r.Context(), err)
	c.conclude(dhruva.TerminalFailed)
}

// conclude closes the receipt, once: what the copy shows decides how the call
// ended, and terminal where there is none.
func (c *call) conclude(terminal dhruva.Terminal) {
	if c.ended {
		return
	}
	c.ended = true
	c.announce()
	if c.tee != nil {
		c.tee.close()
		return
	}
	c.x.h.pending.begin()
	go func() {
		defer c.x.h.pending.end()
		c.settle(dhruva.Observation{Terminal: terminal})
	}()
}

// terminalOf says how the relay ended; "" is the regular way.
func terminalOf(ctx context.Context, err error) dhruva.Terminal {
	switch {
	case err == io.EOF:
		return ""
	case ctx.Err() != nil, err == http.ErrBodyReadAfterClose:
		return dhruva.TerminalClientAbort
	}
	return dhruva.TerminalUpstreamCut
}

// failed ends a call that got no answer.
func (c *call) failed(cause string) {
	terminal := dhruva.TerminalFailed
	if cause == causeGone {
		terminal = dhruva.TerminalClientAbort
	}
	c.prepared.Receipt.Upstream.Error = cause
	c.sign(c.x.w.Header())
	c.conclude(terminal)
}

// announce tells memory, once, that a capture is about to begin. The mark goes
// away with the capture, or after its time, should looking at the copy hang.
func (c *call) announce() {
	if c.done != nil || !c.prepared.Capture {
		return
	}
	done, err := guarded(func() (func(), error) { return c.x.h.config.Memory.Capturing(c.prepared), nil })
	if err != nil || done == nil {
		c.done = func() {}
		return
	}
	// Looking and capturing have the time once each.
	late := c.x.h.watch.within(2*c.x.h.config.Limits.CaptureTime, done)
	c.done = func() { late.end(); done() }
}

// settle closes the exchange with memory. It runs beside the request, or after
// it, on its own time.
func (c *call) settle(o dhruva.Observation) {
	x, r := c.x, &c.prepared.Receipt
	if c.done != nil {
		defer c.done()
	}
	o.Terminal = c.terminal(o.Terminal)
	r.Upstream.Terminal = o.Terminal
	if !x.forwarded.IsZero() {
		r.Upstream.TotalUs = time.Since(x.forwarded).Microseconds()
	}
	r.Bytes.In, r.Bytes.Forwarded, r.Bytes.Out = c.in, c.body.length, c.out
	if c.sums != nil {
		sums := <-c.sums
		r.Bytes.ClientBody, r.Bytes.ForwardedBody = sums[0], sums[1]
	}
	if !c.prepared.Capture && c.prepared.Plan.Empty() {
		x.h.receipts.join() // nobody waits for this one
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(x.r.Context()))
	defer cancel(nil)
	defer x.h.watch.within(x.h.config.Limits.CaptureTime, func() { cancel(context.DeadlineExceeded) }).end()
	_, err := guarded(func() (dhruva.Receipt, error) {
		return x.h.config.Memory.Capture(ctx, memory.CaptureInput{
			Prepared: c.prepared, Projection: c.projection, Observation: o, Hint: x.hint,
		})
	})
	c.report(ctx, o, err)
}

// terminal joins what the answer said of its end with how the relay ended. An
// answer that was complete stays so, whoever hung up afterwards.
func (c *call) terminal(said dhruva.Terminal) dhruva.Terminal {
	relay := c.prepared.Receipt.Upstream.Terminal
	switch said {
	case dhruva.TerminalCompleted, dhruva.TerminalFailed, dhruva.TerminalIncomplete:
		return said
	}
	if relay != "" {
		return relay
	}
	if c.projection.Background && c.prepared.Receipt.Upstream.Status/100 == 2 {
		return dhruva.TerminalAcceptedBackground
	}
	return said
}

// report writes the one log line of a call: sizes, times, states, no content.
func (c *call) report(ctx context.Context, o dhruva.Observation, err error) {
	x, r := c.x, &c.prepared.Receipt
	attrs := []any{
		"request_id", x.id, "route", x.route.template, "key", x.principal.Key, "provider", x.upstream.Name,
		"status", r.Upstream.Status, "terminal", r.Upstream.Terminal, "memory", r.Memory,
		"bytes_in", r.Bytes.In, "bytes_out", r.Bytes.Out, "ttfb_us", r.Upstream.TTFBUs, "total_us", r.Upstream.TotalUs,
	}
	if o.Overflow {
		attrs = append(attrs, "observer", "overflow")
	}
	if err != nil {
		x.h.config.Log.ErrorContext(ctx, "proxy: capture failed", append(attrs, "error", err)...)
		return
	}
	x.h.config.Log.InfoContext(ctx, "proxy", attrs...)
}

// ending finds words in a stream of pieces, across their borders.
type ending struct {
	words [][]byte
	tail  []byte
}

// longest is the length of the longest word in endings, less one.
const longest = 18

func (e *ending) in(p []byte) bool {
	if len(e.words) == 0 {
		return false
	}
	border := append(e.tail, p[:min(len(p), longest)]...)
	found := false
	for _, w := range e.words {
		found = found || bytes.Contains(p, w) || bytes.Contains(border, w)
	}
	if len(p) >= longest {
		border = append(border[:0], p[len(p)-longest:]...)
	}
	e.tail = append(e.tail[:0], border[max(0, len(border)-longest):]...)
	return found
}
