package auth_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
)

// claim is Credentials with the text in the open, for comparison.
type claim struct {
	Key         string
	PassThrough bool
}

const (
	keyA  = "dhr_live_AAAAAAAAAAAAAAAAAAAAAAAAAAA000000"
	keyB  = "dhr_live_BBBBBBBBBBBBBBBBBBBBBBBBBBB000000"
	ours  = "X-Dhruva-Key"
	xkey  = "x-api-key"
	authz = "Authorization"
)

// CVE-2026-45339: x-api-key skipped the restrictions of the other header. There
// is one extractor, and this is its matrix.
func TestCVE2026_45339_HeaderMatrix(t *testing.T) {
	none, bad, unknown := claim{}, dhruva.ErrInvalid, dhruva.ErrUnauthenticated
	for _, c := range []struct {
		name    string
		headers []string // name, value, name, value, …
		want    claim
		err     error
	}{
		{"nothing", nil, none, nil},
		{"bearer", []string{authz, "Bearer " + keyA}, claim{keyA, false}, nil},
		{"bearer in another case", []string{authz, "bEARER " + keyA}, claim{keyA, false}, nil},
		{"header in another case", []string{"AUTHORIZATION", "Bearer " + keyA}, claim{keyA, false}, nil},
		{"two spaces", []string{authz, "Bearer  " + keyA}, claim{keyA, false}, nil},
		{"x-api-key", []string{xkey, keyA}, claim{keyA, false}, nil},
		{"X-API-KEY", []string{"X-API-KEY", keyA}, claim{keyA, false}, nil},
		{"blanks around", []string{xkey, " " + keyA + "\t"}, claim{keyA, false}, nil},
		{"empty x-api-key", []string{xkey, ""}, none, nil},
		{"empty beside bearer", []string{xkey, "", authz, "Bearer " + keyA}, claim{keyA, false}, nil},
		{"the same twice over", []string{xkey, keyA, authz, "Bearer " + keyA}, claim{keyA, false}, nil},
		{"two different", []string{xkey, keyA, authz, "Bearer " + keyB}, none, bad},
		{"ours and a provider's without X-Dhruva-Key", []string{xkey, "sk-ant-1", authz, "Bearer " + keyA}, none, bad},
		{"bearer sent twice", []string{authz, "Bearer " + keyA, authz, "Bearer " + keyA}, none, bad},
		{"x-api-key sent twice", []string{xkey, keyA, "X-Api-Key", keyB}, none, bad},
		{"x-api-key sent twice, once empty", []string{xkey, "", xkey, keyB}, none, bad},
		{"X-Dhruva-Key sent twice", []string{ours, keyA, "x-dhruva-key", keyA}, none, bad},
		{"list in one header", []string{authz, "Bearer " + keyA + ", Bearer " + keyB}, none, bad},
		{"list in x-api-key", []string{xkey, keyA + "," + keyB}, none, bad},
		{"two words", []string{xkey, keyA + " " + keyB}, none, bad},
		{"not ASCII", []string{xkey, "dhr_live_é"}, none, bad},
		{"too long", []string{xkey, strings.Repeat("a", 4097)}, none, bad},
		{"basic", []string{authz, "Basic dTpw"}, none, unknown},
		{"basic beside x-api-key", []string{authz, "Basic dTpw", xkey, keyA}, none, unknown},
		{"scheme alone", []string{authz, "Bearer"}, none, unknown},
		{"scheme and blank", []string{authz, "Bearer "}, none, unknown},
		{"no scheme", []string{authz, keyA}, none, unknown},
		{"tab for space", []string{authz, "Bearer\t" + keyA}, none, unknown},

		{"ours alone", []string{ours, keyA}, claim{keyA, false}, nil},
		{"ours and a provider's bearer", []string{ours, keyA, authz, "Bearer sk-1"}, claim{keyA, true}, nil},
		{"ours and a provider's x-api-key", []string{ours, keyA, xkey, "sk-ant-1"}, claim{keyA, true}, nil},
		{"ours and two of the provider's", []string{ours, keyA, xkey, "sk-ant-1", authz, "Bearer sk-ant-oat-2"}, claim{keyA, true}, nil},
		{"ours and basic for the provider", []string{ours, keyA, authz, "Basic dTpw"}, claim{keyA, true}, nil},
		{"ours repeated in bearer", []string{ours, keyA, authz, "Bearer " + keyA}, claim{keyA, false}, nil},
		{"ours repeated in both", []string{ours, keyA, authz, "Bearer " + keyA, xkey, keyA}, claim{keyA, false}, nil},
		{"ours and another of ours", []string{ours, keyA, authz, "Bearer " + keyB}, none, bad},
		{"ours and another of ours in x-api-key", []string{ours, keyA, xkey, keyB}, none, bad},
		{"ours and another of ours without a scheme", []string{ours, keyA, authz, keyB}, none, bad},
		{"ours repeated beside a provider's", []string{ours, keyA, xkey, keyA, authz, "Bearer sk-1"}, none, bad},
		{"ours and a doubled x-api-key", []string{ours, keyA, xkey, "sk-1", xkey, "sk-2"}, none, bad},
		{"ours empty", []string{ours, "", authz, "Bearer " + keyA}, claim{keyA, false}, nil},

		{"cookie", []string{"Cookie", "key=" + keyA + "; Authorization=" + keyA}, none, nil},
		{"proxy authorization", []string{"Proxy-Authorization", "Bearer " + keyA}, none, nil},
		{"underscores", []string{"X_Api_Key", keyA, "X_Dhruva_Key", keyA}, none, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/v1/messages?key="+keyB+"&api_key="+keyB+"&access_token="+keyB, nil)
			for i := 0; i < len(c.headers); i += 2 {
				r.Header.Add(c.headers[i], c.headers[i+1])
			}
			got, err := auth.Credential(r)
			if c.err == nil && err != nil || c.err != nil && !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if diff := cmp.Diff(c.want, claim{got.Key.Reveal(), got.PassThrough}); diff != "" {
				t.Errorf("credentials (-want +got):\n%s", diff)
			}
			if err != nil && (strings.Contains(err.Error(), "AAAA") || strings.Contains(err.Error(), "sk-")) {
				t.Errorf("the error shows a credential: %v", err)
			}
		})
	}
}

// The extractor never panics, and never hands out a key that stands in none of
// the three headers or has a shape that a header or a log line could be cut by.
func FuzzCredential(f *testing.F) {
	f.Add("Bearer "+keyA, "", "")
	f.Add("Bearer sk-1", "sk-2", keyA)
	f.Add(" bearer\t", ",", "\x7f")
	f.Fuzz(func(t *testing.T, authorization, apiKey, own string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header = http.Header{authz: {authorization}, "X-Api-Key": {apiKey}, ours: {own}}
		got, err := auth.Credential(r)
		if err != nil {
			if !errors.Is(err, dhruva.ErrInvalid) && !errors.Is(err, dhruva.ErrUnauthenticated) || !got.Key.IsZero() {
				t.Fatalf("%v with key %v", err, !got.Key.IsZero())
			}
			return
		}
		key := got.Key.Reveal()
		if strings.ContainsAny(key, " \t\r\n,\x00") || !strings.Contains(authorization+"\n"+apiKey+"\n"+own, key) {
			t.Fatalf("key %q from %q %q %q", key, authorization, apiKey, own)
		}
		if got.PassThrough && key != strings.Trim(own, " \t") {
			t.Fatalf("passed through beside %q, which is not X-Dhruva-Key", key)
		}
	})
}
