package dhruva

import "testing"

// S22, S26: the boundary is a sequence number, strict; a reply whose request
// began before the boundary stays outside though its number is higher.
func TestS22_WindowBoundary(t *testing.T) {
	turn := func(seq, began int64) Turn { return Turn{Session: "s", Seq: seq, BeganAfter: began} }
	w := Window{Session: "s", Base: 12}
	for _, c := range []struct {
		name string
		w    Window
		t    Turn
		in   bool
	}{
		{"at the base", w, turn(12, 12), false},
		{"first after", w, turn(13, 12), true},
		{"in flight at the mount", w, turn(13, 11), false},
		{"another session", Window{Session: "r", Base: 12}, turn(13, 12), false},
		{"through", Window{Session: "s", Base: 0, Through: 3}, turn(3, 2), true},
		{"beyond", Window{Session: "s", Base: 0, Through: 3}, turn(4, 2), false},
		{"first turn of a session", Window{Session: "s"}, turn(1, 0), true},
	} {
		if got := c.w.Contains(c.t); got != c.in {
			t.Errorf("%s: %v, want %v", c.name, got, c.in)
		}
	}
}

func TestEstimate(t *testing.T) {
	for s, want := range map[string]int{"": 0, "a": 1, "abcd": 1, "abcde": 2, "日本": 2, "ab日": 2, "\xff": 1} {
		if got := Estimate(s); got != want {
			t.Errorf("Estimate(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestReachCovers(t *testing.T) {
	for _, c := range []struct {
		scopes []Scope
		t      TenantID
		sp     SpaceID
		want   bool
	}{
		{[]Scope{SystemScope()}, "a", "x", false}, // the installation is not everybody's rows
		{[]Scope{SystemScope(), TenantScope("a")}, "a", "x", true},
		{[]Scope{TenantScope("a")}, "a", "x", true},
		{[]Scope{TenantScope("a")}, "a", "", true},
		{[]Scope{TenantScope("a")}, "b", "x", false},
		{[]Scope{SpaceScope("a", "x")}, "a", "x", true},
		{[]Scope{SpaceScope("a", "x")}, "a", "y", false},
		{[]Scope{SpaceScope("a", "x")}, "a", "", false},
		{[]Scope{SpaceScope("a", "x")}, "b", "x", false},
		{[]Scope{SpaceScope("a", "x"), SpaceScope("a", "y")}, "a", "y", true},
		{nil, "", "", false},
	} {
		if got := ReachOf(c.scopes).Covers(c.t, c.sp); got != c.want {
			t.Errorf("%v covers %s/%s: %v", c.scopes, c.t, c.sp, got)
		}
	}
}
