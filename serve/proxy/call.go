package proxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/memory"
	"github.com/dhruva-memory/dhruva/wire"
)

// call is a model call: an exchange that memory takes part in.
type call struct {
	x       *exchange
	dialect wire.Dialect
	held    *held
	// request is nil for a body that could not be projected.
	request    *wire.Request
	projection *dhruva.Projection
	prepared   memory.Prepared
	body       send
	sums       chan [2]string // SHA-256 of both bodies, where one was edited

	streamed bool
	in, out  int64 // bytes of the request as sent, and of the answer
	tee      *tee
	done     func() // ends what Capturing began; nil before
	ended    bool   // the receipt is being closed, or there is none
}

// unprojectable is why a body is relayed without memory.
const unprojectable = "unprojectable"

func (x *exchange) callModel() {
	began := time.Now()
	held, err := x.h.hold(x.w, x.r)
	x.reading = time.Since(began)
	if err != nil {
		x.refuseBody(err)
		return
	}
	defer held.release()
	c := &call{x: x, held: held, in: int64(len(held.bytes))}
	x.call = c
	if c.parse() && x.reachable() && c.prepare() && c.edit() {
		defer c.crashed()
		x.forward(&c.body, c.answered)
	}
}

// crashed closes the receipt when the relay panics; the panic goes on. After
// an answer that broke off, which ReverseProxy ends so, there is nothing left.
func (c *call) crashed() {
	p := recover()
	if p == nil {
		return
	}
	if !c.ended {
		c.prepared.Receipt.Upstream.Error = causePanic
		c.conclude(dhruva.TerminalFailed)
	}
	panic(p)
}

// parse projects the body. What is malformed is refused before any upstream
// call; what is beyond the projection's limits, or in a coding that we cannot
// undo, goes through unseen.
func (c *call) parse() bool {
	x := c.x
	c.dialect, _ = x.h.dialect(x.r.Method, x.r.URL.Path)
	c.unseen()
	encoding := strings.Join(x.r.Header.Values("Content-Encoding"), ",")
	if c.dialect == nil || !decodable(encoding) {
		return true
	}
	body, err := c.decoded(encoding)
	if errors.Is(err, errBusy) {
		x.busy()
		return false
	}
	if err != nil {
		x.refuseUndecodable(err)
		return false
	}
	request, err := guarded(func() (*wire.Request, error) { return c.look(body) })
	switch {
	case err == nil:
		c.request, c.projection = request, &request.Projection
	case errors.Is(err, dhruva.ErrTooLarge):
	case errors.Is(err, dhruva.ErrInvalid):
		x.refuse(http.StatusBadRequest, "invalid_body", sentenceOf(err))
		return false
	default:
		x.logError("parse", err)
	}
	return true
}

// look projects a body; where memory takes no part a glance is enough.
func (c *call) look(body []byte) (*wire.Request, error) {
	x := c.x
	if mode, _ := memory.Effective(x.principal, x.wish.mode); mode == memory.ModeOff && x.wish.checkpoint == "" {
		return wire.Glance(x.route.dialect, x.r.URL.Path, body, wire.Limits{})
	}
	return c.dialect.Parse(x.r.URL.Path, x.r.Header, body)
}

func (c *call) decoded(encoding string) ([]byte, error) {
	if plain(encoding) {
		return c.held.bytes, nil
	}
	l := c.x.h.config.Limits
	return wire.DecodeBody(encoding, bytes.NewReader(c.held.bytes), wire.BodyLimits{Wire: l.Body, Decoded: l.Decoded, Reserve: c.held.reserve})
}

func (x *exchange) refuseUndecodable(err error) {
	if errors.Is(err, dhruva.ErrTooLarge) {
		x.refuse(http.StatusRequestEntityTooLarge, "body_too_large", "The request body decodes to more than this server takes.")
		return
	}
	x.refuse(http.StatusBadRequest, "invalid_encoding", sentenceOf(err))
}

func (c *call) unseen() {
	c.projection = &dhruva.Projection{Dialect: c.x.route.dialect, Injectable: -1, NotInjectable: unprojectable, Choices: 1}
}

// prepare asks memory, for as long as its budget allows, and reports whether
// the call goes on.
func (c *call) prepare() bool {
	x := c.x
	if c.request == nil && x.wish.require {
		x.refuseRequired("the request body cannot be looked into")
		return false
	}
	p, err := c.askMemory()
	switch {
	case err == nil:
		c.prepared = p
	case x.r.Context().Err() != nil: // the client left, nothing was sent
		return false
	case ownFault(err), x.wish.require:
		x.refuseMemory(err)
		return false
	default:
		x.logError("memory; forwarding unchanged", err)
		c.degrade(err)
	}
	if c.request == nil {
		c.prepared.Plan = dhruva.Plan{}
		c.prepared.Receipt.Continuity = dhruva.ContinuityUnprojectable
	}
	return true
}

// required refuses a call whose recall did not work although it was required.
// A receipt may be open by now; it is closed.
func (c *call) required(why string) {
	c.prepared.Capture = false
	c.prepared.Receipt.Upstream.Error = causeRecall
	c.sign(c.x.w.Header())
	c.conclude(dhruva.TerminalFailed)
	c.x.refuseRequired(why)
}

