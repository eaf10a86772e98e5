package storetest

import (
	"github.com/dhruva-memory/dhruva"
)

// tombstones notes which sources are buried: their erasure is no longer pending.
func (c *checker) tombstones() {
	c.buried = map[int64]map[dhruva.SourceID]bool{}
	for _, g := range c.generations() {
		c.buried[g] = map[dhruva.SourceID]bool{}
		for _, t := range pages(c, "tombstones", tombstoneName, func(p dhruva.Page) ([]dhruva.Tombstone, error) {
			return c.tx.ListTombstones(c.scope.Space(), g, p)
		}) {
			c.buried[g][t.Source] = t.State != "pending"
			if same, err := c.tx.Tombstone(t.Space, g, t.Source); err != nil || same != t {
				c.broke("tombstone %s: listed as %+v, read as %+v, %v", t.Source, t, same, err)
			}
		}
	}
}

func tombstoneName(t dhruva.Tombstone) string { return string(t.Source) }

// of checks that something derived is of a source that stands.
func (c *checker) of(what string, g int64, id dhruva.SourceID) {
	if !c.stands(g) {
		c.found("%s: generation %d, fence %d, generation of the space %d", what, g, c.epoch.Fence, c.epoch.Generation)
	}
	if _, err := c.tx.Source(c.scope.Space(), g, id); err != nil {
		c.found("%s: its source %s: %v", what, id, err)
	}
	if c.buried[g][id] {
		c.found("%s: its source %s has a tombstone", what, id)
	}
}

func (c *checker) records() {
	for _, g := range c.generations() {
		for _, r := range pages(c, "records", recordName, func(p dhruva.Page) ([]dhruva.Record, error) {
			return c.tx.ListRecords(dhruva.RecordQuery{Space: c.scope.Space(), Generation: g, Page: p})
		}) {
			c.of("record "+string(r.ID), g, r.Source)
		}
	}
}

func (c *checker) vectors() {
	for _, g := range c.generations() {
		for _, v := range pages(c, "vectors", func(v dhruva.Vector) string { return string(v.Source) }, func(p dhruva.Page) ([]dhruva.Vector, error) {
			return c.tx.ListVectors(dhruva.VectorQuery{Space: c.scope.Space(), Generation: g, Page: p})
		}) {
			c.of("vector "+vectorName(v), g, v.Source)
		}
	}
}

// replays are found through the sources that are known, and those that are
// buried.
func (c *checker) replays() {
	seen := map[dhruva.ReplayID]bool{}
	for _, g := range c.generations() {
		sources := keys(pages(c, "sources", sourceName, func(p dhruva.Page) ([]dhruva.Source, error) {
			return c.tx.ListSources(dhruva.SourceQuery{Space: c.scope.Space(), Generation: g, Page: p})
		}), sourceName)
		for _, t := range pages(c, "tombstones", tombstoneName, func(p dhruva.Page) ([]dhruva.Tombstone, error) {
			return c.tx.ListTombstones(c.scope.Space(), g, p)
		}) {
			sources = append(sources, string(t.Source))
		}
		for _, id := range sources {
			for _, replay := range pages(c, "replays", func(id dhruva.ReplayID) string { return string(id) }, func(p dhruva.Page) ([]dhruva.ReplayID, error) {
				return c.tx.ReplaysOf(c.scope.Space(), dhruva.SourceID(id), p)
			}) {
				if !seen[replay] {
					seen[replay] = true
					c.replay(replay)
				}
			}
		}
	}
}

func (c *checker) replay(id dhruva.ReplayID) {
	r, err := c.tx.Replay(c.scope.Space(), id)
	if err != nil {
		c.broke("replay %s: listed for a source: %v", id, err)
		return
	}
	for _, e := range r.Evidence {
		c.of("replay "+string(id), r.Generation, e.Source)
	}
	for _, key := range r.Keys {
		rows, err := c.tx.Replays(r.Space, r.Dialect, key, 1000)
		if _, err := found(rows, err, func(o dhruva.Replay) bool { return o.ID == id }); err != nil && len(rows) < 1000 {
			c.broke("replay %s: by its key %s: %v", id, key.Short(), err)
		}
	}
}
