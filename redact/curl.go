package redact

import "strings"

// maxCommand bounds a command's line.
const maxCommand = 2048

// curl takes the password of "curl -u user:password".
func (s *scan) curl(from, to int) {
	if !border(s.text, from) || to < len(s.text) && wordByte(s.text[to]) {
		return
	}
	command := s.text[to:commandEnd(s.text, to)]
	s.pay(len(command))
	for at := 0; at < len(command); {
		i := strings.Index(command[at:], " -")
		if i < 0 {
			return
		}
		at += i + 1
		if begin := userAt(command, at); begin > 0 {
			s.user(to + begin)
		}
	}
}

// commandEnd is where a command's line ends; a backslash takes the next line too.
func commandEnd(text string, at int) int {
	limit := min(len(text), at+maxCommand)
	for end := at; ; end++ {
		i := strings.IndexByte(text[end:limit], '\n')
		if i < 0 {
			return limit
		}
		if end += i; !strings.HasSuffix(strings.TrimRight(text[at:end], " \r"), `\`) {
			return end
		}
	}
}

// userAt is where the value of the option -u or --user begins, 0 when the option
// is another.
func userAt(command string, at int) int {
	for _, option := range []string{"--user=", "--user", "-u"} {
		rest, ok := strings.CutPrefix(command[at:], option)
		if !ok {
			continue
		}
		value := strings.TrimLeft(rest, " ")
		if value == "" || option == "--user" && len(value) == len(rest) { // --user-agent
			return 0
		}
		return len(command) - len(value)
	}
	return 0
}

// user takes what stands behind the colon of "user:password".
func (s *scan) user(at int) {
	v, ok := valueAt(s.text, at)
	if !ok {
		return
	}
	name, password, ok := strings.Cut(v.text, ":")
	if start := v.from + len(name) + 1; ok && len(password) > 2 && !stands(password) && !expression(password) && !s.masked(start) {
		s.add(span{start, v.to, kindCurl, shaped})
	}
}
