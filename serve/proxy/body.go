package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dhruva-memory/dhruva"
)

const (
	// firstBuffer bounds what a declared length alone makes us allocate.
	firstBuffer = 4 << 20
	// keepBuffer bounds a buffer that goes back to the pool.
	keepBuffer = 4 << 20
	// smallBody is what needs no pool.
	smallBody = 16 << 10
)

// held is a request body, in a pooled buffer unless it is small. The transport
// may still read it after the answer has begun, so every reader of a pooled
// buffer holds a reference.
type held struct {
	bytes []byte
	refs  atomic.Int32
	pool  *sync.Pool // nil: the garbage collector's
}

func (b *held) release() {
	if b.refs.Add(-1) == 0 && b.pool != nil && cap(b.bytes) <= keepBuffer {
		buf := b.bytes[:0]
		b.pool.Put(&buf)
	}
}

// reader gives the transport its own view of the body.
func (b *held) reader() io.ReadCloser {
	if b.pool == nil {
		return inMemory(b.bytes)
	}
	b.refs.Add(1)
	return &heldReader{held: b, rest: b.bytes}
}

// inMemory is a body of the one kind that net/http knows not to block, so that
// it goes out in the same packet as the header.
func inMemory(p []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(p)) }

// heldReader reads a held body. The lock keeps a Close on one goroutine from
// giving the buffer away under a Read on another.
type heldReader struct {
	mu     sync.Mutex
	held   *held
	rest   []byte
	closed bool
}

func (r *heldReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *heldReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed = true
		r.rest = nil
		r.held.release()
	}
	return nil
}

// hold reads the whole request body. A body over the limit is ErrTooLarge; a
// client that stalls or breaks off gives the connection's own error.
func (h *Handler) hold(w http.ResponseWriter, r *http.Request) (*held, error) {
	limit := h.config.Limits.Body
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	b := &held{}
	b.refs.Store(1)
	if r.ContentLength < 0 || r.ContentLength > smallBody {
		b.pool = &h.bodies
		if buf, ok := h.bodies.Get().(*[]byte); ok {
			b.bytes = *buf
		}
	}
	if want := min(r.ContentLength+1, firstBuffer); int64(cap(b.bytes)) < want {
		b.bytes = make([]byte, 0, want)
	}
	err := h.fill(b, r, http.NewResponseController(w), limit)
	if err != nil {
		b.release()
		return nil, err
	}
	return b, nil
}

func (h *Handler) fill(b *held, r *http.Request, c *http.ResponseController, limit int64) error {
	// A writer without deadlines (in tests) does not stall either.
	stall := h.watch.over(func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })
	defer func() {
		if stall.end() { // though the last read came through
			_ = c.SetReadDeadline(time.Time{})
		}
	}()
	for {
		if len(b.bytes) == cap(b.bytes) {
			b.bytes = append(b.bytes, 0)[:len(b.bytes)]
		}
		stall.set(h.config.Limits.BodyStall)
		n, err := r.Body.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		if int64(len(b.bytes)) > limit {
			return tooLarge(limit)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func tooLarge(limit int64) error {
	return fmt.Errorf("the body is larger than %d bytes: %w", limit, dhruva.ErrTooLarge)
}

// decodable reports whether wire can undo a Content-Encoding. What it cannot
// undo is relayed unseen.
func decodable(encoding string) bool {
	for name := range strings.SplitSeq(encoding, ",") {
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "", "identity", "gzip", "x-gzip", "zstd":
		default:
			return false
		}
	}
	return true
}

func plain(encoding string) bool {
	return encoding == "" || strings.EqualFold(strings.TrimSpace(encoding), "identity")
}
