package api

import (
	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

// Paging is the paging of every list.
type Paging struct {
	After string `query:"after" doc:"The next of the page before."`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" doc:"At most this many items. Default 100."`
}

func (p Paging) page() dhruva.Page { return dhruva.Page{After: p.After, Limit: p.Limit} }

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
