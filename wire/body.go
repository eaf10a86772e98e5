package wire

import (
	"bufio"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/dhruva-memory/dhruva"
)

// BodyLimits bound a request body. A zero field means its default.
type BodyLimits struct {
	Wire    int64 // bytes as sent: 32 MiB
	Decoded int64 // bytes once decoded: 64 MiB
	Ratio   int64 // decoded bytes per byte sent, beyond the first 4 MiB: 256
	// Reserve is asked before the decoded bytes take so many more; an error
	// of it ends the decoding and comes back as it is. nil: never refuses.
	Reserve func(bytes int64) error
}

func (l BodyLimits) withDefaults() BodyLimits {
	or := func(v *int64, d int64) {
		if *v <= 0 {
			*v = d
		}
	}
	or(&l.Wire, 32<<20)
	or(&l.Decoded, 64<<20)
	or(&l.Ratio, 256)
	return l
}

// ratioFree is how much may decode before the ratio counts.
const ratioFree = 4 << 20

// DecodeBody reads a request body and undoes its Content-Encoding: gzip and
// zstd, at most two codings. A corrupt or truncated body, a third coding or an
// unknown one is ErrInvalid; a body beyond a limit is ErrTooLarge, found in
// memory bounded by the limits. An error of the reader itself comes back as it
// is. The bytes are for looking: a request that is not edited is forwarded as
// it was sent.
func DecodeBody(encoding string, wire io.Reader, limits BodyLimits) ([]byte, error) {
	limits = limits.withDefaults()
	codings, err := splitCodings(encoding)
	if err != nil {
		return nil, err
	}
	for _, c := range codings {
		if c == "deflate" { // of answers only
			return nil, unknownCoding(c)
		}
	}
	source := &countingReader{r: wire, limit: limits.Wire}
	r, closeAll, err := decoders(codings, source)
	if err != nil {
		return nil, bodyError(source, err)
	}
	defer closeAll()
	return readBody(r, source, len(codings) > 0, limits)
}

func readBody(r io.Reader, source *countingReader, coded bool, limits BodyLimits) ([]byte, error) {
	var out []byte
	for {
		if len(out) == cap(out) {
			size := min(max(2*int64(cap(out)), firstDecoded), limits.Decoded+1)
			if limits.Reserve != nil {
				if err := limits.Reserve(size - int64(cap(out))); err != nil {
					return nil, err
				}
			}
			out = append(make([]byte, 0, size), out...)
		}
		n, err := r.Read(out[len(out):min(cap(out), len(out)+readStep)])
		out = out[:len(out)+n]
		total := int64(len(out))
		if total > limits.Decoded || coded && total > ratioFree && total > limits.Ratio*source.n {
			return nil, fmt.Errorf("wire: the body decodes to more than is allowed: %w", dhruva.ErrTooLarge)
		}
		if err == io.EOF && source.err == nil {
			return out, nil
		}
		if err != nil {
			return nil, bodyError(source, err)
		}
	}
}

const (
	firstDecoded = 64 << 10
	readStep     = 256 << 10 // so that a bomb is found soon
)

// bodyError tells a failing reader and a limit from corrupt data.
func bodyError(source *countingReader, err error) error {
	if source.err != nil {
		return source.err
	}
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return fmt.Errorf("wire: the body decodes to more than is allowed: %w", dhruva.ErrTooLarge)
	}
	return fmt.Errorf("wire: the body does not decode: %v: %w", err, dhruva.ErrInvalid)
}

// countingReader counts and bounds what is read of a source and remembers its
// own error, apart from those of a decoder on top of it.
type countingReader struct {
	r     io.Reader
	n     int64
	limit int64
	err   error
}

func (c *countingReader) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.r.Read(p)
	if c.n += int64(n); c.n > c.limit {
		c.err = fmt.Errorf("wire: the body is larger than %d bytes: %w", c.limit, dhruva.ErrTooLarge)
		return 0, c.err
	}
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

func unknownCoding(name string) error {
	return fmt.Errorf("wire: the content encoding %.32q is not supported: %w", name, dhruva.ErrInvalid)
}

// splitCodings reads a Content-Encoding into the codings to undo, outermost
// first.
func splitCodings(encoding string) ([]string, error) {
	var out []string
	for name := range strings.SplitSeq(encoding, ",") {
		switch name = strings.ToLower(strings.TrimSpace(name)); name {
		case "", "identity":
		case "gzip", "x-gzip":
			out = append(out, "gzip")
		case "zstd", "deflate":
			out = append(out, name)
		default:
			return nil, unknownCoding(name)
		}
	}
	if len(out) > 2 {
		return nil, fmt.Errorf("wire: the body has more than two content encodings: %w", dhruva.ErrInvalid)
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out, nil
}

// decoders stacks the decoders of codings over r.
func decoders(codings []string, r io.Reader) (io.Reader, func(), error) {
	var closers []func()
	closeAll := func() {
		for _, c := range closers {
			c()
		}
	}
	for _, name := range codings {
		next, closer, err := decoder(name, r)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		closers = append(closers, closer)
		r = next
	}
	return r, closeAll, nil
}

func decoder(name string, r io.Reader) (io.Reader, func(), error) {
	switch name {
	case "gzip":
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, noEOF(err)
		}
		return z, func() { _ = z.Close() }, nil
	case "zstd":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(8<<20))
		if err != nil {
			return nil, nil, noEOF(err)
		}
		return z, z.Close, nil
	case "deflate":
		return inflate(r)
	}
	return nil, nil, unknownCoding(name)
}

// inflate reads what HTTP calls deflate: zlib by the standard, raw deflate from
// some servers.
func inflate(r io.Reader) (io.Reader, func(), error) {
	buffered := bufio.NewReader(r)
	head, err := buffered.Peek(2)
	if err != nil {
		return nil, nil, noEOF(err)
	}
	if head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		z, err := zlib.NewReader(buffered)
		if err != nil {
			return nil, nil, noEOF(err)
		}
		return z, func() { _ = z.Close() }, nil
	}
	z := flate.NewReader(buffered)
	return z, func() { _ = z.Close() }, nil
}

// noEOF keeps an empty coded body from looking like a clean end.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
