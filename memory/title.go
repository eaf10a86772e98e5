package memory

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/llm"
)

// What a title is made of, and how long it is.
const (
	titleTurns     = 4
	titleTurnRunes = 300
	titleRunes     = 60
)

// Title has the model for background work name a session by how it begins, and
// stores the name. A session without turns is ErrInvalid. Needs state:write.
func (m *Memory) Title(ctx context.Context, id dhruva.SessionID) (dhruva.Session, error) {
	if err := mayAsk(ctx); err != nil {
		return dhruva.Session{}, err
	}
	s, err := m.Ledger.Session(ctx, id)
	if err != nil {
		return dhruva.Session{}, err
	}
	turns, err := m.beginning(ctx, s)
	if err != nil {
		return dhruva.Session{}, err
	}
	p, err := m.by(ctx, By{})
	if err != nil {
		return dhruva.Session{}, err
	}
	r := m.receipt(ctx, "title", "api", s.Space)
	r.Session = s.ID
	title := ""
	_, err = m.ask(ctx, p, r, titleRequest(turns), func(res llm.Response) error {
		if title = titleOf(res.Text); title == "" {
			return llm.NewError(p.Name, 200, "empty", "the model gave no title", nil)
		}
		return nil
	})
	if err != nil {
		return dhruva.Session{}, err
	}
	return m.Ledger.SetTitle(ctx, id, title)
}

// beginning are the first turns of a session's conversation that were not purged,
// cut: of what is mounted, those after it.
func (m *Memory) beginning(ctx context.Context, s dhruva.Session) (out []dhruva.Turn, err error) {
	const page = 100
	w := dhruva.Window{Session: s.ID}
	if s.Mount != nil {
		w.Base = s.Mount.Base
	}
	for from := w.Base; from < s.LastSeq && len(out) < titleTurns; from += page {
		rows, err := m.Ledger.Path(ctx, s.ID, from+page+1, page)
		if err != nil {
			return nil, err
		}
		for _, t := range rows {
			if t.Seq > from && w.Contains(t.Turn) && !t.Redacted && (t.Role == dhruva.RoleUser || t.Role == dhruva.RoleAssistant) && len(out) < titleTurns {
				t.Content = firstRunes(t.Content, titleTurnRunes)
				out = append(out, t.Turn)
			}
		}
	}
	if len(out) == 0 {
		err = fmt.Errorf("%w: the session has no turns to make a title of", dhruva.ErrInvalid)
	}
	return out, err
}

// firstRunes are the first n characters of a text.
func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// titlePrefix is how models introduce a title.
var titlePrefix = regexp.MustCompile(`(?i)^(title|session title)\s*:\s*`)

// titleOf is the title in a model's answer: its first line, without the quotes
// and marks around it.
func titleOf(answer string) string {
	const marks = " \t\"'`“”„‘’«»*_#"
	first, _, _ := strings.Cut(strings.TrimSpace(plainLines(answer)), "\n")
	first = titlePrefix.ReplaceAllString(strings.Trim(first, marks), "")
	first = strings.TrimSuffix(strings.Trim(first, marks), ".")
	return strings.Trim(oneLine(strings.Trim(first, marks), titleRunes), marks)
}
