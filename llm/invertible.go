package llm

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"

	"github.com/dhruva-memory/dhruva"
)

// Invertible is an Embedder for tests whose vectors can be read back: Text
// recovers the embedded text. With it a test can tell which text a vector
// stands for, and prove that an erased text is in no vector left behind.
//
// Nearness means something too: the first axes count the text's words, so
// texts that share words are close. The remaining components carry the bytes,
// scaled so small that they do not disturb a cosine.
type Invertible struct {
	// Dim is the length of the vectors, 512 when zero. A text longer than
	// Dim-65 bytes is refused: a cut text could not be read back.
	Dim int
}

const (
	invertibleDim  = 512
	invertibleAxes = 64
	// byteUnit is one step of a byte in its component. A power of two, so that
	// the division that reads it back is exact.
	byteUnit = 1.0 / (1 << 24)
)

// Model implements Embedder.
func (e Invertible) Model() string { return fmt.Sprintf("invertible-%d", e.dim()) }

func (e Invertible) dim() int {
	if e.Dim == 0 {
		return invertibleDim
	}
	return e.Dim
}

// Embed implements Embedder.
func (e Invertible) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("llm: invertible: %w: %w", dhruva.ErrUnavailable, err)
	}
	out := make([][]float32, len(texts))
	for i, t := range texts {
		if room := e.dim() - invertibleAxes - 1; len(t) > room {
			return nil, fmt.Errorf("llm: invertible: a text of %d bytes exceeds %d: %w", len(t), room, dhruva.ErrInvalid)
		}
		out[i] = e.vector(t)
	}
	return out, nil
}

func (e Invertible) vector(text string) []float32 {
	v := make([]float32, e.dim())
	axes, bytes := v[:invertibleAxes], v[invertibleAxes:]
	for _, word := range words(text) {
		h := fnv.New32a()
		h.Write([]byte(word))
		axes[h.Sum32()%invertibleAxes]++
	}
	normalise(axes)
	bytes[0] = float32(len(text)) * byteUnit
	for i := range len(text) {
		bytes[i+1] = float32(text[i]) * byteUnit
	}
	return v
}

// Text recovers the text of a vector that Embed made.
func (e Invertible) Text(v []float32) (string, error) {
	if len(v) != e.dim() || len(v) <= invertibleAxes {
		return "", fmt.Errorf("llm: invertible: a vector of %d components: %w", len(v), dhruva.ErrInvalid)
	}
	bytes := v[invertibleAxes:]
	n := int(bytes[0] / byteUnit)
	if n < 0 || n > len(bytes)-1 {
		return "", fmt.Errorf("llm: invertible: not a vector of this embedder: %w", dhruva.ErrInvalid)
	}
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(bytes[i+1] / byteUnit)
	}
	return string(out), nil
}

// words are the lower-case runs of ASCII letters and digits, and of anything
// outside ASCII.
func words(s string) []string {
	var out []string
	start := -1
	b := []byte(s)
	for i := 0; i <= len(b); i++ {
		inWord := i < len(b) && (wordByte(b[i]) || b[i] >= 0x80)
		switch {
		case inWord && start < 0:
			start = i
		case !inWord && start >= 0:
			out = append(out, string(b[start:i]))
			start = -1
		}
		if i < len(b) && b[i] >= 'A' && b[i] <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return out
}

// normalise scales v to length one; a zero vector gets its first axis.
func normalise(v []float32) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		v[0] = 1
		return
	}
	norm := float32(math.Sqrt(sum))
	for i := range v {
		v[i] /= norm
	}
}
