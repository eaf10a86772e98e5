package redact

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const (
	digit     = "0123456789"
	small     = "abcdefghijklmnopqrstuvwxyz"
	big       = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	hex       = digit + "abcdef"
	alnum     = digit + small + big
	base64url = alnum + "-_"
)

func (m maker) of(set string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = set[m.IntN(len(set))]
	}
	return string(b)
}

// token is letters and digits, some of each.
func (m maker) token(n int) string {
	for {
		s := m.of(alnum, n)
		if p := profileOf(s); p.digits > 1 && p.letters > 2 && p.turns > 4 {
			return s
		}
	}
}

// chosen is a password as people choose them.
func (m maker) chosen() string {
	return m.of(big, 1) + m.of(small, 5) + m.of(digit, 2) + m.of("!#%*+=?@", 1)
}

func (m maker) base64(n int) string {
	return base64.StdEncoding.EncodeToString([]byte(m.of(alnum+"\x01\xfe\x7f\x80", n)))
}

func (m maker) jwt() string {
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	return part(`{"alg":"HS256","typ":"JWT"}`) + "." + part(`{"sub":"`+m.of(digit, 10)+`","iat":1700000000}`) + "." + m.of(base64url, 43)
}

// key is the body of a private key, in lines.
func (m maker) key(lines int) string {
	var out []string
	for range lines {
		out = append(out, m.token(64))
	}
	return strings.Join(append(out, m.token(22)+"=="), "\n")
}

func pemOf(label, body string) string {
	return "-----BEGIN " + label + "-----\n" + body + "\n-----END " + label + "-----"
}

// spelling is a way in which a secret stands in a text; %s is the secret.
type spelling struct {
	kind   string
	text   string
	secret func(m maker) string
}

func after(mark, set string, n int) func(maker) string {
	return func(m maker) string {
		for {
			if s := m.of(set, n); profileOf(s).digits > 1 && profileOf(s).letters > 1 && profileOf(s).turns > 3 {
				return mark + s
			}
		}
	}
}

func token(n int) func(maker) string { return func(m maker) string { return m.token(n) } }

