package auth_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/dhruva-memory/dhruva/auth"
)

// holders are all values of this package that hold secret material, in the
// shapes in which a careless line of code might print them.
func holders(s auth.Secret) map[string]any {
	creds := auth.Credentials{Key: s, PassThrough: true}
	return map[string]any{
		"Secret": s, "*Secret": &s, "[]Secret": []auth.Secret{s}, "map": map[string]auth.Secret{"k": s}, "map key": map[auth.Secret]int{s: 1},
		"Credentials": creds, "*Credentials": &creds, "[]Credentials": []auth.Credentials{creds},
		"struct": struct{ Key auth.Secret }{s}, "interface": struct{ V any }{creds},
		"unexported": struct{ key auth.Secret }{s}, "deep": struct{ c []auth.Credentials }{[]auth.Credentials{creds}},
	}
}

var verbs = []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10s", "%t", "%p", "%c", "%U"}

func renderings(v any) []string {
	var out []string
	for _, verb := range verbs {
		out = append(out, fmt.Sprintf(verb, v))
	}
	out = append(out, fmt.Sprint(v), fmt.Errorf("wrapped: %v", v).Error())
	if b, err := json.Marshal(v); err == nil {
		out = append(out, string(b))
	}
	if b, err := xml.Marshal(v); err == nil {
		out = append(out, string(b))
	}
	var log bytes.Buffer
	for _, h := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
		slog.New(h).Info("m", "v", v, slog.Group("g", "v", v))
	}
	return append(out, log.String())
}

// spellings are the forms in which a text might leak.
func spellings(s string) []string {
	return []string{s, fmt.Sprintf("%x", s), fmt.Sprintf("%X", s), fmt.Sprintf("%q", s)}
}

func leaks(t *testing.T, name string, v any, secret string) {
	t.Helper()
	for _, text := range renderings(v) {
		for _, spelling := range spellings(secret) {
			if strings.Contains(text, spelling) {
				t.Errorf("%s shows the secret: %.200s", name, text)
			}
		}
	}
}

func TestSecretsDoNotShowThemselves(t *testing.T) {
	secret := auth.GenerateKey(auth.Live)
	for name, v := range holders(secret) {
		leaks(t, name, v, secret.Reveal())
	}
	if secret.Reveal() == secret.String() {
		t.Error("Reveal does not reveal")
	}
}

func TestKeyringDoesNotShowItsKeys(t *testing.T) {
	material := seed(0xAB)
	k := auth.NewKeyring(material)
	for name, v := range map[string]any{
		"*Keyring": k, "Keyring": *k, "Keys": struct{ K *auth.Keyring }{k}, "*Keys": &auth.Keys{Keyring: k}, "[]": []*auth.Keyring{k},
	} {
		for _, text := range renderings(v) {
			if strings.Contains(text, "prk") || strings.Contains(text, "macs") || strings.Contains(text, "171 171") {
				t.Errorf("%s shows its insides: %.200s", name, text)
			}
		}
	}
}

func FuzzSecretRedacts(f *testing.F) {
	f.Add("dhr_live_something")
	f.Add("%!s(BADINDEX)")
	f.Add("\x00\xff long enough")
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) < 12 || strings.Contains("[redacted]", s) {
			t.Skip("too short to tell a leak from chance")
		}
		marked := "canary " + s
		for name, v := range holders(auth.NewSecret(marked)) {
			leaks(t, name, v, marked)
		}
	})
}

func TestSecretReadsText(t *testing.T) {
	var config struct{ APIKey auth.Secret }
	if err := json.Unmarshal([]byte(`{"APIKey":"sk-1"}`), &config); err != nil || config.APIKey.Reveal() != "sk-1" {
		t.Errorf("Unmarshal: %q, %v", config.APIKey.Reveal(), err)
	}
	if !(auth.Secret{}).IsZero() || !auth.NewSecret("").IsZero() || auth.NewSecret("x").IsZero() || (auth.Secret{}).Reveal() != "" {
		t.Error("the zero Secret is not the empty one")
	}
}
