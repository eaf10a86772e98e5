package redact

import (
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"
)

// letters are letters alone, of both cases or of one.
func letters(set string, n int) func(maker) string {
	return func(m maker) string { return m.of(set, n) }
}

// forms are ways in which a secret was found to stay; each goes whole, and with
// it at most what is part of the same value.
var forms = []spelling{
	// Letters alone.
	{"password", "DB_PASSWORD=%s", letters(small+big, 22)},
	{"password", "password: %s", letters(small+big, 40)},
	{"password", "password: \"%s\"", letters(small+big, 24)},
	{"password", "my password is %s.", letters(small+big, 24)},
	{"password", "run --password %s now", letters(small+big, 40)},
	{"password", "password: %s", letters(big, 24)},
	{"token", "token: %s", letters(small+big, 32)},
	// Behind escapes.
	{"github-pat", `line\n%s\nend`, after("gh"+"p_", alnum, 36)},
	{"github-pat", `{"a":"x\t%s"}`, after("gh"+"p_", alnum, 36)},
	{"github-pat", `\u0022%s\u0022`, after("gh"+"p_", alnum, 36)},
	{"github-pat", `\u003c%s`, after("gh"+"p_", alnum, 36)},
	{"github-pat", `a=1%%26%s`, after("gh"+"p_", alnum, 36)},
	{"github-pat", "\x1b[32m%s\x1b[0m", after("gh"+"p_", alnum, 36)},
	{"github-pat", "my_%s", after("gh"+"p_", alnum, 36)},
	{"github-pat", "x%s", after("gh"+"p_", alnum, 36)},
	{"aws-access-token", `id%%3D%s`, after("AK"+"IA", big+"234567", 16)},
	{"aws-access-token", `id_%s`, after("AK"+"IA", big+"234567", 16)},
	{"aws-access-token", `id%s`, after("AK"+"IA", big+"234567", 16)},
	{"api-key", `x%%20%s`, after("s"+"k-", alnum, 48)},
	{"api-key", `x_%s`, after("s"+"k-", alnum, 48)},
	{"api-key", `x%s`, after("s"+"k-", alnum, 48)},
	{"api-key", `\n%s`, after("s"+"k-ant-", alnum, 48)},
	{"jwt", `\n%s`, maker.jwt},
	{"jwt", `x%s`, maker.jwt},
	{"jwt", `%%22%s%%22`, maker.jwt},
	{"dhruva-key", `\u003d%s`, after("dh"+"r_live_", alnum, 27)},
	{"dhruva-key", `_%s`, after("dh"+"r_live_", alnum, 27)},
	{"password", `{"a":"{\\\"password\\\":\\\"%s\\\"}"}`, maker.chosen},
	{"password", `{"a":"{\\\\\\\"password\\\\\\\":\\\\\\\"%s\\\\\\\"}"}`, maker.chosen},
	{"password", `&quot;password&quot;:&quot;%s&quot;`, maker.chosen},
	{"password", `db&#95;password=%s`, maker.chosen},
	{"password", `password%%3D%s%%26x=1`, func(m maker) string { return url.QueryEscape(m.chosen()) }},
	{"bearer-token", `Authorization%%3A%%20Bearer%%20%s`, token(32)},
	{"bearer-token", `Authorization=Bearer+%s&a=b`, token(32)},
	{"private-key", "key=%s&x=1", func(m maker) string {
		return strings.ReplaceAll(url.QueryEscape(pemOf("PRIV"+"ATE KEY", m.key(6))), "+", "%20")
	}},
	{"private-key", `{\"key\": \"%s\"}`, func(m maker) string { return strings.ReplaceAll(pemOf("PRIV"+"ATE KEY", m.key(6)), "\n", `\\n`) }},
	{"private-key", "KEY=\"%s\"", func(m maker) string { return strings.ReplaceAll(pemOf("PRIV"+"ATE KEY", m.key(6)), "\n", ` `) }},
	{"private-key", "KEY=%s;", func(m maker) string {
		return html.EscapeString(strings.ReplaceAll(pemOf("PRIV"+"ATE KEY", m.key(6)), "\n", `&#10;`))
	}},
	// What hides within.
	{"password", "password=[redacted:token]%s", maker.chosen},
	{"password", "password: \"[redacted:password]%s\"", maker.chosen},
	{"github-pat", "pat: %s!", func(m maker) string { k := m.token(36); return "gh" + "p_" + k[:9] + "\u200b" + k[9:] }},
	{"github-pat", "pat: %s!", func(m maker) string { k := m.token(36); return "gh" + "p_" + k[:9] + "\u00ad" + k[9:] }},
	{"github-pat", "pat: %s!", func(m maker) string { return "gh" + `p\_` + m.token(36) }},
	{"github-pat", "pat: %s!", func(m maker) string { return wide("gh"+"p_") + m.token(36) }},
	{"github-pat", "pat: %s!", func(m maker) string { return wide("gh" + "p_" + m.token(36)) }},
	{"token", "pat: %s.", func(m maker) string { k := m.token(36); return "gh" + "p_" + k[:20] + "\n" + k[20:] }},
	{"token", "pat: %s.", func(m maker) string { k := m.token(36); return "gh" + "p_" + k[:20] + "\r\n  > " + k[20:] }},
	// Behind what looks like an image.
	{"github-pat", "https://x.io/" + strings.Repeat("abcdefgh01/", 14) + "%s", after("gh"+"p_", alnum, 36)},
	{"api-key", "https://x.io/" + strings.Repeat("abcdefgh01/", 14) + "%s", after("s"+"k-", alnum, 48)},
	{"github-pat", strings.Repeat("abcdefgh01", 14) + "/%s", after("gh"+"p_", alnum, 36)},
	{"aws-access-token", "https://x.io/" + strings.Repeat("abcdefgh01/", 14) + "%s", after("AK"+"IA", big+"234567", 16)},
	// Common forms.
	{"api-key", `req.Header.Set("X-Api-Key","%s")`, token(24)},
	{"api-key", `req.Header.Set("X-Api-Key", "%s")`, token(32)},
	{"api-key", `{"name":"API_KEY","value":"%s"}`, token(24)},
	{"api-key", "env:\n- name: API_KEY\n  value: %s\n", token(24)},
	{"password", "- name: DB_PASSWORD\n  value: \"%s\"\n", maker.chosen},
	{"password", `ds.setPassword("%s")`, maker.chosen},
	{"password", `CREATE USER bob IDENTIFIED BY '%s';`, maker.chosen},
	{"password", `ALTER USER bob IDENTIFIED WITH mysql_native_password BY '%s';`, maker.chosen},
	{"password", `ALTER ROLE bob WITH PASSWORD '%s';`, maker.chosen},
	{"password", "variable \"db_password\" {\n  type    = string\n  default = \"%s\"\n}", maker.chosen},
	{"password", "sshpass -p %s ssh bob@host", maker.chosen},
	{"password", "sshpass -p'%s' ssh bob@host", maker.chosen},
	{"password", "mysql -u root -p%s db", maker.chosen},
	{"password", "mysqldump -p%s db", maker.chosen},
	{"password", "docker login -u bob -p %s registry.example.com", maker.chosen},
	{"password", "redis-cli -h cache -a %s ping", maker.chosen},
	{"password", "machine example.com login bob password %s", maker.chosen},
	{"password", "machine example.com\n  login bob\n  password %s\n", maker.chosen},
	{"url-password", "root:%s@tcp(h:3306)/db", maker.chosen},
	{"password", "password: “%s”", maker.chosen},
	{"password", "password = ‘%s’", maker.chosen},
	{"password", "Password:\n```\n%s\n```\n", maker.chosen},
	{"password", "Password:\n\n```text\n%s\n```\n", maker.chosen},
	{"password", "Kennwort: %s", maker.chosen},
	{"password", "Mein Kennwort ist %s", maker.chosen},
	{"password", "contraseña: %s", maker.chosen},
	{"password", "la contraseña es %s", maker.chosen},
	{"password", "mot de passe : %s", maker.chosen},
	{"password", "密码：%s", maker.chosen},
	{"password", "密码是%s", maker.chosen},
	{"password", "Пароль: %s", maker.chosen},
	{"password", "पासवर्ड: %s", maker.chosen},
	// Words for what is no secret, within one.
	{"password", "password=%s", func(m maker) string { return m.chosen() + "your" + m.of(digit, 2) }},
	{"token", "token=%s", func(m maker) string { return m.token(16) + "todo" + m.token(8) }},
	{"api-key", "api_key: %s", func(m maker) string { return m.token(12) + "Example" + m.token(12) }},
	{"github-pat", "%s", func(m maker) string { return "gh" + "p_" + m.token(31) + "false" }},
}

