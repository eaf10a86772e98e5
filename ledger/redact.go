package ledger

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/redact"
)

// Secrets in a text are replaced before it is stored. Everything that is made of
// the text (turns, items, titles, digests, source ids, what the index is given)
// is made of what is left, so that a secret leaves no trace. What is not stored
// is taken of the text as it came: the links by which a conversation is
// recognised and the keys of imports and calls are keyed hashes.
//
// Every operation counts what it replaced: in its receipt, in its result, and in
// the row of a call with an idempotency key, for whoever repeats it.

// Verbatim is a Redact that leaves every text as it is.
func Verbatim(text string) (string, int) { return text, 0 }

// secrets is the Redact of a new Ledger.
func secrets() func(string) (string, int) {
	r := redact.New()
	return func(text string) (string, int) {
		out, found := r.Redact(text)
		return out, redact.Total(found)
	}
}

// hide is a short text without its secrets, for names and titles.
func (l *Ledger) hide(text string) string {
	out, _ := l.Redact(text)
	return out
}

// named is a captured name as a label without secrets.
func (l *Ledger) named(s string) string { return mendLabel(l.hide(s)) }

// plainBranch is a branch's name that is no secret.
func (l *Ledger) plainBranch(name string) (string, error) {
	if err := l.notSecret("name of the branch", name); err != nil {
		return "", err
	}
	return branchName(name)
}

// freshBranch is plainBranch for a branch to be made.
func (l *Ledger) freshBranch(name string) (string, error) {
	if err := l.notSecret("name of the branch", name); err != nil {
		return "", err
	}
	return newBranchName(name)
}

// notSecret refuses an identifier that looks like a secret: a placeholder would
// name many things.
func (l *Ledger) notSecret(what, id string) error {
	if l.hide(id) != id {
		return fmt.Errorf("%w: the %s looks like a secret; secrets are not stored", dhruva.ErrInvalid, what)
	}
	return nil
}

// redacted notes in the row of a call how many secrets an Update replaced.
// Outside of a call it does nothing.
func redacted(tx dhruva.Tx, n int) {
	if r, ok := tx.(*recorder); ok && n > 0 {
		r.made.count(madeRedactions, n)
	}
}

// madeRedactions is the kind under which an Outcome counts redactions.
const madeRedactions = "redactions"

// count adds to a number among the references.
func (m *made) count(kind string, n int) {
	for i, ref := range m.refs {
		if old, ok := strings.CutPrefix(ref, kind+":"); ok {
			if k, err := strconv.Atoi(old); err == nil {
				m.refs[i] = kind + ":" + strconv.Itoa(k+n)
				return
			}
		}
	}
	m.add(kind + ":" + strconv.Itoa(n))
}

// Redactions counts the secrets that a call replaced.
func (o Outcome) Redactions() int {
	n, err := strconv.Atoi(o.Last(madeRedactions))
	if err != nil {
		return 0
	}
	return n
}
