package redact

import "strings"

// mark is the beginning of a maker's token, for makers that the rule set does
// not know, or knows in fewer forms.
type mark struct {
	word string // in lower case
	kind string
	// text is the mark as it is written; "" is any case.
	text string
	// least is how many characters follow.
	least int
	// dots: full stops belong to the token.
	dots bool
}

// marks of our own keys, and of services that chats speak of.
var marks = []mark{
	{"dhr_", "dhruva-key", "", 20, false},
	{"sk-", "api-key", "sk-", 20, false},
	{"xox", "slack-token", "xox", 20, false},
	{"ya29.", "google-access-token", "ya29.", 30, true},
	{"gocspx-", "google-client-secret", "GOCSPX-", 20, false},
	{"gsk_", "groq-api-key", "gsk_", 30, false},
	{"xai-", "xai-api-key", "xai-", 30, false},
	{"r8_", "replicate-api-token", "r8_", 30, false},
	{"nvapi-", "nvidia-api-key", "nvapi-", 30, false},
	{"whsec_", "stripe-webhook-secret", "whsec_", 20, false},
	{"dckr_pat_", "docker-pat", "dckr_pat_", 20, false},
	{"tskey-", "tailscale-key", "tskey-", 20, false},
	{"pcsk_", "pinecone-api-key", "pcsk_", 30, false},
	{"sbp_", "supabase-token", "sbp_", 30, false},
	{"sb_secret_", "supabase-token", "sb_secret_", 20, false},
	{"lsv2_", "langsmith-api-key", "lsv2_", 30, false},
}

// find takes the token that begins with the mark, if it is long enough and looks
// made at random.
func (m mark) find(s *scan, from, _ int) {
	to := from + len(m.word)
	if m.text != "" && s.text[from:to] != m.text {
		return
	}
	alone := border(s.text, from)
	for to < len(s.text) && (wordByte(s.text[to]) || s.text[to] == '-' || m.dots && s.text[to] == '.' || s.text[to] == '+' || s.text[to] == '/') {
		to++
	}
	s.pay(to - from)
	to = from + len(strings.TrimRight(s.text[from:to], ".+/"))
	rest := s.text[min(to, from+len(m.word)):to]
	if len(rest) < m.least || !made(rest) && !made(tail(rest)) || !alone && (inBlob(s.text, from, to) || !m.stuck(s.text[from-1], rest)) {
		return
	}
	s.add(span{from, to, m.kind, shaped})
}

// tail is the last part of a token that is made of parts ("proj-…").
func tail(s string) string { return s[strings.LastIndexByte(s, '-')+1:] }

// stuck reports whether a token that stands right behind other characters is one
// still. Short marks end many words ("task-", "disk-"): there it must be told by
// its maker's next mark, or be longer and more mixed than what is put behind a
// word.
func (m mark) stuck(before byte, rest string) bool {
	if before == '_' || len(m.word) > 3 {
		return true
	}
	for _, next := range []string{"ant-", "proj-", "svcacct-", "or-v1-", "lf-"} {
		if strings.HasPrefix(rest, next) {
			return true
		}
	}
	p := profileOf(rest)
	return len(rest) >= 32 && p.joints == 0 && p.upper > 3 && p.letters-p.upper > 3 && p.digits > 1
}

// telegram takes a bot's token: its number, a colon and a text that begins with
// two As.
func (s *scan) telegram(from, to int) {
	start := from
	for start > 0 && from-start <= 10 && digitByte(s.text[start-1]) {
		start--
	}
	end := to + part(s.text[to:])
	s.pay(end - start)
	if n := from - start; n < 8 || n > 10 || !border(s.text, start) || end-to < 30 || end-to > 36 || !random(s.text[to:end]) {
		return
	}
	s.add(span{start, end, kindTelegram, shaped})
}
