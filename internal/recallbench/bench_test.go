package recallbench

import (
	"flag"
	"testing"
)

var dataDir = flag.String("data", "", "directory of a benchmark set; the built-in one when empty")

func TestBench(t *testing.T) {
	if *dataDir == "" {
		t.Skip("no data")
	}
	r, err := Run(t.Context(), *dataDir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.WriteTable(t.Output()); err != nil {
		t.Fatal(err)
	}
}
