package recall

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dhruva-memory/dhruva"
)

// The gate. Each candidate is checked against the authoritative rows in one
// snapshot, in this order, and the first check that fails names the reason:
//
//	G1 tenant        the index's tenant is the asker's
//	G2 space         the index's space is the one that was asked
//	G3 generation    the index's generation is the space's, and above its fence
//	G4 rights        the asker may read memory in that space
//	G5 source        the row exists, is ready, has no tombstone; its text is what
//	                 was captured; the span lies in it on rune boundaries
//	G6 provenance    the row's signature stands
//	G7 support       the text shares something with the query, is not the query
//	                 asked again, and is not an answer that nothing is remembered
//
// G1 to G6 are safety and also guard Read; G7 is usefulness.

// checked is a source that passed G1 to G6, with its text.
type checked struct {
	source dhruva.Source
	ref    dhruva.Reference
	text   string
}

// span is a byte range of a source's text that was sealed into a token. A nil
// span means the whole text.
type span struct {
	start, end int
	digest     [16]byte
}

// spanDigest is the first half of SHA-256 of a span. It finds texts that
// changed under a token; the token itself is authenticated by its seal.
func spanDigest(text string) (d [16]byte) {
	sum := sha256.Sum256([]byte(text))
	copy(d[:], sum[:])
	return d
}

// check runs G1 to G6. What the index believes of the text is compared when
// there is no span; a span carries its own digest. A reason other than GatePassed is a refusal; an error
// is a failure of the store.
func (e *Engine) check(tx dhruva.Tx, p dhruva.Principal, s dhruva.SpaceID, en entry, sp *span) (checked, dhruva.GateReason, error) {
	if en.scope.Tenant() != p.Tenant {
		return checked{}, dhruva.GateTenantMismatch, nil
	}
	if en.scope.Space() != s {
		return checked{}, dhruva.GateNamespaceMismatch, nil
	}
	epoch, err := tx.Epoch(s)
	if err != nil {
		return checked{}, "", err
	}
	if en.generation != epoch.Generation || en.generation <= epoch.Fence {
		return checked{}, dhruva.GateStaleGeneration, nil
	}
	if !p.May(dhruva.MemoryRead) || !p.Reaches(s) {
		return checked{}, dhruva.GateACLDenied, nil
	}
	c, reason, err := e.checkSource(tx, s, en, sp)
	if err != nil || reason != dhruva.GatePassed {
		return checked{}, reason, err
	}
	if !dhruva.VerifySource(e.Keys, c.source) {
		return checked{}, dhruva.GateProvenanceInvalid, nil
	}
	return c, dhruva.GatePassed, nil
}

// checkSource is G5.
func (e *Engine) checkSource(tx dhruva.Tx, s dhruva.SpaceID, en entry, sp *span) (checked, dhruva.GateReason, error) {
	_, err := tx.Tombstone(s, en.generation, en.source)
	if err == nil {
		return checked{}, dhruva.GateSourceTombstoned, nil
	} else if !errors.Is(err, dhruva.ErrNotFound) {
		return checked{}, "", err
	}
	src, err := tx.Source(s, en.generation, en.source)
	if errors.Is(err, dhruva.ErrNotFound) {
		return checked{}, dhruva.GateSourceNotReady, nil
	} else if err != nil {
		return checked{}, "", err
	}
	if src.State != dhruva.SourceReady || sp == nil && src.Digest != en.digest {
		return checked{}, dhruva.GateSourceNotReady, nil
	}
	refs, err := tx.References(s, en.generation, en.source)
	if err != nil {
		return checked{}, "", err
	}
	for _, r := range refs {
		text, ok := dhruva.ReferenceText(tx, r)
		if ok && dhruva.DigestText(text) == src.Digest && sp.fits(text) {
			return checked{src, r, text}, dhruva.GatePassed, nil
		}
	}
	return checked{}, dhruva.GateSourceNotReady, nil
}

// fits reports whether the span is exactly what it was when it was sealed.
func (s *span) fits(text string) bool {
	if s == nil {
		return true
	}
	if s.start < 0 || s.end > len(text) || s.start > s.end || !boundary(text, s.start) || !boundary(text, s.end) {
		return false
	}
	return spanDigest(text[s.start:s.end]) == s.digest
}

func boundary(text string, at int) bool { return at == len(text) || utf8.RuneStart(text[at]) }

