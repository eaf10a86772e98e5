package redact

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// What looks like a secret and is none stays, byte for byte.
func TestOrdinaryTextStays(t *testing.T) {
	r, m := New(), newMaker(5)
	image := base64.StdEncoding.EncodeToString([]byte(m.of("\x00\x01\xfe\xffEAAAsk-abcABC019+/", 6000)))
	uuid := func() string {
		return m.of(hex, 8) + "-" + m.of(hex, 4) + "-4" + m.of(hex, 3) + "-a" + m.of(hex, 3) + "-" + m.of(hex, 12)
	}
	for _, text := range []string{
		"",
		"commit " + m.of(hex, 40) + "\nAuthor: Ana <ana@example.com>\n\n    fix the parser",
		"git checkout " + m.of(hex, 7) + " && git rebase " + m.of(hex, 40),
		"session " + uuid() + " of space " + uuid(),
		`{"id": "` + uuid() + `", "request_id": "req_` + m.of(hex, 24) + `"}`,
		"checkpoint " + m.of(hex, 64) + " follows " + m.of(hex, 64),
		"source " + m.of(small+"234567", 32) + " is held",
		"sha256:" + m.of(hex, 64) + "  dhruva-linux-amd64",
		"image: registry.example.com/app@sha256:" + m.of(hex, 64),
		"h1:" + m.base64(32) + "\ngithub.com/a/b v1.2.3/go.mod h1:" + m.base64(32),
		"![x](data:image/png;base64," + image + ")",
		"etag: \"" + m.of(hex, 32) + "\"",
		"/usr/share/doc/passwd/README.Debian and ~/.ssh/id_ed25519.pub, C:\\Users\\bob\\secrets.txt",
		"secret: /run/secrets/db_password",
		"password_file=/run/secrets/db-password-2024.txt",
		"v1.22.3-rc.1+build.2024, go1.26.0, 10.0.19045.3448",
		"const token = await getToken(user.id)",
		"password := os.Getenv(\"DB_PASSWORD\")",
		"api_key = config.get('api_key')",
		"if password != expectedPassword { return errWrongPassword }",
		"func (s *Server) authenticate(token string, secret []byte) (Principal, error)",
		"type Config struct {\n\tPassword string `yaml:\"password\"`\n\tToken    Secret `json:\"token\"`\n}",
		"password: ${DB_PASSWORD}\ntoken: {{ vault.token }}\nsecret: $SECRET\napi_key: <your-api-key>\n",
		"password: ********, token=xxxxxxxxxxxx, api_key: \"YOUR_API_KEY\"",
		"SECRET_KEY = 'your-secret-key-here'",
		"max_tokens: 4096\ntoken_type: bearer\nkey: value\nprimary_key: 12345678\n",
		"The password is required. The token is invalid. My secret is safe with you.",
		"Enter your password: then press the key to continue.",
		"the keyboard, a monkey, an author, the authorities: all pass the basic test",
		"He said: \"the secret: never give up\", and the key = hard work.",
		"LinkedIn, professionally; Twitter, communication; Dropbox, characteristics",
		"Bearer of bad news, basic understanding, a cookie: chocolate=yes",
		"https://example.com:8080/@user/path?key=value#section and mailto:bob@example.com",
		"ssh://git@github.com/a/b.git and https://bob@example.com/",
		"postgres://user:password@localhost/db",
		"Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
		"пароль: неизвестен, パスワード: 不明, 密码是什么?, κωδικός: άγνωστος",
		"นี่คือข้อความภาษาไทยที่ยาวมากและไม่มีช่องว่างเลยแม้แต่น้อย",
		"-----BEGIN CERTIFICATE-----\n" + m.key(12) + "\n-----END CERTIFICATE-----",
		"ssh-ed25519 " + m.base64(48) + " ana@laptop",
		"-----BEGIN PUBLIC KEY-----\n" + m.key(4) + "\n-----END PUBLIC KEY-----",
		"base64Encode(sha256Sum(utf8Bytes)), getUserById2, x86_64-unknown-linux-gnu",
		"the meeting is at 10:30 on 2024-05-06, call +44 20 7946 0958",
		"token count: 1234567, password length: 16, secret santa: 24 December",
		strings.Repeat("curl -X POST https://api.example.com/v1/items -H 'Content-Type: application/json' -d '{}'\n", 3000),
		strings.Repeat("kind: Secret\nmetadata:\n  name: x\n---\nkind: ConfigMap\ndata:\n  a: b\n", 1000),
		strings.Repeat("We use Discord, Twitter, Facebook, LinkedIn and Dropbox; the password: is it a key? ", 2000),
		"pass to `function` what it parsed; (cd .. && pwd):/build; /key|token|secret|password|passwd|auth/; a == password || (b = c9d8e7f6g5h4)",
		"function pbkdf2(password: Uint8Array, token: CachedX509Token, credential: X509Credential | undefined)",
		"if !s.ReadUint16LengthPrefixed(&x) || f.pass = &emptyPass; pass := !isEmpty(object)",
		"user= password= port= database=, Credential=AKID/20210101/us-east-1/s3/aws4_request, SIGNATURE = 0xfade0cc0",
		"private key is *ed25519.PrivateKey; sig = &c.memoryWait32Sig; exports.assertOwnsAuthorization = assertOwnsAuthorization",
		"--- PASS: TestRedact/case#01 (0.00s)\nPASS\nok  \texample.com/a/b\t0.01s\n=== RUN   TestX/y_2\nPASS: 12 of 12",
		"[redacted:password] and [redacted:aws-access-token] stay as they are",
		"password=[redacted:password]&x=1",
	} {
		if got, found := r.Redact(text); got != text || found != nil {
			t.Errorf("changed (%v):\n%.300s\n%.300s", found, text, got)
		}
	}
}

