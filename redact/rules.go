package redact

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"
)

// ruleSet is what we read of gitleaks' own file of rules.
type ruleSet struct {
	Allowlist ruleAllowed
	Rules     []struct {
		ID          string
		Regex       string
		SecretGroup int
		Entropy     float64
		Keywords    []string
		Allowlists  []ruleAllowed
	}
}

type ruleAllowed struct {
	Condition   string
	RegexTarget string
	Regexes     []string
	StopWords   []string
	Paths       []string
	Commits     []string
}

// ours are the rules that have a counterpart here: they are about names that are
// given to secrets, or need more than an expression.
var ours = []string{"generic-api-key", "hashicorp-tf-password", "private-key", "jwt", "curl-auth-header", "curl-auth-user"}

// public are the kinds that name somebody and give no access.
func public(id string) bool {
	return slices.ContainsFunc([]string{"-client-id", "-access-id", "-api-id", "-public-key", "-pub-key", "-pub-api-key"}, func(end string) bool {
		return strings.HasSuffix(id, end)
	})
}

// set is everything that is looked for.
type set struct {
	words *machine
	// far are the words of other scripts, for texts that have one.
	far   *machine
	uses  [][]use // what a word sets going
	rules []*rule
	kinds map[string]bool
	allow allowed
}

// use is what an occurrence of a word sets going: a rule or a finder.
type use struct {
	rule *rule
	find func(*scan, int, int)
}

// load reads the rules. They are part of the program: what is wrong with them
// is a fault of the build, which every test finds.
func load() *set {
	var file ruleSet
	if err := toml.Unmarshal([]byte(config.DefaultConfig), &file); err != nil {
		panic(fmt.Sprintf("redact: the rules of gitleaks: %v", err))
	}
	for i, expr := range file.Allowlist.Regexes { // what is meant is a secret as a whole ("^true|false|null$")
		file.Allowlist.Regexes[i] = "^(?:" + expr + ")$"
	}
	s := &set{kinds: map[string]bool{KindUnscanned: true}, allow: newAllowed(file.Allowlist)}
	words := map[string][]use{}
	for _, r := range file.Rules {
		if r.Regex == "" || slices.Contains(ours, r.ID) || public(r.ID) { // those without one are about the names of files
			continue
		}
		tree, err := syntax.Parse(r.Regex, syntax.Perl)
		if err != nil {
			panic(fmt.Sprintf("redact: rule %s: %v", r.ID, err))
		}
		allow := allowedOf(r.Allowlists)
		for _, branch := range branches(tree) {
			one := newRule(r.ID, r.Regex, branch, r.Keywords)
			one.group, one.entropy, one.allow = r.SecretGroup, r.Entropy, allow
			one.number = len(s.rules)
			s.rules = append(s.rules, one)
			for _, w := range r.Keywords {
				w = strings.ToLower(w)
				words[w] = append(words[w], use{rule: one})
			}
		}
		s.kinds[r.ID] = true
	}
	for _, f := range finders() {
		for _, w := range f.words {
			words[w] = append(words[w], use{find: f.find})
		}
		for _, k := range f.kinds {
			s.kinds[k] = true
		}
	}
	s.index(words)
	s.far = newMachine(farPasswords)
	return s
}

func (s *set) index(words map[string][]use) {
	var names []string
	for w := range words {
		names = append(names, w)
	}
	slices.Sort(names)
	for _, w := range names {
		s.uses = append(s.uses, words[w])
	}
	s.words = newMachine(names)
}

// branches splits an expression that is a choice, so that each way can be
// looked for at its own words.
func branches(re *syntax.Regexp) []*syntax.Regexp {
	if re.Op == syntax.OpAlternate {
		return re.Sub
	}
	return []*syntax.Regexp{re}
}

// allowed are findings that are known to be no secrets.
type allowed struct {
	all    bool // every kind of condition must hold
	target string
	expr   []*regexp.Regexp
	words  []string
	// elsewhere: it is about files and commits too, which texts do not have.
	elsewhere bool
}

func allowedOf(all []ruleAllowed) (out []allowed) {
	for _, a := range all {
		out = append(out, newAllowed(a))
	}
	return out
}

func newAllowed(a ruleAllowed) allowed {
	out := allowed{all: strings.EqualFold(a.Condition, "and"), target: a.RegexTarget, elsewhere: len(a.Paths)+len(a.Commits) > 0}
	for _, expr := range a.Regexes {
		out.expr = append(out.expr, regexp.MustCompile(expr))
	}
	for _, w := range a.StopWords {
		out.words = append(out.words, strings.ToLower(w))
	}
	return out
}

// holds reports whether a finding is allowed.
func (a allowed) holds(secret, match, line string) bool {
	if a.all && a.elsewhere {
		return false
	}
	target := secret
	switch a.target {
	case "match":
		target = match
	case "line":
		target = line
	}
	lower := strings.ToLower(secret)
	expr := slices.ContainsFunc(a.expr, func(re *regexp.Regexp) bool { return re.MatchString(target) })
	word := slices.ContainsFunc(a.words, func(w string) bool { return strings.Contains(lower, w) })
	if a.all {
		return (expr || len(a.expr) == 0) && (word || len(a.words) == 0)
	}
	return expr || word
}