// admitted is a candidate that passed, with the span to show.
type admitted struct {
	checked
	start, end int
	score      float64
	why        []dhruva.Reason
	when       time.Time
}

// admission runs the gate over the candidates of one query.
type admission struct {
	engine    *Engine
	principal dhruva.Principal
	space     dhruva.SpaceID
	query     support
	passed    []admitted
	rejected  []dhruva.Rejection
	unsafe    int // refused by G1 to G6
}

func (a *admission) run(tx dhruva.Tx, hits []candidate) error {
	a.passed, a.rejected, a.unsafe = nil, nil, 0 // the store may run this again
	for _, h := range hits {
		c, reason, err := a.engine.check(tx, a.principal, a.space, h.entry, nil)
		if err != nil {
			return err
		}
		if reason == dhruva.GatePassed && c.source.Class.Trust() == 0 {
			reason = dhruva.GateSourceNotReady // external text is never evidence
		}
		if reason != dhruva.GatePassed {
			a.unsafe++
		} else if !a.query.supports(c) {
			reason = dhruva.GateInsufficientSupport
		}
		if reason != dhruva.GatePassed {
			a.rejected = append(a.rejected, dhruva.Rejection{Source: h.source, Reason: reason})
			continue
		}
		start, end := a.query.span(c.text, a.engine.snippetBytes())
		a.passed = append(a.passed, admitted{
			checked: c, start: start, end: end, why: h.why(), when: c.source.EventTime,
			score: trusted(h.Score, hits[0].Score, c.source.Class.Trust()) * stated(c.text),
		})
	}
	slices.SortStableFunc(a.passed, func(x, y admitted) int { return cmp.Compare(y.score, x.score) })
	return nil
}

// stated weighs a text by whether it states anything: a question that was asked
// once is worth less than any answer to it.
func stated(text string) float64 {
	if asksOnly(text) {
		return .2
	}
	return 1
}

// choose applies, in order: one seat for each text (one that says the same with
// little else has none), what the asker already sees, one global top k, the
// budget (whole items only).
func (a *admission) choose(ask Ask) []admitted {
	var out []admitted
	var seats []string
	left := ask.Budget
	for _, c := range a.passed {
		if len(out) == ask.TopK || c.score < ask.Floor*a.passed[0].score {
			break
		}
		snippet := c.text[c.start:c.end]
		said := plain(snippet)
		if seated(seats, said) || ask.Visible != nil && ask.Visible(snippet) {
			continue
		}
		if cost := dhruva.Estimate(snippet); ask.Budget > 0 {
			if cost > left {
				continue
			}
			left -= cost
		}
		seats = append(seats, said)
		out = append(out, c)
	}
	return out
}

// seated reports a text that one of the chosen says already, or that says one
// of them again with at most half as much around it.
func seated(seats []string, said string) bool {
	return slices.ContainsFunc(seats, func(s string) bool {
		return strings.Contains(s, said) || 2*len(said) <= 3*len(s) && strings.Contains(said, s)
	})
}

// outcome names the status: refused when candidates existed and every one
// failed a safety check, empty when nothing supported the query.
func (a *admission) outcome(hits int, ev []dhruva.Evidence) (dhruva.RecallStatus, dhruva.GateReason) {
	switch {
	case len(ev) > 0:
		return dhruva.RecallRecalled, dhruva.GatePassed
	case hits == 0:
		return dhruva.RecallEmpty, dhruva.GateNoCandidates
	case a.unsafe == hits:
		return dhruva.RecallRefused, a.rejected[0].Reason
	case len(a.passed) > 0:
		return dhruva.RecallEmpty, dhruva.GateBudgetExceeded
	}
	return dhruva.RecallEmpty, dhruva.GateInsufficientSupport
}

func (a *admission) evidence(chosen []admitted) []dhruva.Evidence {
	var out []dhruva.Evidence
	for _, c := range chosen {
		out = append(out, dhruva.Evidence{
			Token: a.engine.seal(a.principal, c), Source: c.source.ID, Class: c.source.Class,
			Trust: c.source.Class.Trust(), Role: c.source.Role, Session: c.ref.Session, Seq: c.ref.Seq,
			Time: c.when, Start: c.start, End: c.end, Snippet: c.text[c.start:c.end], Score: c.score, Why: c.why,
		})
	}
	return out
}
