package recall

import "testing"

// FuzzUnpack: no payload panics, and what unpacks packs to the same bytes.
func FuzzUnpack(f *testing.F) {
	f.Add(sealed{space: "s", source: "i", generation: 1, expires: 2, span: span{start: 3, end: 4}}.pack())
	f.Add([]byte{})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		v, ok := unpack(b)
		if !ok {
			return
		}
		again, ok := unpack(v.pack())
		if !ok || again != v || len(v.pack()) > len(b) {
			t.Errorf("%x unpacks to %+v, which packs to %x", b, v, v.pack())
		}
	})
}

func TestSeatedNearRepeats(t *testing.T) {
	seats := []string{plain("My dog is called Biscuit.")}
	for said, want := range map[string]bool{
		"my dog is called Biscuit":       true,
		"Echo: My dog is called Biscuit": true,
		"is called":                      true,
		"My dog is called Biscuit and he is allergic to chicken and rice": false,
		"My dog is called Rusk.": false,
	} {
		if got := seated(seats, plain(said)); got != want {
			t.Errorf("%q: %v", said, got)
		}
	}
}