// askMemory returns when memory has answered or the budget is spent. A Prepare
// that ignores its context is left behind; it sees nothing that is reused.
func (c *call) askMemory() (memory.Prepared, error) {
	ctx, cancel := context.WithCancelCause(c.x.r.Context())
	defer cancel(nil)
	defer c.x.h.watch.within(c.x.h.config.Limits.PrepareTime, func() { cancel(context.DeadlineExceeded) }).end()
	type answer struct {
		p   memory.Prepared
		err error
	}
	answers := make(chan answer, 1)
	in := c.prepareInput()
	go func() {
		p, err := guarded(func() (memory.Prepared, error) { return c.x.h.config.Memory.Prepare(ctx, in) })
		answers <- answer{p, err}
	}()
	var a answer
	select {
	case a = <-answers:
	case <-ctx.Done():
		select { // an answer in time is not a timeout
		case a = <-answers:
		default:
			a.err = ctx.Err()
		}
	}
	// Whatever it fails with once the budget is spent, that is why.
	if cause := context.Cause(ctx); a.err != nil && cause != nil && !ownFault(a.err) {
		return memory.Prepared{}, fmt.Errorf("%w: memory did not answer within its budget: %w", dhruva.ErrUnavailable, cause)
	}
	if r := &a.p.Receipt.Recall; context.Cause(ctx) != nil && r.Reason == dhruva.GateDependencyError {
		r.Reason = dhruva.GateDependencyTimeout
	}
	return a.p, a.err
}

func (c *call) prepareInput() memory.PrepareInput {
	x := c.x
	return memory.PrepareInput{
		Space: x.wish.space, Projection: c.projection, Mode: x.wish.mode, Compression: x.wish.compression,
		Hint: x.hint, Checkpoint: x.wish.checkpoint, Require: x.wish.require, RecallBudget: x.wish.recallBudget,
		Path: x.h.config.Path, Provider: x.upstream.Name,
	}
}

// ownFault reports what is about the request and not about memory.
func ownFault(err error) bool {
	for _, e := range []error{dhruva.ErrInvalid, dhruva.ErrDenied, dhruva.ErrNotFound, dhruva.ErrConflict, dhruva.ErrTooLarge} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// degrade makes the receipt that memory did not make.
func (c *call) degrade(err error) {
	x := c.x
	reason := dhruva.GateDependencyError
	if errors.Is(err, context.DeadlineExceeded) {
		reason = dhruva.GateDependencyTimeout
	}
	c.prepared = memory.Prepared{Mode: memory.ModeOff, Receipt: dhruva.Receipt{
		Tenant: x.principal.Tenant, ID: dhruva.ReceiptID(dhruva.NewID()), RequestID: x.id,
		Principal: x.principal.ID, Key: x.principal.Key, Kind: "proxy", State: "open", Path: x.h.config.Path,
		Dialect: c.projection.Dialect, Provider: x.upstream.Name, Model: c.projection.Model, Stream: c.projection.Stream,
		ModeRequested: string(x.wish.mode), ModeEffective: string(memory.ModeOff),
		Memory: dhruva.MemoryDegraded, Continuity: dhruva.ContinuityRecallDegraded,
		Recall:    dhruva.RecallAccount{Status: dhruva.RecallDegraded, Reason: reason},
		Tokens:    dhruva.TokenAccount{Original: c.projection.Estimate, Forwarded: c.projection.Estimate},
		CreatedAt: dhruva.Micros(x.start),
	}}
}

// edit turns the plan into the body that is sent, and reports whether the call
// goes on. A plan that does not apply is dropped.
func (c *call) edit() bool {
	c.body = send{length: int64(len(c.held.bytes)), open: c.held.reader}
	if !c.prepared.Plan.Empty() {
		if err := c.apply(); err != nil {
			c.x.logError("apply; the request is not edited", err)
			c.dropPlan()
		}
	}
	if c.x.wish.require && !recallWorked(&c.prepared.Receipt) {
		c.required(or(c.prepared.Receipt.Recall.Note, "memory could not be used for this request"))
		return false
	}
	return true
}

// recallWorked: memory was searched, and what was found, if anything, is in
// the request.
func recallWorked(r *dhruva.Receipt) bool {
	switch r.Recall.Status {
	case dhruva.RecallRecalled, dhruva.RecallEmpty, dhruva.RecallRefused:
		return r.Memory != dhruva.MemorySkippedNoLedger
	}
	return false
}

func (c *call) apply() error {
	type edited struct {
		body  []byte
		edits []dhruva.Splice
	}
	// The second copy of the body counts like the first.
	if err := c.held.reserve(int64(len(c.request.Body))); err != nil {
		return err
	}
	e, err := guarded(func() (edited, error) {
		body, edits, err := c.dialect.Apply(c.request, c.prepared.Plan)
		return edited{body, edits}, err
	})
	if err != nil {
		return err
	}
	c.prepared.Receipt.Edits = e.edits
	c.body = send{length: int64(len(e.body)), edited: true, open: func() io.ReadCloser { return inMemory(e.body) }}
	c.hash(e.body)
	return nil
}

func (c *call) dropPlan() {
	c.prepared.Plan = dhruva.Plan{}
	r := &c.prepared.Receipt
	r.Memory = dhruva.MemoryDegraded
	r.Recall = dhruva.RecallAccount{
		Status: dhruva.RecallDegraded, Reason: dhruva.GateDependencyError,
		LatencyUs: r.Recall.LatencyUs, Note: "the block could not be placed into the request",
	}
	r.Tokens.Forwarded, r.Tokens.Recalled = r.Tokens.Original, 0
}

// hash names both bodies for the receipt, beside the upstream call: it costs
// half a millisecond a megabyte.
func (c *call) hash(forwarded []byte) {
	c.sums = make(chan [2]string, 1)
	c.held.refs.Add(1)
	client := c.request.Body
	go func() {
		defer c.held.release()
		c.sums <- [2]string{sum(client), sum(forwarded)}
	}()
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// guarded turns a panic of what we call into an error.
func guarded[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}
