package redact

import (
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"
)

// maker makes up texts, the same ones in every run. No test holds a secret that
// somebody wrote down.
type maker struct{ *rand.Rand }

func newMaker(seed uint64) maker { return maker{rand.New(rand.NewPCG(seed, 0))} }

// matching is a text that matches an expression.
func (m maker) matching(re *syntax.Regexp) string {
	var b strings.Builder
	m.write(&b, re)
	return b.String()
}

func (m maker) write(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(m.char(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte("abcdefgh "[m.IntN(9)])
	case syntax.OpStar:
		m.repeat(b, re, 0, 3)
	case syntax.OpPlus:
		m.repeat(b, re, 1, 12)
	case syntax.OpQuest:
		m.repeat(b, re, 0, 1)
	case syntax.OpRepeat:
		high := re.Min + 12
		if re.Max >= 0 {
			high = min(high, re.Max)
		}
		m.repeat(b, re, re.Min, high)
	case syntax.OpAlternate:
		m.write(b, re.Sub[m.IntN(len(re.Sub))])
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			m.write(b, sub)
		}
	}
}

func (m maker) repeat(b *strings.Builder, re *syntax.Regexp, low, high int) {
	for range low + m.IntN(high-low+1) {
		m.write(b, re.Sub[0])
	}
}

// char is a character of a class, of its printable ASCII if it has any.
func (m maker) char(class []rune) rune {
	var some []rune
	for i := 0; i < len(class); i += 2 {
		for r := max(class[i], ' '); r <= min(class[i+1], '~'); r++ {
			some = append(some, r)
		}
	}
	if len(some) == 0 {
		return class[0]
	}
	return some[m.IntN(len(some))]
}

func rulesOfGitleaks(t testing.TB) ruleSet {
	var file ruleSet
	if err := toml.Unmarshal([]byte(config.DefaultConfig), &file); err != nil {
		t.Fatal(err)
	}
	return file
}

// Each rule that is read from gitleaks is alive here: what its expression as it
// stands there, its entropy and its exceptions take for a secret is replaced,
// alone, between lines and in a sentence.
func TestEveryRuleFinds(t *testing.T) {
	file, r, m, kinds, tried := rulesOfGitleaks(t), New(), newMaker(1), 0, 0
	for _, src := range file.Rules {
		if src.Regex == "" || slices.Contains(ours, src.ID) || public(src.ID) {
			continue
		}
		tree, err := syntax.Parse(src.Regex, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		one := rule{expr: regexp.MustCompile(src.Regex), group: src.SecretGroup, entropy: src.Entropy, allow: allowedOf(src.Allowlists)}
		found := 0
		for range 40 {
			match := m.matching(tree)
			secret := secretOf(r.rules(), &one, match)
			if secret == "" {
				continue
			}
			found++
			if !strings.Contains(lower(match), lower(src.Keywords[0])) {
				match = src.Keywords[0] + " " + match
			}
			for _, text := range []string{match, "Here it is:\n" + match + "\nThank you.", "we set " + match + ", and it works."} {
				if got, _ := r.Redact(text); strings.Contains(got, secret) {
					t.Fatalf("%s: stays in\n%s\n%s", src.ID, text, got)
				}
			}
		}
		if tried += found; found > 0 {
			kinds++
		} else {
			t.Logf("%s: no secret could be made", src.ID)
		}
	}
	t.Logf("%d kinds, %d secrets", kinds, tried)
	if kinds < 195 || tried < 5000 {
		t.Errorf("only %d kinds and %d secrets were tried", kinds, tried)
	}
}

// secretOf is what gitleaks would report of a text; "" is nothing, or what is
// left alone here: a plain word, and a digest that nothing names.
func secretOf(set *set, one *rule, text string) string {
	m := one.expr.FindStringSubmatchIndex(text)
	if m == nil {
		return ""
	}
	from, to := one.secret(m)
	secret, match := text[from:to], text[m[0]:m[1]]
	if one.entropy > 0 && entropy(secret) <= one.entropy || one.allowed(&scan{set: set, text: text}, secret, match, from) || plainWord(secret) || strings.HasPrefix(match, secret) && bareDigest(secret, secret) {
		return ""
	}
	return secret
}
