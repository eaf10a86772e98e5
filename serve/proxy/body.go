package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dhruva-memory/dhruva"
)

const (
	// smallBody is what needs no pool.
	smallBody = 16 << 10
	// poolMin and poolMax are the buffers that are kept: powers of two.
	poolMin = 32 << 10
	poolMax = 1 << 20
)

// pools keeps buffers of *[]byte by their size, from poolMin to poolMax. What
// is larger is the garbage collector's: a rare giant must not stay.
type pools [6]sync.Pool

func (p *pools) of(size int64) *sync.Pool {
	if size < poolMin || size > poolMax || size&(size-1) != 0 {
		return nil
	}
	return &p[bits.TrailingZeros64(uint64(size/poolMin))]
}

// get gives an empty buffer of exactly that capacity.
func (p *pools) get(size int64) []byte {
	if pool := p.of(size); pool != nil {
		if buf, ok := pool.Get().(*[]byte); ok {
			return *buf
		}
	}
	return make([]byte, 0, size)
}

func (p *pools) put(buf []byte) {
	if pool := p.of(int64(cap(buf))); pool != nil {
		buf = buf[:0]
		pool.Put(&buf)
	}
}

// held is a request body, in a pooled buffer unless it is small. The transport
// may still read it after the answer has begun, so every reader of a pooled
// buffer holds a reference. What a body is turned into is reserved with it.
type held struct {
	h        *Handler
	bytes    []byte
	small    bool
	refs     atomic.Int32
	reserved atomic.Int64
}

// reserve takes n bytes of the budget for as long as the body is held.
func (b *held) reserve(n int64) error {
	if !b.h.inFlight.take(n) {
		return errBusy
	}
	b.reserved.Add(n)
	return nil
}

func (b *held) release() {
	if b.refs.Add(-1) != 0 {
		return
	}
	if !b.small {
		b.h.bodies.put(b.bytes)
	}
	b.h.inFlight.give(b.reserved.Load())
}

// grow makes room for more bytes: twice what has come, but beyond the pooled
// sizes no more than the whole. The old buffer is let go at once.
func (b *held) grow(whole int64) error {
	old := int64(cap(b.bytes))
	size := max(2*old, poolMin)
	if b.small {
		size = smallBody
	}
	if b.small || size > poolMax {
		size = min(size, whole)
	}
	if err := b.reserve(size); err != nil {
		return err
	}
	full := b.bytes
	if b.small {
		b.bytes = make([]byte, 0, size)
	} else {
		b.bytes = append(b.h.bodies.get(size), full...)
		b.h.bodies.put(full)
	}
	b.reserved.Add(-old)
	b.h.inFlight.give(old)
	return nil
}

// reader gives the transport its own view of the body.
func (b *held) reader() io.ReadCloser {
	if b.small {
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

// hold reads the whole request body. A body over the limit is ErrTooLarge, one
// beyond the budget of all bodies errBusy; a client that stalls or breaks off
// gives the connection's own error.
func (h *Handler) hold(w http.ResponseWriter, r *http.Request) (*held, error) {
	limit := h.config.Limits.Body
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	b := &held{h: h, small: r.ContentLength >= 0 && r.ContentLength < smallBody}
	b.refs.Store(1)
	whole := r.ContentLength + 1 // one more, to see the end
	if r.ContentLength < 0 {
		whole = limit + 1
	}
	body := h.unstalled(w, r.Body)
	defer body.end()
	err := b.fill(body, whole, limit)
	if err == nil {
		return b, nil
	}
	b.release()
	if errors.Is(err, errBusy) {
		// Read on without keeping anything: a client that is cut off while it
		// sends may never see the answer.
		_, _ = io.Copy(io.Discard, io.LimitReader(body, limit))
	}
	return nil, err
}

func (b *held) fill(body io.Reader, whole, limit int64) error {
	for {
		if len(b.bytes) == cap(b.bytes) {
			if err := b.grow(whole); err != nil {
				return err
			}
		}
		n, err := body.Read(b.bytes[len(b.bytes):cap(b.bytes)])
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

// stallReader gives up on a client that stops sending.
type stallReader struct {
	io.ReadCloser
	control *http.ResponseController
	stall   *bound
	limit   time.Duration
	failed  atomic.Pointer[error] // what the client's side gave instead of bytes
}

func (h *Handler) unstalled(w http.ResponseWriter, body io.ReadCloser) *stallReader {
	c := http.NewResponseController(w)
	// A writer without deadlines (in tests) does not stall either.
	stall := h.watch.over(func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })
	return &stallReader{ReadCloser: body, control: c, stall: stall, limit: h.config.Limits.BodyStall}
}

// Read has its time anew each time.
func (r *stallReader) Read(p []byte) (int, error) {
	r.stall.set(r.limit)
	defer r.stall.pause()
	n, err := r.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		r.failed.Store(&err)
	}
	return n, err
}

// end forgets the bound. Should it have struck though the last read came
// through, the connection is good again.
func (r *stallReader) end() {
	if r.stall.end() && r.failed.Load() == nil {
		_ = r.control.SetReadDeadline(time.Time{})
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
