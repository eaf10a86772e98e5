package edge

import (
	"io"
	"net/http"
	"strings"
	"time"
)

// MaxBytes bounds the body of requests: a declared length above n is refused
// before anything is read, and reading past n fails with *http.MaxBytesError,
// which WriteError answers with 413.
func MaxBytes(n int64, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > n {
			WriteError(w, r, &http.MaxBytesError{Limit: n})
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, n)
		next.ServeHTTP(w, r)
	})
}

// bodyTime bounds how long a client may take to send a body.
const bodyTime = 30 * time.Second

// ReadBody reads the whole body under its limit and a deadline of its own, and
// then lifts the deadline: an answer may take as long as a model does.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime)) // a writer without one is in this process
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	_ = rc.SetReadDeadline(time.Time{})
	if err != nil {
		return nil, Malformed(err)
	}
	return body, nil
}

// PlainBodies refuses Content-Encoding with 415: on routes that do not decode,
// a coded body would be read as something else than it is.
func PlainBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, coding := range r.Header.Values("Content-Encoding") {
			if !strings.EqualFold(strings.TrimSpace(coding), "identity") {
				w.Header().Set("Accept-Encoding", "identity") // RFC 9110, 12.5.3
				WriteError(w, r, &Refusal{Status: http.StatusUnsupportedMediaType, Code: "unsupported_encoding", Title: "Coded body",
					Detail: "this route takes bodies without Content-Encoding", Hint: "send the body as it is"})
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// SecurityHeaders are for the answers of our own APIs: data for programs, never
// to be cached, framed, sniffed or run. Not for proxied answers, and the web
// app has a policy of its own.
func SecurityHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}
