package sqlstore

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"reflect"
)

// The types of columns and parameters: text, integers and bytes, all in binary.
const (
	oidBytea = 17
	oidName  = 19
	oidInt8  = 20
	oidInt2  = 21
	oidInt4  = 23
	oidText  = 25
)

var binaryFormat = []int16{1}

// encode gives parameters their form. Their types are told to the server, so
// that it infers none but that of NULL.
func encode(args []any) (values [][]byte, formats []int16, oids []uint32, err error) {
	if len(args) == 0 {
		return nil, nil, nil, nil
	}
	values, oids = make([][]byte, len(args)), make([]uint32, len(args))
	numbers := make([]byte, 0, 8*len(args)) // never grows, so that parts of it stay
	number := func(n int, v int64) {
		start := len(numbers)
		numbers = binary.BigEndian.AppendUint64(numbers, uint64(v))
		values[n], oids[n] = numbers[start:], oidInt8
	}
	for n, a := range args {
		switch a := a.(type) {
		case nil:
		case string:
			values[n], oids[n] = []byte(a), oidText
		case int64:
			number(n, a)
		case int:
			number(n, int64(a))
		case []byte:
			values[n], oids[n] = a, oidBytea
			if a == nil {
				values[n] = []byte{}
			}
		default:
			return nil, nil, nil, fmt.Errorf("parameter $%d is a %T", n+1, a)
		}
	}
	return values, binaryFormat, oids, nil
}

// value is a column as the SQL package's drivers give it.
func value(oid uint32, b []byte) (any, error) {
	if b == nil {
		return nil, nil
	}
	switch oid {
	case oidText, oidName:
		return string(b), nil
	case oidBytea:
		return b, nil
	}
	return integer(oid, b)
}

func integer(oid uint32, b []byte) (int64, error) {
	switch {
	case oid == oidInt8 && len(b) == 8:
		return int64(binary.BigEndian.Uint64(b)), nil
	case oid == oidInt4 && len(b) == 4:
		return int64(int32(binary.BigEndian.Uint32(b))), nil
	case oid == oidInt2 && len(b) == 2:
		return int64(int16(binary.BigEndian.Uint16(b))), nil
	}
	return 0, fmt.Errorf("column of type %d, which no statement should give", oid)
}

// Scan reads the columns of the row. Bytes that a Scanner is given are its own
// only until it returns.
func (r *pgRows) Scan(into ...any) error {
	if r.row == nil {
		return errUnexpected
	}
	return scanRow(r.st.oids, r.row.Values, into)
}

func scan(oid uint32, b []byte, to any) (err error) {
	switch to := to.(type) {
	case *int64:
		*to, err = integer(oid, b)
	case *int:
		var v int64
		v, err = integer(oid, b)
		*to = int(v)
	case *string:
		*to, err = text(oid, b)
	case *[]byte:
		if oid != oidBytea {
			return fmt.Errorf("bytes from a column of type %d", oid)
		}
		*to = append([]byte{}, b...)
	case sql.Scanner:
		var v any
		if v, err = value(oid, b); err == nil {
			err = to.Scan(v)
		}
	case *any:
		*to, err = value(oid, append([]byte(nil), b...))
	default:
		err = scanKind(oid, b, to)
	}
	return err
}

func text(oid uint32, b []byte) (string, error) {
	if b == nil || oid != oidText && oid != oidName {
		return "", fmt.Errorf("text from a column of type %d, NULL %v", oid, b == nil)
	}
	return string(b), nil
}

// scanKind reads into types of ours whose kind is a text.
func scanKind(oid uint32, b []byte, to any) error {
	v := reflect.ValueOf(to)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.String {
		return fmt.Errorf("no way to read into %T", to)
	}
	s, err := text(oid, b)
	v.Elem().SetString(s)
	return err
}
