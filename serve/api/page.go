package api

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

// Paging is the paging of every list.
type Paging struct {
	After string `query:"after" doc:"The next of the page before."`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" doc:"At most this many items. Default 100."`
}

func (p Paging) page() dhruva.Page { return dhruva.Page{After: p.After, Limit: p.Limit} }

// byID is the page of a list whose cursors are ids that are minted here.
func (p Paging) byID() (dhruva.Page, error) {
	return p.checked(func(s string) bool { return uuid.Validate(s) == nil })
}

// byHash is the page of a list whose cursors are hashes.
func (p Paging) byHash() (dhruva.Page, error) {
	return p.checked(func(s string) bool {
		h, err := dhruva.ParseHash(s)
		return err == nil && h.String() == s
	})
}

// checked refuses what no page can have given: such a cursor would select
// nothing, or anything, in silence.
func (p Paging) checked(cursor func(string) bool) (dhruva.Page, error) {
	if p.After != "" && !cursor(p.After) {
		return dhruva.Page{}, fmt.Errorf("%w: after is the next of the page before, and this is none", dhruva.ErrInvalid)
	}
	return p.page(), nil
}

// list makes a page of views; its items are never null.
func list[R, V any](rows []R, next string, view func(R) V) client.List[V] {
	return client.List[V]{Items: each(rows, view), Next: next}
}

func each[R, V any](rows []R, view func(R) V) []V {
	out := make([]V, 0, len(rows))
	for _, r := range rows {
		out = append(out, view(r))
	}
	return out
}
