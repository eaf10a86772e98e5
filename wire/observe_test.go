package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
)

// observeRaw feeds pieces without the recover of Write, so that a defect shows.
func observeRaw(t testing.TB, name dhruva.Dialect, pieces ...[]byte) dhruva.Observation {
	t.Helper()
	o := dialectNamed(t, name).Observe("", "").(*observer)
	for _, p := range pieces {
		if !o.over {
			o.feed(p)
		}
	}
	return o.conclude()
}

// observe feeds pieces as a caller does.
func observe(t testing.TB, name dhruva.Dialect, contentType, encoding string, pieces ...[]byte) dhruva.Observation {
	t.Helper()
	o := dialectNamed(t, name).Observe(contentType, encoding)
	for _, p := range pieces {
		if n, err := o.Write(p); n != len(p) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	return o.Close()
}

func diffObservation(want, got dhruva.Observation) string { return cmp.Diff(want, got) }
