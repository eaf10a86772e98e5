package proxy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/wire"
)

// refuse answers with an error of our own in the dialect's shape.
func (x *exchange) refuse(status int, code, message string) {
	body := wire.ErrorBody(x.route.dialect, status, code, message, x.id)
	h := x.w.Header()
	h.Set(headerRequestID, x.id) // an informational answer has cleared it
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	// Where each dialect's SDK looks for an id to show in its exceptions.
	if x.route.dialect == dhruva.DialectMessages {
		h.Set("Request-Id", x.id)
	} else {
		h.Set("X-Request-Id", x.id)
	}
	x.w.WriteHeader(status)
	if x.r.Method != http.MethodHead {
		// A failed write means that the client is gone.
		_, _ = x.w.Write(body)
	}
}

// refuseBody answers a body that was not read to its end; the connection is
// not used again, whatever is left on it.
func (x *exchange) refuseBody(err error) {
	x.w.Header().Set("Connection", "close")
	var netErr net.Error
	switch {
	case errors.Is(err, errBusy):
		x.busy()
	case errors.Is(err, dhruva.ErrTooLarge), isMaxBytes(err):
		x.refuse(http.StatusRequestEntityTooLarge, "body_too_large", "The request body is larger than this server takes.")
	case errors.As(err, &netErr) && netErr.Timeout():
		x.refuse(http.StatusRequestTimeout, "body_stalled", "The request body stopped arriving.")
	default:
		x.refuse(http.StatusBadRequest, "body_unreadable", "The request body could not be read to its end.")
	}
}

// busy refuses a request for which there is no memory now.
func (x *exchange) busy() {
	x.w.Header().Set("Retry-After", "1")
	x.refuse(http.StatusServiceUnavailable, "server_busy", "The request bodies in flight take all the memory that they may; try again in a moment.")
}

// refuseRequired answers X-Dhruva-Require where recall did not work.
func (x *exchange) refuseRequired(why string) {
	x.refuse(http.StatusServiceUnavailable, "recall_required",
		"Recall was required and did not happen: "+why+". Try again, or leave "+prefix+"Require out.")
}

func isMaxBytes(err error) bool {
	var tooLong *http.MaxBytesError
	return errors.As(err, &tooLong)
}

// refuseMemory maps what Prepare refuses on the caller's own account.
func (x *exchange) refuseMemory(err error) {
	switch {
	case errors.Is(err, dhruva.ErrInvalid), errors.Is(err, dhruva.ErrTooLarge):
		x.refuse(http.StatusUnprocessableEntity, "invalid_header", sentenceOf(err))
	case errors.Is(err, dhruva.ErrDenied):
		x.refuse(http.StatusForbidden, "insufficient_scope", sentenceOf(err))
	case errors.Is(err, dhruva.ErrNotFound):
		x.refuse(http.StatusNotFound, "not_found", "The space or checkpoint that the X-Dhruva headers name is not here, or not this key's.")
	case errors.Is(err, dhruva.ErrConflict):
		x.refuse(http.StatusConflict, "conflict", sentenceOf(err))
	default: // only where recall was required; what happened is for the log
		x.logError("recall was required", err)
		x.refuseRequired("memory could not be used for this request")
	}
}

// sentenceOf shows an error of ours to its own caller, without the packages
// that it passed.
func sentenceOf(err error) string {
	text := err.Error()
	for _, layer := range []string{"memory: ", "ledger: ", "auth: ", "credential: ", "wire: ", "invalid: "} {
		text = strings.TrimPrefix(text, layer)
	}
	for _, kind := range []error{dhruva.ErrInvalid, dhruva.ErrTooLarge} { // said by the status
		text = strings.TrimSuffix(text, ": "+kind.Error())
	}
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// upstreamFailed is ReverseProxy's ErrorHandler: no answer came.
func (x *exchange) upstreamFailed(_ http.ResponseWriter, _ *http.Request, err error) {
	cause := x.failureOf(err)
	if x.call != nil {
		x.call.failed(cause)
	}
	// ReverseProxy may have copied nothing yet; what we set for the answer goes.
	switch cause {
	case causeGone:
		// Nobody reads it, but the log line of the server should not say 200.
		x.w.WriteHeader(http.StatusBadGateway)
		return
	case causeBody:
		x.refuseBody(x.bodyError(err))
		return
	case causeStatus:
		x.refuse(http.StatusBadGateway, "upstream_invalid", "The provider "+x.upstream.Name+" answered with something that is no HTTP status.")
	case causeTimeout:
		x.refuse(http.StatusGatewayTimeout, "upstream_timeout", "The provider "+x.upstream.Name+" did not answer in time.")
	default:
		x.refuse(http.StatusBadGateway, "upstream_unreachable", "The provider "+x.upstream.Name+" could not be reached.")
	}
	x.logError("upstream "+x.upstream.Name, err)
}

// The ways a call can end without an answer; they stand in receipts.
const (
	causeGone    = "client_gone"
	causeBody    = "request_body"
	causeTimeout = "timeout"
	causeRefused = "address_refused"
	causeConnect = "unreachable"
	causeStatus  = "invalid_status"
	causeRecall  = "recall_required"
	causePanic   = "internal"
)

// errStatus is an answer that is no answer.
var errStatus = errors.New("the status is not one of HTTP's")

func (x *exchange) failureOf(err error) string {
	var netErr net.Error
	switch {
	case x.bodyError(nil) != nil: // also breaks the client's connection off
		return causeBody
	case x.r.Context().Err() != nil:
		return causeGone
	case isMaxBytes(err):
		return causeBody
	case errors.Is(err, errStatus):
		return causeStatus
	case errors.Is(err, dhruva.ErrDenied):
		return causeRefused
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return causeTimeout
	}
	return causeConnect
}

// bodyError is what the client's side of a streamed body failed with, or err.
func (x *exchange) bodyError(err error) error {
	if x.streaming != nil {
		if failed := x.streaming.failed.Load(); failed != nil {
			return *failed
		}
	}
	return err
}

func (x *exchange) logError(what string, err error) {
	x.h.config.Log.ErrorContext(x.r.Context(), "proxy: "+what, "error", err,
		"request_id", x.id, "route", x.route.template, "key", x.principal.Key)
}
