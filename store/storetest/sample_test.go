package storetest

import (
	"reflect"
	"testing"
	"time"
)

// Full rows are full: a field that is added to the vocabulary and forgotten
// here would not be tested in any store.
func TestFullRowsAreFull(t *testing.T) {
	may := map[string]bool{ // what cannot be set together with the rest
		"Space.Home": true,
		"Leaf.Seq":   true,                     // a pending one has no place
		"Epoch.Head": true, "Epoch.Tail": true, // the store's own
	}
	for _, row := range []any{fullTenant(), fullSpace(), fullSession(), fullTurn(), fullCheckpoint(), fullBranch(),
		fullHeadMove(), fullNote(), fullClaim(), fullWorktree(), fullDocument(),
		fullSource(), fullReference(), fullTombstone(), fullReceipt(), fullKey(), fullRecord(), fullVector(), fullReplay(),
		fullLeaf(), fullAuditHead(), fullJob(), fullCursor(), fullIdempotency(), fullUser(), fullGrant(), fullProvider(), fullNode(),
		fullLease(), fullEpoch(), fullChain(), fullChange()} {
		unset(t, reflect.TypeOf(row).Name(), reflect.ValueOf(row), may)
	}
}

func unset(t *testing.T, name string, v reflect.Value, may map[string]bool) {
	t.Helper()
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if _, isTime := v.Interface().(time.Time); v.IsValid() && v.Kind() == reflect.Struct && !isTime {
		for i := range v.NumField() {
			unset(t, name+"."+v.Type().Field(i).Name, v.Field(i), may)
		}
		return
	}
	if !v.IsValid() || v.IsZero() && !may[name] {
		t.Errorf("%s has no value", name)
	}
}