// wide writes ASCII in full width.
func wide(s string) string {
	return strings.Map(func(r rune) rune { return r + 0xFEE0 }, s)
}

func TestForms(t *testing.T) {
	r, m := New(), newMaker(21)
	for _, s := range forms {
		missed, last := 0, ""
		for range 50 {
			secret := s.secret(m)
			text := fmt.Sprintf(s.text, secret)
			got := holds(t, r, text)
			for _, part := range strings.FieldsFunc(secret, func(r rune) bool { return r == '\n' || r == ' ' || r == '>' }) {
				if len(part) > 5 && strings.Contains(got, part) {
					missed, last = missed+1, text+"\n"+got
					break
				}
			}
		}
		if missed > 2 { // of what chance makes, some looks like words
			t.Errorf("%s %q: %d of 50 stay:\n%s", s.kind, s.text, missed, last)
		}
	}
	t.Logf("%d forms", len(forms))
}

// Half a key beside a placeholder is found.
func TestHalfAKeyBesideAPlaceholder(t *testing.T) {
	r := New()
	for _, text := range []string{"gh" + "p_16C7e42F2[redacted:token]92c6912E7710c838347Ae178B4a", "gh" + "p_16C7e42F2[redacted:token] and", "[redacted:github-pat]92c6912E77"} {
		got := holds(t, r, text)
		if strings.Contains(got, "92c6") || strings.Contains(got, "42F2") {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// Words and names of things beside what was made stricter stay.
func TestNamesOfThingsStay(t *testing.T) {
	r := New()
	for _, text := range []string{
		"password: PasswordResetService", "password = newPasswordEncoder", "MAX_PASSWORD_LENGTH = MINIMUM_LENGTH", "password: REQUIRED", "PASSWORD=AuthenticationManagerBuilder",
		"PrivateKey: \"ABCDEFGHIJKLMNOPQRSTUVWXYZ\"", "password: \"getUserByIDFromHTTPRequest\"", "my password is ridiculousUnfortunately", "--password ask", "password: CONFIDENTIAL", "token: HTTPServletRequestWrapper",
		"form.Set(\"password\", \"confirmation\")", "hashPassword(plaintext)", `setPassword(user.Password)`, `get("token", "default-value")`, `[]string{"password", "username", "remember_me"}`,
		"docker run -p 8080:80 nginx", "docker run -p 127.0.0.1:8080:80/tcp image", "mysql -u root -p db", "sshpass -p $PASS ssh host", "redis-cli -a $REDIS_PASSWORD ping", "unzip -P",
		"a user is identified by \"name\" and IDENTIFIED BY '$1'", "name: API_KEY\nvalueFrom:\n  secretKeyRef:\n    name: api\n", "variable \"db_password\" {\n  type = string\n  sensitive = true\n}",
		"name: password\nvalue: ${PASSWORD}\n", "password:\n```go\nfunc main() {}\n```", "Kennwort: vergessen?", "el contraseña es necesaria", "task-7f3a9b2c1d4e5f60718293a4b5c6d7e8", "disk-0123456789abcdef0123456789abcdef",
		"C:\\new\\tokens\\table", `fmt.Printf("token:\t%s\n", token)`, "100%25 sure", "&lt;password&gt;", "[redacted:password]s are not stored, see [redacted:token].", "SECRET_KEY=your-secret-key-goes-here1",
		"password=<your password>", "token = \"my-example-token\"", "replace_me_todo", "https://u:[redacted:url-password]@host.example.com:5432/db1?x=1",
	} {
		if got, found := r.Redact(text); got != text || found != nil {
			t.Errorf("%v: %q becomes %q", found, text, got)
		}
	}
}

// How many passwords of letters alone stay, because chance made them look like
// words.
func TestLettersAlone(t *testing.T) {
	r, m := New(), newMaker(31)
	for _, set := range []struct {
		name, of string
		most     float64
	}{{"both cases", small + big, 5}, {"capitals", big, 6}} {
		for _, n := range []int{16, 20, 32} {
			stays := 0
			for range 2000 {
				if _, found := r.Redact("password=" + m.of(set.of, n)); found == nil {
					stays++
				}
			}
			share := float64(stays) / 20
			t.Logf("%s, %d letters: %.2f %% stay", set.name, n, share)
			if n >= 20 && share > set.most {
				t.Errorf("%s, %d letters: %.2f %% stay", set.name, n, share)
			}
		}
	}
}
