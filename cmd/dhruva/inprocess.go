package main

import (
	"bytes"
	"io"
	"net/http"
	"sync"
)

// inProcess is a RoundTripper that answers from a handler in this process, so
// that a command without a server takes the same way as one with it.
type inProcess struct{ handler http.Handler }

// RoundTrip runs the handler. The answer's body can be read while it is
// written; closing it early makes the handler's writes fail.
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	in.RequestURI = in.URL.RequestURI()
	in.RemoteAddr = "127.0.0.1:0"
	in.Host = "localhost"
	if in.Body == nil {
		in.Body = http.NoBody
	}
	pr, pw := io.Pipe()
	w := &pipeWriter{header: http.Header{}, pipe: pw, begun: make(chan struct{})}
	go func() {
		t.handler.ServeHTTP(w, in)
		w.WriteHeader(http.StatusOK)
		_ = in.Body.Close()
		_ = pw.Close() // never fails
	}()
	select {
	case <-w.begun:
	case <-r.Context().Done():
	}
	if err := r.Context().Err(); err != nil { // also when the handler ended because of it
		_ = pr.CloseWithError(err) // never fails
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: pr, ContentLength: -1, Request: r,
	}, nil
}

// pipeWriter hands headers over once and then the body as it is written.
type pipeWriter struct {
	header http.Header
	pipe   *io.PipeWriter
	once   sync.Once
	begun  chan struct{}
	status int
	sent   http.Header
}

// Header is what WriteHeader will send.
func (w *pipeWriter) Header() http.Header { return w.header }

// WriteHeader sends the header; only the first call counts.
func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.begun)
	})
}

// Write waits until the body is read.
func (w *pipeWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(bytes.Clone(b))
}

// Flush has nothing to do: every write is read at once.
func (w *pipeWriter) Flush() { w.WriteHeader(http.StatusOK) }
