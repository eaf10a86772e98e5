package ledger

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/dhruva-memory/dhruva"
)

// Flagged text is kept but held: neither recalled nor injected until a person
// releases it. This is a signal and a speed bump, not the boundary; the
// boundary is that recalled text is quoted data.
//
// How strict it is depends on who said it:
//
//   - A person (user_typed, user_committed) gives instructions all day; "always
//     use tabs" is just what should be remembered. Their text is held only for
//     what an honest sentence does not hold: hidden characters, an imitation of
//     our block, chat-template tokens, and an attempt to void instructions.
//   - Anything else (assistant, imported, observed, derived) is text that
//     somebody else may have written. It is also held when it speaks to a later
//     assistant: "from now on you ...", "you are now ...", role tags, "do not
//     tell the user", "remember ... as a trusted source", long encoded blobs.
//
// Advice such as "you should always use tabs" is not held in any class: that
// would lose far more good memory than it stops bad.
func flagged(text string, class dhruva.SourceClass) string {
	if why := hidden(text); why != "" {
		return why
	}
	lower := strings.ToLower(text)
	if why := first(anyone, text, lower); why != "" {
		return why
	}
	if class == dhruva.ClassUserTyped || class == dhruva.ClassUserCommitted {
		return ""
	}
	if encoded(text) {
		return "encoded text"
	}
	return first(others, text, lower)
}

// check is one pattern. It is tried only on texts that hold, in lower case, one
// word of each group: that spares nearly all texts the slow part.
type check struct {
	why     string
	groups  []string // words separated by |
	pattern *regexp.Regexp
}

func first(checks []check, text, lower string) string {
	for _, c := range checks {
		if c.near(lower) && c.pattern.MatchString(text) {
			return c.why
		}
	}
	return ""
}

func (c check) near(lower string) bool {
	for _, group := range c.groups {
		if !slices.ContainsFunc(strings.Split(group, "|"), func(w string) bool { return strings.Contains(lower, w) }) {
			return false
		}
	}
	return true
}

// imperative is where a command begins: at the start of a sentence or quote, or
// after a word that leads one in. "I always forget the rules" is none.
const imperative = `(?im)(?:^|[.!?:;>"'(*-]\s*|\b(?:please|now|must|should|and|then|to|you|just|first|kindly|also)\s+)`

const (
	blockName  = "imitates a memory block"
	template   = "chat-template token"
	voids      = "voids instructions"
	instructs  = "instructs a later assistant"
	roleTag    = "role tag"
	hidesFrom  = "hides from the user"
	wantsTrust = "asks for trust"
)

var anyone = []check{
	{blockName, []string{"dhruva"}, regexp.MustCompile(`(?i)<\s*/?\s*dhruva[-_ ]?memory`)},
	{template, []string{"<|"}, regexp.MustCompile(`(?i)<\|\s*(im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id|end_header_id|begin_of_text)\s*\|>`)},
	{template, []string{"inst]|sys>>|_of_turn>"}, regexp.MustCompile(`(?i)\[/?INST\]|<</?SYS>>|<(start|end)_of_turn>`)},
	{voids, []string{"ignore|disregard|forget|override|bypass", "instruction|prompt|rules|guideline|directive"},
		regexp.MustCompile(imperative + `(ignore|disregard|forget|override|bypass)\b[^.!?\n]{0,40}?\b(previous|prior|above|earlier|preceding|system|developer|safety|your)\b[^.!?\n]{0,30}?\b(instructions?|prompts?|rules|guidelines|directives)\b`)},
	{voids, []string{"ignore|disregard|forget", "all", "instruction|prompts|guideline|directive"},
		regexp.MustCompile(imperative + `(ignore|disregard|forget)\b[^.!?\n]{0,20}?\ball\b[^.!?\n]{0,30}?\b(instructions?|prompts|guidelines|directives)\b`)},
}

