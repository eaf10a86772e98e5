package redact

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// Redactor replaces secrets.
type Redactor struct{ rules func() *set }

// loaded are the rules, the same ones for all redactors of a process.
var loaded = sync.OnceValue(load)

// New returns a redactor. It costs nothing until the first text.
func New() *Redactor { return &Redactor{rules: loaded} }

// Finding counts the secrets of one kind.
type Finding struct {
	// Kind is the name in the placeholder, such as "aws-access-token".
	Kind  string
	Count int
}

// Total is how many secrets were found.
func Total(found []Finding) (n int) {
	for _, f := range found {
		n += f.Count
	}
	return n
}

// KindUnscanned stands for a text that was too costly to look through.
const KindUnscanned = "unscanned"

const (
	openMark  = "[redacted:"
	closeMark = "]"
)

// Placeholder is what stands in place of a secret of a kind.
func Placeholder(kind string) string { return openMark + kind + closeMark }

// Bounds of the work for one text. A text's budget is what its rules'
// expressions may read, in bytes; each pass over the text takes of it.
const (
	costFloor  = 1 << 20
	costFactor = 32
	maxPasses  = 32
)

// Redact returns the text with a placeholder for each secret, and what it found,
// sorted by kind. A text without secrets comes back as it is.
//
// It goes over the text until there is nothing left to find, because a
// placeholder changes what its neighbours look like.
func (r *Redactor) Redact(text string) (string, []Finding) {
	counts := map[string]int(nil)
	left := costFloor + costFactor*len(text)
	for range maxPasses {
		spans := r.look(text, &left)
		if left < 0 {
			break
		}
		if len(spans) == 0 {
			return text, tell(counts)
		}
		if counts == nil {
			counts = map[string]int{}
		}
		text = replace(text, spans, counts)
	}
	return Placeholder(KindUnscanned), []Finding{{KindUnscanned, 1}}
}

// look finds secrets in a text as it stands; when there are none, in the text as
// it is meant, layer by layer of its escapes.
func (r *Redactor) look(text string, left *int) []span {
	var views []view
	for {
		s := scan{set: r.rules(), text: text, left: *left}
		spans := s.run()
		if *left = s.left; len(spans) > 0 || *left < 0 {
			return origins(spans, views)
		}
		v, ok := seen(text)
		if !ok || len(views) == maxViews {
			return nil
		}
		text, views = v.text, append(views, v)
	}
}

// origins are spans of the last view as those of the text that all came from.
func origins(spans []span, views []view) []span {
	for _, v := range slices.Backward(views) {
		for i := range spans {
			spans[i].from, spans[i].to = v.origin(spans[i].from, spans[i].to)
		}
	}
	if len(views) > 0 {
		spans = merge(spans)
	}
	return spans
}

// Strip returns a text without its placeholders: what it says besides secrets.
func (r *Redactor) Strip(text string) string {
	if !strings.Contains(text, openMark) {
		return text
	}
	s := scan{set: r.rules(), text: text}
	s.mask()
	var b strings.Builder
	at := 0
	for _, m := range s.masks {
		b.WriteString(text[at:m.from])
		at = m.to
	}
	return b.String() + text[at:]
}

func tell(counts map[string]int) []Finding {
	var out []Finding
	for kind, n := range counts {
		out = append(out, Finding{kind, n})
	}
	slices.SortFunc(out, func(a, b Finding) int { return cmp.Compare(a.Kind, b.Kind) })
	return out
}

// span is a secret in the text. Of two that overlap, the kind of the more
// certain one is told.
type span struct {
	from, to int
	kind     string
	certain  int
}

// How certain a kind is: a maker's mark says more than a name that was given.
const (
	named = iota
	shaped
	marked
)

// merge sorts spans and joins those that overlap.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to), cmp.Compare(b.certain, a.certain), cmp.Compare(a.kind, b.kind))
	})
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.from < out[n-1].to {
			last := &out[n-1]
			last.to = max(last.to, s.to)
			if s.certain > last.certain {
				last.kind, last.certain = s.kind, s.certain
			}
			continue
		}
		out = append(out, s)
	}
	return out
}

func replace(text string, spans []span, counts map[string]int) string {
	var b strings.Builder
	b.Grow(len(text) + 16*len(spans))
	at := 0
	for _, s := range spans {
		b.WriteString(text[at:s.from])
		b.WriteString(Placeholder(s.kind))
		counts[s.kind]++
		at = s.to
	}
	b.WriteString(text[at:])
	return b.String()
}
