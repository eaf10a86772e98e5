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
	turns, err := m.beginning(ctx, id)
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

// beginning are the first turns of a session that were not purged, cut.
func (m *Memory) beginning(ctx context.Context, id dhruva.SessionID) (out []dhruva.Turn, err error) {
	for after := int64(0); len(out) < titleTurns; {
		page, err := m.Ledger.ListTurns(ctx, id, after, 100)
		if err != nil {
			return nil, err
		}
		for _, t := range page {
			if after = t.Seq; !t.Redacted && (t.Role == dhruva.RoleUser || t.Role == dhruva.RoleAssistant) && len(out) < titleTurns {
				t.Content = firstRunes(t.Content, titleTurnRunes)
				out = append(out, t)
			}
		}
		if len(page) == 0 {
			break
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
