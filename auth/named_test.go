package auth_test

import (
	"strings"
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
)

// A key whose name or provider looks like a secret is refused, and the answer
// does not repeat it; a provider's name is a label.
func TestNamesOfKeysHoldNoSecrets(t *testing.T) {
	r := newRig(t)
	r.Keys.Redact = func(s string) (string, int) { return s, strings.Count(s, "hush") }
	for _, in := range []auth.KeyInput{{Name: "my hush key"}, {Name: "k", Provider: "hush"}, {Name: "k", Provider: "two words"}, {Name: "k", Provider: strings.Repeat("a", 65)}, {Name: "k", Provider: "a\nb"}} {
		in.Scopes = []dhruva.KeyScope{dhruva.StateRead}
		for _, keys := range []*auth.Keys{r.Keys, r.Over(r.store)} {
			_, _, err := keys.Create(owner(), in)
			if err == nil || !strings.Contains(err.Error(), dhruva.ErrInvalid.Error()) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%+v: %v", in, err)
			}
		}
	}
	if _, _, err := r.Keys.Create(owner(), auth.KeyInput{Name: "plain", Provider: "openai", Scopes: []dhruva.KeyScope{dhruva.StateRead}}); err != nil {
		t.Error(err)
	}
}