// Our own code holds no secret, and code is much of what is said.
func TestOurOwnCodeStays(t *testing.T) {
	r, files := New(), 0
	for _, glob := range []string{"../*.go", "../*/*.go", "../*/*/*.go", "../docs/*.md", "../*.md", "../go.sum"} {
		paths, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files++
			if got, found := r.Redact(string(text)); got != string(text) {
				at := 0
				for at < len(got) && got[at] == text[at] {
					at++
				}
				t.Errorf("%s: %v: %.80s", path, found, got[max(0, at-20):])
			}
		}
	}
	if files < 100 {
		t.Errorf("only %d files were read", files)
	}
}

// A placeholder of no known kind hides nothing.
func TestAFalsePlaceholderHidesNothing(t *testing.T) {
	r, m := New(), newMaker(7)
	secret := "gh" + "p_" + m.token(36)
	for _, text := range []string{"[redacted:" + secret + "]", "[redacted:x" + secret + "]", "password=[redacted:none]" + m.chosen(), "token: [redacted:" + m.token(30) + "]"} {
		got, found := r.Redact(text)
		if len(found) == 0 || strings.Contains(got, secret) {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// Several secrets of one text are counted by kind.
func TestFindingsAreCounted(t *testing.T) {
	m := newMaker(9)
	text := fmt.Sprintf("password: %s\npassword: %s\ntoken: %s\n", m.chosen(), m.chosen(), m.token(30))
	got, found := New().Redact(text)
	if want := "password: [redacted:password]\npassword: [redacted:password]\ntoken: [redacted:token]\n"; got != want {
		t.Errorf("%s", got)
	}
	if fmt.Sprint(found) != "[{password 2} {token 1}]" || Total(found) != 3 {
		t.Errorf("%v", found)
	}
	if rest := New().Strip(got); rest != "password: \npassword: \ntoken: \n" {
		t.Errorf("without placeholders: %q", rest)
	}
}

// holds checks the invariants for one text.
func holds(t interface {
	Helper()
	Fatalf(string, ...any)
}, r *Redactor, text string,
) string {
	t.Helper()
	got, found := r.Redact(text)
	again, more := r.Redact(got)
	if again != got || more != nil {
		t.Fatalf("twice is not once:\n%q\n%q\n%q (%v, %v)", text, got, again, found, more)
	}
	if (found == nil) != (got == text) {
		t.Fatalf("%v was found, the text changed: %v", found, got != text)
	}
	if got == Placeholder(KindUnscanned) {
		return got
	}
	if utf8.ValidString(text) && !utf8.ValidString(got) {
		t.Fatalf("no longer UTF-8:\n%q\n%q", text, got)
	}
	if len(got) > 16*len(text)+64 {
		t.Fatalf("%d bytes became %d: %q", len(text), len(got), text)
	}
	rest := text
	for i, part := range apart(r, got) {
		at := strings.Index(rest, part)
		if at < 0 || i == 0 && at != 0 {
			t.Fatalf("%q was not in the text:\n%q\n%q", part, text, got)
		}
		rest = rest[at+len(part):]
	}
	return got
}

// apart is what stands between the placeholders.
func apart(r *Redactor, text string) (parts []string) {
	s := scan{set: r.rules(), text: text}
	s.mask()
	at := 0
	for _, m := range s.masks {
		parts = append(parts, text[at:m.from])
		at = m.to
	}
	return append(parts, text[at:])
}

// Texts put together from secrets, names, marks and words keep the invariants.
func TestInvariants(t *testing.T) {
	r := New()
	var words []string
	for _, one := range r.rules().rules {
		words = append(words, one.kind)
	}
	rapid.Check(t, func(t *rapid.T) {
		m := newMaker(rapid.Uint64().Draw(t, "seed"))
		var b strings.Builder
		for range rapid.IntRange(1, 30).Draw(t, "parts") {
			switch rapid.IntRange(0, 6).Draw(t, "part") {
			case 0:
				s := spellings[m.IntN(len(spellings))]
				fmt.Fprintf(&b, s.text, s.secret(m))
			case 1:
				b.WriteString(Placeholder(words[m.IntN(len(words))]))
			case 2:
				b.WriteString(m.token(8 + m.IntN(40)))
			case 3:
				b.WriteString(rapid.SampledFrom([]string{"password", "token", "=", ":", " is ", "\"", "'", "\n", "://", "@", "&", ",", "Bearer ", "key", "[redacted:", "]", "\\n", "-----BEGIN PRIVATE " + "KEY-----", "-----END PRIVATE " + "KEY-----", "=="}).Draw(t, "mark"))
			case 4:
				b.WriteString(rapid.String().Draw(t, "any"))
			case 5:
				b.WriteString(" ")
			case 6:
				b.WriteString(m.chosen())
			}
		}
		holds(t, r, b.String())
	})
}

func FuzzRedact(f *testing.F) {
	m := newMaker(11)
	for _, s := range append(spellings[:len(spellings):len(spellings)], forms...) {
		f.Add(fmt.Sprintf(s.text, s.secret(m)))
	}
	r := New()
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 1<<16 {
			holds(t, r, text)
		}
	})
}

// hostile are texts of about n bytes that are made to cost much.
func hostile(n int) map[string]string {
	r := New()
	file := strings.Builder{}
	for _, u := range r.rules().rules {
		file.WriteString(strings.Join(append(u.must, "key=", string(u.kind), "token:"), " "))
	}
	soup := file.String()
	m := newMaker(13)
	times := func(s string) string { return strings.Repeat(s, n/len(s)+1) }
	return map[string]string{
		"words of all rules": times(soup), "begin": times("-----BEGIN PRIVATE " + "KEY-----\n"), "end": times("-----END PRIVATE " + "KEY-----\n"),
		"base64": times(m.of(alnum, 1000)), "base64 lines": times(m.of(alnum, 64) + "\n"), "ey": times("eyJ"), "ey.": times(" eyJhbGciOiJI.eyJ"), "urls": times("a://a:"), "at": times("a://a:b@"),
		"curl": times("curl "), "kinds": times("kind: secret data: "), "password": times("password="), "quotes": times("password=\""), "passwords": times("password=aB3!x "),
		"open": times("[redacted:"), "placeholders": times("[redacted:password] "), "xox": times("xoxb-1234567890-"), "key key": times("key "), "digits": times("1234567890"),
		"facebook": times("facebook " + m.of(digit, 15) + "|"), "tokens": times("ghp_" + m.of(alnum, 35) + " "), "spaces": times("password:\n"), "discord": times("discord=" + m.of(hex, 63) + " "),
	}
}

// A text is done in a bounded number of steps, whatever it holds; what exceeds
// them goes as a whole.
func TestHostileTextsAreBounded(t *testing.T) {
	r, size := New(), 1<<14
	if os.Getenv("DHRUVA_CAMPAIGN") != "" {
		size = 1 << 20
	}
	for name, text := range hostile(size) {
		t.Run(name, func(t *testing.T) {
			s := scan{set: r.rules(), text: text, left: costFloor + costFactor*len(text)}
			budget := s.left
			s.run()
			t.Logf("%s: %.1f bytes read by expressions for each of the text", name, float64(budget-s.left)/float64(len(text)))
			got := holds(t, r, text)
			if got == Placeholder(KindUnscanned) {
				t.Logf("goes as a whole")
			}
		})
	}
}

func TestATextThatCostsTooMuchGoesWhole(t *testing.T) {
	r := New()
	s := scan{set: r.rules(), text: strings.Repeat("discord=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde ", 40), left: 100}
	s.run()
	if s.left >= 0 {
		t.Errorf("%d is left", s.left)
	}
}

func TestManyAtOnce(t *testing.T) {
	r, m := New(), newMaker(15)
	var wg sync.WaitGroup
	for _, s := range spellings {
		text := fmt.Sprintf(s.text, s.secret(m))
		wg.Go(func() {
			if got, _ := r.Redact(text); !strings.Contains(got, Placeholder(s.kind)) {
				t.Errorf("%s: %s", s.kind, got)
			}
		})
	}
	wg.Wait()
}