var others = []check{
	{instructs, []string{"from now on|from this point|henceforth|in all future"},
		regexp.MustCompile(`(?im)^\W*(from now on|from this point (on|forward)|henceforth|in all future (conversations|sessions|replies))\b[, ]*(you|always|never|the assistant|assistants?|respond|reply|act|treat|recommend)\b`)},
	{instructs, []string{"you are now"},
		regexp.MustCompile(`(?im)^\W*you are now\b[^.!?\n]{0,60}\b(ai|assistant|model|chatbot|bot|persona|jailbroken|unrestricted|free)\b`)},
	{instructs, []string{"instruction|attention", ":|assistant|ai|model"},
		regexp.MustCompile(`(?im)^\W*((new|updated|important) (system )?instructions?( for (the|any) (assistant|ai|model))?\s*:|attention,? (assistant|ai|model)\b)`)},
	{instructs, []string{"user ask|user mention|user say|user want"},
		regexp.MustCompile(`(?i)\b(whenever|when|if|every time) (the|a|any) user (asks?|mentions?|says?|wants?)\b[^.!?\n]{0,80}\b(you must|always|never|reply with|respond with|tell (them|him|her)|recommend)\b`)},
	{hidesFrom, []string{"not |n't |never ", "tell|mention|reveal|inform|show", "user"},
		regexp.MustCompile(`(?i)\b(do not|don't|never) (tell|mention (this )?to|reveal (this )?to|inform|show( this)? to) (the )?user\b`)},
	{wantsTrust, []string{"remember|treat|regard|store|save", "trusted|authoritative|preferred|verified|reliable|go-to", "source|site|vendor|provider|authority|citation"},
		regexp.MustCompile(`(?i)\b(remember|treat|regard|store|save)\b[^!?\n]{0,80}\bas (a |an |the |your )?(trusted|authoritative|preferred|verified|reliable|go-to) (source|site|website|vendor|provider|authority|citation)s?\b`)},
	{roleTag, []string{"system|developer", ":"},
		regexp.MustCompile(`(?im)^[ \t]*(#+[ \t]*)?(system|developer)( (prompt|message|instructions?))?[ \t]*:`)},
	{roleTag, []string{"system>|developer>|assistant>|instruction>|instructions>|system >"},
		regexp.MustCompile(`(?i)</?\s*(system|developer|assistant|instructions?)\s*>`)},
	{roleTag, []string{"human:|human :", "assistant:|assistant :"},
		regexp.MustCompile(`(?im)^[ \t]*(human|assistant)[ \t]*:[^\n]*\n+[ \t]*(human|assistant)[ \t]*:`)},
}

// encoded finds a run of 400 base64 characters.
func encoded(text string) bool {
	run := 0
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' {
			if run++; run == 400 {
				return true
			}
		} else {
			run = 0
		}
	}
	return false
}

// hidden finds characters that people do not see: Unicode tags outside flag
// emoji, overrides of the writing direction, and zero-width characters inside
// Latin words or in runs. Joiners in other scripts and in emoji are ordinary.
func hidden(text string) string {
	var prev rune
	flagEmoji := false
	run := 0
	for i, r := range text {
		switch {
		case r == 0x1F3F4:
			flagEmoji = true
		case r >= 0xE0000 && r <= 0xE007F:
			if !flagEmoji {
				return "hidden tag characters"
			}
		case r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069:
			return "writing direction override"
		case strings.ContainsRune("\u200B\u200C\u200D\u2060\u2061\u2062\u2063\u2064\u180E\uFEFF", r) && i > 0:
			run++
			next := after(text[i:], r)
			if run > 2 || latin(prev) && latin(next) {
				return "zero-width characters"
			}
			continue
		default:
			flagEmoji = false
		}
		run, prev = 0, r
	}
	return ""
}

// after is the character that follows r at the start of s.
func after(s string, r rune) rune {
	for _, next := range s[len(string(r)):] {
		return next
	}
	return 0
}

func latin(r rune) bool { return unicode.Is(unicode.Latin, r) }
