package storetest

import (
	"fmt"
	"reflect"
	"time"
)

// walk visits every text, number, flag, time and list of bytes of an
// addressable row, by its path.
func walk(v reflect.Value, path string, visit func(path string, v reflect.Value)) {
	switch {
	case v.Kind() == reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), path, visit)
		}
	case v.Type() == reflect.TypeFor[time.Time](), v.Type() == reflect.TypeFor[[]byte]():
		visit(path, v)
	case v.Kind() == reflect.Struct:
		for n := range v.NumField() {
			walk(v.Field(n), path+"."+v.Type().Field(n).Name, visit)
		}
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array && v.Type().Elem().Kind() != reflect.Uint8:
		for n := range v.Len() {
			walk(v.Index(n), fmt.Sprintf("%s[%d]", path, n), visit)
		}
	case v.Kind() != reflect.Array: // hashes are not walked into
		visit(path, v)
	}
}

// addressable is a row that can be changed in place.
func addressable(row any) reflect.Value {
	v := reflect.New(reflect.TypeOf(row)).Elem()
	v.Set(reflect.ValueOf(row))
	return v
}

// leaves are the paths of a row's leaves of some type.
func leaves(row any, is func(reflect.Value) bool) (paths []string) {
	walk(addressable(row), "", func(path string, v reflect.Value) {
		if is(v) {
			paths = append(paths, path)
		}
	})
	return paths
}

func isText(v reflect.Value) bool { return v.Kind() == reflect.String }
func isTime(v reflect.Value) bool { return v.Type() == reflect.TypeFor[time.Time]() }
func isNumber(v reflect.Value) bool {
	return v.CanInt()
}

// with is a row in which the leaves at some paths are changed. The row is
// changed too where it holds lists: it must be nobody else's.
func with(row any, set func(reflect.Value), paths ...string) any {
	at := map[string]bool{}
	for _, p := range paths {
		at[p] = true
	}
	out := addressable(row)
	walk(out, "", func(path string, v reflect.Value) {
		if at[path] {
			set(v)
		}
	})
	return out.Interface()
}

// scribble changes everything that a row shares with its copies: what pointers
// and lists hold.
func scribble(row any) { scribbleIn(addressable(row), false) }

func scribbleIn(v reflect.Value, shared bool) {
	switch {
	case v.Kind() == reflect.Pointer:
		if !v.IsNil() {
			scribbleIn(v.Elem(), true)
		}
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		for n := range v.Len() {
			scribbleIn(v.Index(n), shared || v.Kind() == reflect.Slice)
		}
	case v.Kind() == reflect.Struct && !isTime(v):
		for n := range v.NumField() {
			scribbleIn(v.Field(n), shared)
		}
	case shared:
		spoil(v)
	}
}

func spoil(v reflect.Value) {
	switch {
	case v.CanInt():
		v.SetInt(v.Int() + 1)
	case v.CanUint():
		v.SetUint(v.Uint() ^ 1)
	case v.CanFloat():
		v.SetFloat(v.Float() + 1)
	case v.Kind() == reflect.String:
		v.SetString(v.String() + "x")
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case isTime(v):
		v.Set(reflect.ValueOf(v.Interface().(time.Time).Add(time.Hour)))
	}
}
