package ledger

import (
	"context"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// Metrics are figures about the work in a space.
type Metrics struct {
	Space dhruva.Space
	At    time.Time

	Checkpoints int
	// Authors counts checkpoints by author.
	Authors map[string]int
	// Continued counts checkpoints by somebody else than their first parent's
	// author.
	Continued int
	Decisions int
	Tasks     int
	// Structured counts checkpoints with a task that says more than its text;
	// Named those with a task that has an id.
	Structured, Named int
	// Milestones and Noise count notes on checkpoints.
	Milestones, Noise int

	// Claims are all of them; each is in force, done, abandoned or expired.
	Claims, ClaimsActive, ClaimsDone, ClaimsAbandoned, ClaimsExpired int
	// ClaimsOfTasks name a task.
	ClaimsOfTasks int

	// Branches counts those besides main by disposition.
	Branches map[string]int
}

// Metrics counts what a space holds, at one instant. It reads everything, page
// by page, and keeps a line for each checkpoint. Needs state:read.
func (l *Ledger) Metrics(ctx context.Context, space dhruva.SpaceID) (out Metrics, err error) {
	p, err := principal(ctx, dhruva.StateRead)
	if err != nil {
		return out, wrap("metrics", err)
	}
	now := l.now()
	err = l.view(ctx, p, func(tx dhruva.Tx) error {
		out = Metrics{At: now, Authors: map[string]int{}, Branches: map[string]int{}}
		if out.Space, err = liveSpace(tx, p, space); err != nil {
			return err
		}
		return out.read(tx)
	})
	if err != nil {
		return Metrics{}, wrap("metrics", err)
	}
	return out, nil
}

func (m *Metrics) read(tx dhruva.Tx) error {
	authors, err := m.checkpoints(tx)
	if err != nil {
		return err
	}
	return firstOf(m.notes(tx, authors), m.claims(tx), m.branches(tx))
}

// metricsPage is how many checkpoints, with all that they say, are held at a
// time.
const metricsPage = 200

// checkpoints counts them, and tells who made each.
func (m *Metrics) checkpoints(tx dhruva.Tx) (map[dhruva.Hash]string, error) {
	authors, parents := map[dhruva.Hash]string{}, map[dhruva.Hash]dhruva.Hash{}
	err := eachPage(metricsPage, func(page dhruva.Page) ([]dhruva.Checkpoint, error) {
		return tx.ListCheckpoints(dhruva.CheckpointQuery{Space: m.Space.ID, Page: page})
	}, func(c dhruva.Checkpoint) string {
		m.checkpoint(&c)
		authors[c.Hash], parents[c.Hash] = c.Author, c.Parent()
		return c.Hash.String()
	})
	for hash, parent := range parents {
		if author, ok := authors[parent]; ok && author != authors[hash] {
			m.Continued++
		}
	}
	return authors, err
}

func (m *Metrics) checkpoint(c *dhruva.Checkpoint) {
	m.Checkpoints++
	m.Authors[c.Author]++
	m.Decisions += len(c.Of(dhruva.KindDecision))
	structured, named := false, false
	for _, task := range c.Of(dhruva.KindTask) {
		m.Tasks++
		structured = structured || len(task.Attrs) > 0
		named = named || task.Attr(dhruva.AttrSlug) != ""
	}
	if structured {
		m.Structured++
	}
	if named {
		m.Named++
	}
}

// notes counts those on checkpoints that are there.
func (m *Metrics) notes(tx dhruva.Tx, on map[dhruva.Hash]string) error {
	return eachPage(1000, func(page dhruva.Page) ([]dhruva.Note, error) {
		return tx.ListNotes(dhruva.NoteQuery{Space: m.Space.ID, Page: page})
	}, func(n dhruva.Note) string {
		_, there := on[n.Checkpoint]
		switch {
		case there && n.Kind == dhruva.NoteMilestone:
			m.Milestones++
		case there && n.Kind == dhruva.NoteNoise:
			m.Noise++
		}
		return string(n.ID)
	})
}

func (m *Metrics) claims(tx dhruva.Tx) error {
	return eachPage(1000, func(page dhruva.Page) ([]dhruva.Claim, error) {
		return tx.ListClaims(dhruva.ClaimQuery{Space: m.Space.ID, Page: page})
	}, func(c dhruva.Claim) string {
		m.Claims++
		if c.Task != "" {
			m.ClaimsOfTasks++
		}
		switch {
		case expired(c, m.At):
			m.ClaimsExpired++
		case c.Status == dhruva.ClaimDone:
			m.ClaimsDone++
		case c.Status == dhruva.ClaimAbandoned:
			m.ClaimsAbandoned++
		default:
			m.ClaimsActive++
		}
		return string(c.ID)
	})
}

func (m *Metrics) branches(tx dhruva.Tx) error {
	rows, err := tx.ListBranches(m.Space.ID)
	for _, b := range rows {
		if b.Name != dhruva.MainBranch {
			m.Branches[disposed(b)]++
		}
	}
	return err
}

// eachPage calls fn for every row of a list, which answers its id. No more than
// a page of them is held.
func eachPage[T any](limit int, fetch func(dhruva.Page) ([]T, error), fn func(T) string) error {
	for page := (dhruva.Page{Limit: limit}); ; {
		rows, err := fetch(page)
		if err != nil {
			return err
		}
		for _, row := range rows {
			page.After = fn(row)
		}
		if len(rows) < limit {
			return nil
		}
	}
}