var spellings = []spelling{
	{"aws-access-token", "the id is %s, and it works", after("AK"+"IA", big+"234567", 16)},
	{"aws-access-token", "AWS_ACCESS_KEY_ID=%s", after("AS"+"IA", big+"234567", 16)},
	{"api-key", "AWS_SECRET_ACCESS_KEY=%s", func(m maker) string { return m.token(20) + "/" + m.token(19) }},
	{"api-key", "aws_secret_access_key = %s\nregion = eu-west-1", func(m maker) string { return m.token(25) + "+" + m.token(14) }},
	{"github-pat", "git clone https://%s@github.com/a/b", after("gh"+"p_", alnum, 36)},
	{"github-pat", "my token: %s.", after("gh"+"p_", alnum, 36)},
	{"github-fine-grained-pat", "export GH=%s", after("github_"+"pat_", alnum, 82)},
	{"github-app-token", "x-access-token %s", after("gh"+"s_", alnum, 36)},
	{"gitlab-pat", "glab auth login -t %s", after("gl"+"pat-", alnum, 20)},
	{"slack-bot-token", "SLACK=%s", func(m maker) string {
		return "xo" + "xb-" + m.of(digit, 12) + "-" + m.of(digit, 12) + "-" + m.token(24)
	}},
	{"slack-webhook-url", "post it to %s", func(m maker) string {
		return "https://hooks.sl" + "ack.com/services/T" + m.token(8) + "/B" + m.token(10) + "/" + m.token(24)
	}},
	{"gcp-api-key", "maps?key=%s&q=x", after("AI"+"za", base64url, 35)},
	{"google-client-secret", `"client_secret":"%s"`, after("GOC"+"SPX-", base64url, 28)},
	{"google-access-token", "gcloud says %s", after("ya"+"29.", base64url, 120)},
	{"stripe-access-token", "stripe.api_key = '%s'", after("sk"+"_live_", alnum, 24)},
	{"stripe-webhook-secret", "endpoint %s (hook)", after("wh"+"sec_", alnum, 32)},
	{"openai-api-key", "OPENAI_API_KEY=%s", func(m maker) string { return "s" + "k-proj-" + m.token(74) + "T3Blbk" + "FJ" + m.token(74) }},
	{"api-key", "use %s for the model", after("s"+"k-", alnum, 48)},
	{"anthropic-api-key", "ANTHROPIC_API_KEY='%s'", func(m maker) string { return "s" + "k-ant-" + "api03-" + m.token(93) + "AA" }},
	{"groq-api-key", "the key (%s) expires", after("gs"+"k_", alnum, 52)},
	{"xai-api-key", "xai: %s", after("x"+"ai-", alnum, 80)},
	{"huggingface-access-token", "huggingface-cli login --token %s", func(m maker) string { return "h" + "f_" + m.of(small+big, 34) }},
	{"replicate-api-token", "REPLICATE=%s", after("r"+"8_", alnum, 37)},
	{"npm-access-token", "//registry.example/:_authToken=%s", after("np"+"m_", alnum, 36)},
	{"docker-pat", "docker login -u me -p %s", after("dckr_"+"pat_", alnum, 27)},
	{"sendgrid-api-token", "mail with %s today", func(m maker) string { return "S" + "G." + m.token(22) + "." + m.token(43) }},
	{"twilio-api-key", "twilio %s", after("S"+"K", hex, 32)},
	{"databricks-api-token", "DATABRICKS=%s", after("da"+"pi", hex, 32)},
	{"digitalocean-pat", "doctl auth init -t %s", after("do"+"p_v1_", hex, 64)},
	{"shopify-access-token", "shop %s", after("sh"+"pat_", hex, 32)},
	{"tailscale-key", "tailscale up --authkey %s", after("ts"+"key-auth-", alnum, 30)},
	{"dhruva-key", "X-Dhruva-Key: %s", after("dhr_"+"live_", alnum, 33)},
	{"dhruva-key", "I use %s with it", after("dhr_"+"test_", alnum, 33)},
	{"jwt", "eval %s now", maker.jwt},
	{"jwt", "document.cookie = 'id=%s'", maker.jwt},
	{"jwt", "Authorization: Bearer %s", maker.jwt},
	{"bearer-token", "curl -H 'Authorization: Bearer %s' https://api.example.com", token(24)},
	{"bearer-token", "Bearer %s", token(32)},
	{"basic-auth", "Authorization: Basic %s", func(m maker) string { return base64.StdEncoding.EncodeToString([]byte("admin:" + m.chosen())) }},
	{"token", "Authorization: token %s", token(40)},
	{"url-password", "DATABASE_URL=postgres://app:%s@db.example.com:5432/app", maker.chosen},
	{"url-password", "redis://:%s@10.0.0.5:6379/0", token(16)},
	{"url-password", "mongodb+srv://me:%s@cluster0.example.net/?retryWrites=true", maker.chosen},
	{"url-password", "amqp://guest:%s@rabbit.internal:5672", func(m maker) string { return m.of(small, 4) + "/" + m.of(digit, 3) + "@" + m.of(small, 3) }},
	{"password", "Server=db;Database=x;User Id=sa;Password=%s;Encrypt=true", maker.chosen},
	{"api-key", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=%s;EndpointSuffix=core", func(m maker) string { return m.token(86) + "==" }},
	{"api-key", "Endpoint=sb://x.example.net/;SharedAccessKeyName=r;SharedAccessKey=%s", func(m maker) string { return m.token(43) + "=" }},
	{"password", "password: %s", maker.chosen},
	{"password", "DB_PASSWORD=%s", maker.chosen},
	{"password", `{"user": "bob", "password": "%s"}`, maker.chosen},
	{"password", "my password is %s, please keep it", maker.chosen},
	{"password", "The new wifi password was %s.", maker.chosen},
	{"password", "**Password:** `%s`", maker.chosen},
	{"password", "<password>%s</password>", maker.chosen},
	{"password", "mysql --user root --password %s", maker.chosen},
	{"password", "| Password | %s |", maker.chosen},
	{"password", "login: bob\npasswd: %s\n", maker.chosen},
	{"password", "$env:ADMIN_PWD = \"%s\"", maker.chosen},
	{"password", "password:\n  %s\n", maker.chosen},
	{"password", "spring.datasource.password=%s", maker.chosen},
	{"password", "userPassword := \"%s\"", maker.chosen},
	{"password", "set PGPASSWORD=%s", maker.chosen},
	{"password", "password: %s", func(m maker) string { return "sword" + "fish" }},
	{"password", `passphrase = "%s"`, func(m maker) string { return m.of(small, 5) + " " + m.of(small, 6) + " " + m.of(small, 4) }},
	{"secret", "client_secret=%s&grant_type=x", token(32)},
	{"secret", "JWT_SECRET=\"%s\"", token(40)},
	{"secret", "  clientSecret: '%s',", token(24)},
	{"token", "https://api.example.com/v1?access_token=%s&page=2", token(30)},
	{"token", "config.token = %s", token(30)},
	{"token", "the token is %s for now", token(24)},
	{"token", `{\"refresh_token\": \"%s\"}`, token(40)},
	{"api-key", "X-Api-Key: %s", token(32)},
	{"api-key", "my API key is %s", token(32)},
	{"api-key", "api_key => \"%s\"", func(m maker) string { return m.of(hex, 30) + "1a" }},
	{"api-key", "encryptionKey: %s", func(m maker) string { return m.base64(32) }},
	{"cookie", "Cookie: theme=dark; sessionid=%s; x=1", token(32)},
	{"cookie", "Set-Cookie: sid=%s; Path=/; HttpOnly", token(40)},
	{"curl-auth-user", "curl -u bob:%s https://x.example.com", maker.chosen},
	{"curl-auth-user", "curl -s \\\n  --user 'bob:%s' \\\n  https://x.example.com", maker.chosen},
	{"token", "curl --header \"X-Auth-Token: %s\" https://x.example.com", token(20)},
	{"private-key", "%s\nThat is all.", func(m maker) string { return pemOf("RSA PRIV"+"ATE KEY", m.key(20)) }},
	{"private-key", "here:\n%s", func(m maker) string { return pemOf("OPENSSH PRIV"+"ATE KEY", m.key(8)) }},
	{"private-key", "%s\n\nThank you!", func(m maker) string { return "-----BEGIN EC PRIV" + "ATE KEY-----\n" + m.key(3) }},
	{"private-key", "{\"key\": \"%s\\n\", \"x\": 1}", func(m maker) string { return strings.ReplaceAll(pemOf("PRIV"+"ATE KEY", m.key(12)), "\n", `\n`) }},
	{"private-key", "> %s\n> done", func(m maker) string {
		return strings.ReplaceAll(pemOf("ENCRYPTED PRIV"+"ATE KEY", m.key(5)), "\n", "\n> ")
	}},
	{"private-key", "    %s\n", func(m maker) string {
		return strings.ReplaceAll(pemOf("DSA PRIV"+"ATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,"+m.of(hex, 32)+"\n\n"+m.key(6)), "\n", "\n    ")
	}},
	{"private-key", "…\n%s\nand so on", func(m maker) string { return m.key(4) + "\n-----END RSA PRIV" + "ATE KEY-----" }},
	{"age-secret-key", "age: %s", after("AGE-SECRET-"+"KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)},
	{"telegram-bot-token", "bot %s runs", func(m maker) string { return m.of("123456789", 10) + ":AA" + m.token(33) }},
	{"token", "DISCORD_TOKEN=%s", func(m maker) string { return "M" + m.token(23) + "." + m.token(6) + "." + m.token(27) }},
}

// Every spelling is found as the kind that it is, whole, and nothing but it goes.
func TestSpellings(t *testing.T) {
	r, m := New(), newMaker(3)
	var kinds []string
	for _, s := range spellings {
		kinds = append(kinds, s.kind)
		for range 50 {
			secret := s.secret(m)
			text := fmt.Sprintf(s.text, secret)
			got, found := r.Redact(text)
			if want := fmt.Sprintf(s.text, Placeholder(s.kind)); got != want {
				t.Errorf("%s:\n%s\n%s, want\n%s (%v)", s.kind, text, got, want, found)
				break
			}
			if Total(found) != 1 || found[0].Kind != s.kind {
				t.Errorf("%s: found %v", s.kind, found)
			}
		}
	}
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	t.Logf("%d spellings of %d kinds", len(spellings), len(kinds))
	if len(spellings) < 60 || len(kinds) < 25 {
		t.Errorf("%d spellings of %d kinds", len(spellings), len(kinds))
	}
}
