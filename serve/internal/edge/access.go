package edge

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// HeaderRequestID carries the request's id in every answer.
const HeaderRequestID = "X-Dhruva-Request-Id"

// Access is the outermost layer: it mints the request's id, recovers panics and
// writes one log line a request.
type Access struct {
	// Log is where the lines go; nil is slog's default.
	Log *slog.Logger
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// Wrap puts the layer around a handler.
func (a Access) Wrap(next http.Handler) http.Handler {
	if a.Log == nil {
		a.Log = slog.Default()
	}
	if a.Now == nil {
		a.Now = time.Now
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &record{ResponseWriter: w, id: dhruva.NewID(), start: a.Now()}
		w.Header().Set(HeaderRequestID, rec.id)
		r = r.WithContext(dhruva.WithRequestID(r.Context(), rec.id))
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = &counted{r.Body, rec}
		}
		defer a.finish(rec, r)
		next.ServeHTTP(rec, r)
	})
}

// finish ends a request, also one whose handler panicked. A panic before the
// answer began becomes a 500; after that the connection is cut, so that nobody
// takes half an answer for a whole one.
func (a Access) finish(rec *record, r *http.Request) {
	cause := recover()
	if cause != nil && cause != http.ErrAbortHandler {
		err := fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		if rec.status == 0 {
			WriteError(rec, r, err)
			cause = nil
		} else {
			rec.err, cause = err, http.ErrAbortHandler
		}
	}
	a.log(rec, r, cause != nil)
	if cause != nil {
		panic(cause)
	}
}

func (a Access) log(rec *record, r *http.Request, aborted bool) {
	attrs := []slog.Attr{
		slog.String("request_id", rec.id),
		slog.String("method", method(r.Method)),
		slog.String("route", r.Pattern), // "" when no route matched: paths hold ids
		slog.Int("status", rec.code()),
		slog.Int64("in", rec.in),
		slog.Int64("out", rec.out),
		slog.Int64("us", a.Now().Sub(rec.start).Microseconds()),
	}
	if rec.key != "" {
		attrs = append(attrs, slog.String("key", string(rec.key)))
	}
	if aborted {
		attrs = append(attrs, slog.Bool("aborted", true))
	}
	level := slog.LevelInfo
	if rec.err != nil {
		p := ProblemOf(rec.err)
		attrs = append(attrs, slog.String("code", p.Code))
		if p.Status >= 500 {
			level = slog.LevelError
			attrs = append(attrs, slog.String("error", rec.err.Error()))
		}
	}
	a.Log.LogAttrs(context.WithoutCancel(r.Context()), level, "request", attrs...)
}

// method keeps what a client invents out of the log.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return m
	}
	return "other"
}

// record is the ResponseWriter that the layers inside see; it notes what the
// log line needs.
type record struct {
	http.ResponseWriter
	id      string
	start   time.Time
	status  int
	in, out int64
	key     dhruva.KeyID
	err     error
}

// code is the status as net/http sends it.
func (r *record) code() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}

// Unwrap is for http.ResponseController.
func (r *record) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader notes the final status; informational ones come before it.
func (r *record) WriteHeader(status int) {
	if r.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write counts.
func (r *record) Write(b []byte) (int, error) {
	r.status = r.code()
	n, err := r.ResponseWriter.Write(b)
	r.out += int64(n)
	return n, err
}

// Flush is for handlers that ask for http.Flusher by type.
func (r *record) Flush() {
	r.status = r.code()
	_ = http.NewResponseController(r.ResponseWriter).Flush()
}

// counted counts what is read of a request's body.
type counted struct {
	io.ReadCloser
	rec *record
}

// Read counts.
func (c *counted) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.rec.in += int64(n)
	return n, err
}

// recordOf finds the record among the writers that were put around it.
func recordOf(w http.ResponseWriter) *record {
	for {
		switch t := w.(type) {
		case *record:
			return t
		case interface{ Unwrap() http.ResponseWriter }:
			w = t.Unwrap()
		default:
			return nil
		}
	}
}

// Report hands an error to the request's log line; the last one counts. For
// handlers that answer in a shape of their own: WriteError does it itself.
func Report(w http.ResponseWriter, r *http.Request, err error) {
	if rec := recordOf(w); rec != nil {
		rec.err = err
		return
	}
	if p := ProblemOf(err); p.Status >= 500 { // served without Access: still not lost
		slog.Default().LogAttrs(r.Context(), slog.LevelError, "request", slog.String("request_id", dhruva.RequestIDFrom(r.Context())),
			slog.String("code", p.Code), slog.String("error", err.Error()))
	}
}
