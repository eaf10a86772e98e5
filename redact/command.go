package redact

import "strings"

// commands are programs that take a password as an option, and the options. An
// option of one letter is often written together with its value.
var commands = map[string][]string{
	"sshpass":     {"-p"},
	"mysql":       {"-p"}, // mysqldump and mysqladmin too
	"mariadb":     {"-p"},
	"docker":      {"-p"},
	"podman":      {"-p"},
	"helm":        {"-p"},
	"redis-cli":   {"-a", "--pass"},
	"smbclient":   {"-U"},
	"ldapsearch":  {"-w"},
	"ldapmodify":  {"-w"},
	"mongosh":     {"-p"},
	"mongodump":   {"-p"},
	"sqlcmd":      {"-P"},
	"clickhouse":  {"--pass"},
	"7z":          {"-p"},
	"unzip":       {"-P"},
	"kinit":       {"--pass"},
	"influx":      {"-password"},
	"htpasswd":    {"-pass"},
	"openssl":     {"pass"},
	"mosquitto_p": {"-P"},
	"mosquitto_s": {"-P"},
}

// command takes the password of a program's option.
func (s *scan) command(from, to int) {
	options := commands[lower(s.text[from:to])]
	if !border(s.text, from) || options == nil {
		return
	}
	for to < len(s.text) && (wordByte(s.text[to]) || s.text[to] == '-') {
		to++
	}
	if to >= len(s.text) || !spaceByte(s.text[to]) {
		return
	}
	line := s.text[to:commandEnd(s.text, to)]
	s.pay(len(line))
	if name := lower(s.text[from:to]); (name == "docker" || name == "podman" || name == "helm") && !strings.Contains(line, "login") {
		return // -p is a port there
	}
	for at := 0; at < len(line); {
		i := strings.IndexByte(line[at:], ' ')
		if i < 0 {
			return
		}
		at += i + 1
		for _, option := range options {
			if rest, ok := strings.CutPrefix(line[at:], option); ok {
				s.argument(to+at+len(option), len(option) == 2 && !strings.HasPrefix(rest, " "))
			}
		}
	}
}

// argument takes the value of an option. One that is written together with its
// option must look like a password, since another option may begin like it.
func (s *scan) argument(at int, stuck bool) {
	start := at
	for at < len(s.text) && (spaceByte(s.text[at]) || s.text[at] == '=') && at-start < 4 {
		at++
	}
	if at == start && !stuck {
		return
	}
	v, ok := valueAt(s.text, at)
	if !s.pay(v.to-at) || !ok || strings.HasPrefix(v.text, "-") {
		return
	}
	from := v.from
	v = s.behindMasks(v)
	p := profileOf(v.text)
	if len(v.text) < 3 || stands(v.text) || pathLike(v.text) || !v.quoted && expression(v.text) || digits(v.text) && len(v.text) < 6 || portLike(v.text) {
		return
	}
	if p.digits+p.signs == 0 && !soup(v.text) && !v.quoted && len(v.text) < 5 {
		return
	}
	s.add(span{from, v.to, kindPassword, shaped})
}

// portLike: "8080:80".
func portLike(s string) bool {
	a, b, ok := strings.Cut(s, ":")
	return ok && digits(a) && digits(b)
}

// identified takes the password of SQL's IDENTIFIED BY '…'. In lower case it may
// be a sentence, and the password must look like one.
func (s *scan) identified(from, to int) {
	rest := s.text[to:min(len(s.text), to+80)]
	i := strings.IndexAny(rest, "'\"")
	if i < 0 || strings.ContainsAny(rest[:i], "\n;.,") {
		return
	}
	words := strings.Fields(lower(strings.TrimSuffix(strings.TrimSpace(lower(rest[:i])), " password")))
	if n := len(words); n == 0 || n != 1 && (n != 3 || words[0] != "with") || words[n-1] != "by" && words[n-1] != "as" {
		return
	}
	v, ok := valueAt(s.text, to+i)
	begin := v.from
	if v = s.behindMasks(v); !s.pay(v.to-to) || !ok || v.text == "" || stands(v.text) {
		return
	}
	if sql := s.text[from] == 'I' && s.text[from+1] == 'D'; sql || v.password(listed) {
		s.add(span{begin, v.to, kindPassword, shaped})
	}
}

// dsn takes the password of "user:password@tcp(host:3306)/base".
func (s *scan) dsn(at, _ int) {
	lo := at
	for lo > 0 && at-lo < maxName && strings.IndexByte(" \t\r\n\"'`<>", s.text[lo-1]) < 0 {
		lo--
	}
	user, password, ok := strings.Cut(s.text[lo:at], ":")
	if !s.pay(at-lo) || !ok || password == "" {
		return
	}
	v := s.behindMasks(value{from: lo + len(user) + 1, to: at, text: password})
	if v.text == "" || stands(v.text) {
		return
	}
	s.add(span{lo + len(user) + 1, at, kindURL, shaped})
}

// foreignPasswords are words for a password in other languages.
var foreignPasswords = []string{"kennwort", "contrasena", "mot de passe", "wachtwoord", "parola d'ordine", "senha", "heslo", "kata sandi"}

// farPasswords are those that are not of ASCII alone, with the cases that the
// search does not fold.
var farPasswords = []string{
	"contraseña", "contraseÑa", "密码", "密碼", "口令", "パスワード", "비밀번호", "пароль", "Пароль", "ПАРОЛЬ", "hasło", "şifre", "पासवर्ड", "كلمة المرور", "סיסמה", "κωδικός", "mật khẩu", "รหัสผ่าน",
}

// foreign takes the value that such a word is given: one of ASCII, which tells
// it from the words around it.
func (s *scan) foreign(from, to int) {
	if !border(s.text, from) && letterByte(s.text[from]) {
		return
	}
	at, how := tied(s.text, from, to)
	if how == untied {
		at, how = said(s.text, to), spoken
	}
	if at == 0 {
		return
	}
	v, ok := valueAt(s.text, at)
	bare := strings.TrimRight(v.text, "?!.")
	if !ok || strings.ContainsFunc(v.text, func(r rune) bool { return r > '~' }) || !v.quoted && onlyLetters(bare) && !soup(bare) {
		s.pay(v.to - from)
		return
	}
	s.judge(from, at, passwords, how, kindPassword)
}

// said is where a value begins behind a word for "is", 0 when there is none.
func said(text string, at int) int {
	at = skipSpaces(text, at)
	for _, word := range []string{"ist ", "lautet ", "es ", "est ", "è ", "é ", "это ", "— ", "- ", "是", "为", "は", "है ", "jest ", "je "} {
		if strings.HasPrefix(text[at:], word) {
			return behind(text, strings.IndexFunc(text[at+len(word):]+"x", func(r rune) bool { return r != ':' })+at+len(word))
		}
	}
	return 0
}
