package storetest

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dhruva-memory/dhruva"
)

// txMethods are the methods of dhruva.Tx, those that write and those that read.
func txMethods() (writes, reads []string) {
	tx := reflect.TypeFor[dhruva.Tx]()
	for n := range tx.NumMethod() {
		if name := tx.Method(n).Name; isWriting(name) {
			writes = append(writes, name)
		} else {
			reads = append(reads, name)
		}
	}
	return writes, reads
}

// Every method of Tx is in a table, so that a role that is added and forgotten
// in the suite is seen.
func TestEveryMethodIsTested(t *testing.T) {
	writes, reads := txMethods()
	var did, looked []string
	for _, d := range deeds() {
		did = append(did, d.method)
	}
	for _, l := range looks() {
		looked = append(looked, l.method)
	}
	slices.Sort(did)
	looked = append(looked, elsewhere...)
	slices.Sort(looked)
	if did = slices.Compact(did); !slices.Equal(did, writes) {
		t.Errorf("writes tested: %v\nof Tx: %v", did, writes)
	}
	if looked = slices.Compact(looked); !slices.Equal(looked, reads) {
		t.Errorf("reads tested: %v\nof Tx: %v", looked, reads)
	}
}

// Every row that a method of Tx takes is among the kinds.
func TestEveryRowIsAKind(t *testing.T) {
	have := map[string]bool{"Change": true, "JobClaim": true} // they have tests of their own
	for _, k := range kinds() {
		have[reflect.TypeOf(k.full()).Name()] = true
	}
	tx := reflect.TypeFor[dhruva.Tx]()
	for n := range tx.NumMethod() {
		m := tx.Method(n)
		if !isWriting(m.Name) {
			continue
		}
		for i := range m.Type.NumIn() {
			if in := m.Type.In(i); in.Kind() == reflect.Struct && in.PkgPath() != "time" && !have[in.Name()] {
				t.Errorf("%s takes a %s, which is no kind", m.Name, in)
			}
		}
	}
}

// A bare row has the key of the full one, and lacks something (unless all of it
// is key).
func TestBareRowsHaveTheKey(t *testing.T) {
	for _, k := range kinds() {
		if k.valid(k.full()) != nil || k.valid(k.bare()) != nil {
			t.Errorf("%s: %v, %v", k.name, k.valid(k.full()), k.valid(k.bare()))
		}
		bare := strings.Join(leaves(k.bare(), func(v reflect.Value) bool { return isText(v) && v.String() != "" }), " ")
		full := strings.Join(leaves(k.full(), isText), " ")
		if len(bare) > len(full) {
			t.Errorf("%s: bare has %s, full %s", k.name, bare, full)
		}
	}
}

// TestEveryWriteIsCounted: the Tx of a Faulty counts, and refuses, each writing
// method, and lets the others pass. A method that is added is seen here.
func TestEveryWriteIsCounted(t *testing.T) {
	tx := reflect.TypeFor[dhruva.Tx]()
	for n := range tx.NumMethod() {
		name := tx.Method(n).Name
		faulty := NewFaulty(nil, Refused, 2)
		within := &writeTx{Tx: nil, faulty: faulty}
		call := func() (errs error, reached bool) {
			defer func() { reached = recover() != nil }() // there is nobody within
			m := reflect.ValueOf(within).MethodByName(name)
			var args []reflect.Value
			for i := range m.Type().NumIn() {
				args = append(args, reflect.Zero(m.Type().In(i)))
			}
			out := m.Call(args)
			errs, _ = out[len(out)-1].Interface().(error)
			return errs, false
		}
		if _, reached := call(); !reached {
			t.Errorf("%s does not reach the store within", name)
		}
		err, reached := call()
		if isWriting(name) && (faulty.Writes() != 2 || reached || !errors.Is(err, dhruva.ErrUnavailable)) {
			t.Errorf("%s: %d writes counted, reached %v, %v", name, faulty.Writes(), reached, err)
		}
		if !isWriting(name) && (faulty.Writes() != 0 || !reached) {
			t.Errorf("%s: %d writes counted, reached %v", name, faulty.Writes(), reached)
		}
	}
}
