package storetest

import (
	"github.com/dhruva-memory/dhruva"
)

func (d draw) sourceOps() []func() op {
	return []func() op{
		func() op {
			row := source(d.row(), d.id())
			row.Generation, row.HeldFor, row.Size, row.Digest = d.generation(), d.text(), d.n(), d.hash()
			row.State = pick(d, "state", dhruva.SourceReady, dhruva.SourceHeld)
			return write("PutSource", dhruva.Tx.PutSource, row)
		},
		func() op {
			id, g, src := d.space(), d.generation(), d.source()
			return call("Source", func(tx dhruva.Tx) (dhruva.Source, error) { return tx.Source(id, g, src) }, id, g, src)
		},
		func() op {
			return ask("ListSources", dhruva.Tx.ListSources, dhruva.SourceQuery{Space: d.space(), Generation: d.generation(),
				State: pick(d, "state", "", dhruva.SourceHeld), Class: pick(d, "class", "", dhruva.ClassUserTyped, dhruva.ClassDerived), Page: d.page()})
		},
		func() op {
			id, g := d.space(), d.generation()
			return call("CountSources", func(tx dhruva.Tx) (int, error) { return tx.CountSources(id, g) }, id, g)
		},
		func() op {
			row := d.reference()
			if d.n() == 0 {
				row.Checkpoint, row.Item = d.hash(), dhruva.ItemID(d.id())
			}
			return write("AddReference", dhruva.Tx.AddReference, row)
		},
		func() op { return write("DropReference", dhruva.Tx.DropReference, d.reference()) },
		func() op {
			id, g, src := d.space(), d.generation(), dhruva.SourceID(pick(d, "source", d.id(), d.text()))
			return put("DropSource", func(tx dhruva.Tx) error { return tx.DropSource(id, g, src) }, id, g, src)
		},
		func() op {
			id, g, src := d.space(), d.generation(), d.source()
			return call("References", func(tx dhruva.Tx) ([]dhruva.Reference, error) { return tx.References(id, g, src) }, id, g, src)
		},
		func() op {
			id, g, s, seq := d.space(), d.generation(), dhruva.SessionID(d.id()), d.small()%2
			return call("SourcesOfTurn", func(tx dhruva.Tx) ([]dhruva.SourceID, error) { return tx.SourcesOfTurn(id, g, s, seq) }, id, g, s, seq)
		},
		func() op {
			return write("PutTombstone", dhruva.Tx.PutTombstone, dhruva.Tombstone{Space: d.space(), Generation: d.generation(), Source: d.source(),
				State: pick(d, "state", "pending", "completed", d.text()), CreatedAt: at(d.n())})
		},
		func() op {
			id, g, src := d.space(), d.generation(), d.source()
			return call("Tombstone", func(tx dhruva.Tx) (dhruva.Tombstone, error) { return tx.Tombstone(id, g, src) }, id, g, src)
		},
		func() op {
			id, g, p := d.space(), d.generation(), d.page()
			return call("ListTombstones", func(tx dhruva.Tx) ([]dhruva.Tombstone, error) { return tx.ListTombstones(id, g, p) }, id, g, p)
		},
	}
}

func (d draw) reference() dhruva.Reference {
	return dhruva.Reference{Space: d.space(), Generation: d.generation(), Source: d.source(), Session: dhruva.SessionID(d.id()), Seq: d.small() % 2}
}

func (d draw) recordOps() []func() op {
	model := func() string { return pick(d, "model", "m", "M", "m", "") }
	return []func() op{
		func() op {
			s := d.row()
			return write("PutRecord", dhruva.Tx.PutRecord, dhruva.Record{Tenant: s.Tenant(), Space: s.Space(), Generation: d.generation(),
				ID: dhruva.RecordID(d.id()), Source: d.source(), Start: d.n(), End: d.n(), Kind: d.text(), Digest: d.hash(), CreatedAt: at(d.n())})
		},
		func() op {
			id, g, r := d.space(), d.generation(), dhruva.RecordID(d.id())
			return call("Record", func(tx dhruva.Tx) (dhruva.Record, error) { return tx.Record(id, g, r) }, id, g, r)
		},
		func() op {
			return ask("ListRecords", dhruva.Tx.ListRecords, dhruva.RecordQuery{Space: d.space(), Generation: d.generation(),
				Source: dhruva.SourceID(d.filter(d.id())), Kind: d.filter(d.text()), Page: d.page()})
		},
		func() op {
			id, g, src := d.space(), d.generation(), dhruva.SourceID(pick(d, "source", d.id(), d.text()))
			return put("DropRecords", func(tx dhruva.Tx) error { return tx.DropRecords(id, g, src) }, id, g, src)
		},
		func() op {
			s := d.row()
			return write("PutVector", dhruva.Tx.PutVector, dhruva.Vector{Tenant: s.Tenant(), Space: s.Space(), Generation: d.generation(),
				Source: d.source(), Model: model(), Part: d.n() - 1, Start: d.n(), Values: []float32{1, float32(d.n())}[:d.n()%3], CreatedAt: at(d.n())})
		},
		func() op {
			return ask("ListVectors", dhruva.Tx.ListVectors, dhruva.VectorQuery{Space: d.space(), Generation: d.generation(), Model: model(),
				Source: dhruva.SourceID(d.filter(d.id())), Page: d.page()})
		},
		func() op {
			id, g, src := d.space(), d.generation(), dhruva.SourceID(pick(d, "source", d.id(), d.text()))
			return put("DropVectors", func(tx dhruva.Tx) error { return tx.DropVectors(id, g, src) }, id, g, src)
		},
	}
}

func (d draw) replayOps() []func() op {
	dialect := func() dhruva.Dialect {
		return pick(d, "dialect", dhruva.DialectChat, dhruva.DialectChat, dhruva.DialectMessages, "")
	}
	return []func() op{
		func() op {
			s := d.row()
			row := dhruva.Replay{Tenant: s.Tenant(), Space: s.Space(), ID: dhruva.ReplayID(d.id()), Dialect: dialect(), Generation: d.generation(),
				Renderer: d.n(), Rendered: d.hash(), CreatedAt: at(d.n())}
			for range d.n() {
				row.Keys = append(row.Keys, d.hash())
			}
			for range d.n() {
				row.Evidence = append(row.Evidence, dhruva.Span{Source: dhruva.SourceID(pick(d, "source", "x", "y", "X", d.id())), Start: d.n()})
			}
			return write("PutReplay", dhruva.Tx.PutReplay, row)
		},
		func() op {
			id, r := d.space(), dhruva.ReplayID(d.id())
			return call("Replay", func(tx dhruva.Tx) (dhruva.Replay, error) { return tx.Replay(id, r) }, id, r)
		},
		func() op {
			id, dia, key, limit := d.space(), dialect(), d.hash(), d.n()-1
			return call("Replays", func(tx dhruva.Tx) ([]dhruva.Replay, error) { return tx.Replays(id, dia, key, limit) }, id, dia, key, limit)
		},
		func() op {
			id, src, p := d.space(), d.source(), d.page()
			return call("ReplaysOf", func(tx dhruva.Tx) ([]dhruva.ReplayID, error) { return tx.ReplaysOf(id, src, p) }, id, src, p)
		},
		func() op {
			id, r := d.space(), dhruva.ReplayID(pick(d, "replay", d.id(), d.text()))
			return put("DropReplay", func(tx dhruva.Tx) error { return tx.DropReplay(id, r) }, id, r)
		},
	}
}
