package storetest

import (
	"fmt"
	"time"

	"github.com/dhruva-memory/dhruva"
)

func (d draw) tenantOps() []func() op {
	return []func() op{
		func() op {
			return write("PutTenant", dhruva.Tx.PutTenant, dhruva.Tenant{ID: d.owner(), Name: d.text(), CreatedAt: at(d.n())})
		},
		func() op { return ask("Tenant", dhruva.Tx.Tenant, d.owner()) },
		func() op { return ask("ListTenants", dhruva.Tx.ListTenants, d.beyond()) },
		func() op {
			s := d.row()
			row := dhruva.Space{Tenant: s.Tenant(), ID: s.Space(), Name: d.text(), Owner: dhruva.PrincipalID(d.id()), Home: d.flag(),
				CreatedAt: at(d.n()), UpdatedAt: at(d.n())}
			if d.n() == 0 {
				row.DeletedAt = at(1)
			}
			return write("PutSpace", dhruva.Tx.PutSpace, row)
		},
		func() op { return ask("Space", dhruva.Tx.Space, d.space()) },
		func() op { return ask("SpacesNamed", dhruva.Tx.SpacesNamed, d.text()) },
		func() op { return ask("HomeSpace", dhruva.Tx.HomeSpace, dhruva.PrincipalID(d.id())) },
		func() op { return ask("ListSpaces", dhruva.Tx.ListSpaces, d.page()) },
	}
}

func (d draw) feedOps() []func() op {
	return []func() op{
		func() op { return ask("Epoch", dhruva.Tx.Epoch, d.space()) },
		func() op {
			return write("PutEpoch", dhruva.Tx.PutEpoch, dhruva.Epoch{Space: d.space(), Generation: d.small(), Fence: d.small() / 2,
				ACLVersion: d.small(), Head: d.small(), Tail: d.small()})
		},
		func() op {
			id, c := d.space(), dhruva.Change{Seq: d.small(), Kind: dhruva.ChangeSource, Ref: d.text(), At: at(d.n())}
			return call("AppendChange", func(tx dhruva.Tx) (int64, error) { return tx.AppendChange(id, c) }, id, c)
		},
		func() op { // near the ends, which only the store knows
			id, more := d.space(), d.small()-2
			return put("CompactChanges", func(tx dhruva.Tx) error {
				e, _ := tx.Epoch(id)
				return tx.CompactChanges(id, (e.Tail+e.Head)/2+more)
			}, id, more)
		},
		func() op {
			s := d.row()
			return write("PutCursor", dhruva.Tx.PutCursor, dhruva.Cursor{Tenant: s.Tenant(), Space: s.Space(), Node: dhruva.NodeID(d.id()), Seq: d.small(), At: at(d.n())})
		},
		func() op { return ask("Cursors", dhruva.Tx.Cursors, d.space()) },
		func() op {
			id, node := d.space(), dhruva.NodeID(pick(d, "node", d.id(), d.text()))
			return put("DropCursor", func(tx dhruva.Tx) error { return tx.DropCursor(id, node) }, id, node)
		},
		func() op {
			return write("PutNode", dhruva.Tx.PutNode, dhruva.Node{ID: dhruva.NodeID(d.installed()), Name: d.text(), Version: d.text(), Until: at(d.n())})
		},
		func() op { return ask("Node", dhruva.Tx.Node, dhruva.NodeID(d.installed())) },
		func() op { return ask("ListNodes", dhruva.Tx.ListNodes, d.beyond()) },
		func() op {
			id := dhruva.NodeID(d.installed())
			return put("DropNode", func(tx dhruva.Tx) error { return tx.DropNode(id) }, id)
		},
		func() op {
			row := dhruva.Lease{Tenant: d.owner(), Name: d.installed(), Owner: dhruva.NodeID(d.text()), Fence: d.small(), Until: at(d.n())}
			return write("PutLease", dhruva.Tx.PutLease, row)
		},
		func() op {
			id, name := d.owner(), d.installed()
			return call("Lease", func(tx dhruva.Tx) (dhruva.Lease, error) { return tx.Lease(id, name) }, id, name)
		},
	}
}

func (d draw) sessionOps() []func() op {
	return []func() op{
		func() op {
			s := d.row()
			row := session(s, d.id(), at(d.n()))
			row.Title, row.Kind, row.LastSeq, row.ForkedFrom = d.text(), pick(d, "kind", dhruva.SessionChat, dhruva.SessionProxy), d.small(), d.hash()
			row.Tip = d.small()
			if d.flag() {
				row.Mount = &dhruva.Mount{Checkpoint: d.hash(), Depth: d.n(), Base: d.small(), At: at(d.n())}
			}
			if d.n() == 0 {
				row.DeletedAt = at(1)
			}
			return write("PutSession", dhruva.Tx.PutSession, row)
		},
		func() op { return ask("Session", dhruva.Tx.Session, dhruva.SessionID(d.id())) },
		func() op {
			return ask("ListSessions", dhruva.Tx.ListSessions, dhruva.SessionQuery{Space: d.space(), Kind: pick(d, "kind", "", dhruva.SessionProxy), Page: d.page()})
		},
		func() op {
			return write("PutChain", dhruva.Tx.PutChain, dhruva.Chain{Space: d.space(), Hash: d.hash(), Session: dhruva.SessionID(d.id()), Seq: d.small()})
		},
		func() op {
			id, h := d.space(), d.hash()
			return call("Chain", func(tx dhruva.Tx) (dhruva.Chain, error) { return tx.Chain(id, h) }, id, h)
		},
		func() op {
			id, h, s := d.space(), d.hash(), dhruva.SessionID(d.id())
			return put("BindHint", func(tx dhruva.Tx) error { return tx.BindHint(id, h, s) }, id, h, s)
		},
		func() op {
			id, h := d.space(), d.hash()
			return call("SessionHint", func(tx dhruva.Tx) (dhruva.SessionID, error) { return tx.SessionHint(id, h) }, id, h)
		},
	}
}

func (d draw) turnOps() []func() op {
	return []func() op{
		func() op {
			row := turn(d.row(), d.id(), d.small())
			row.Content, row.Interim = d.text(), d.flag()
			if d.flag() { // one that may be a seam
				row.Parent, row.BeganAfter, row.Redacted = row.Seq-1-d.small()%2, row.Seq-1-d.small()%3, d.n() == 0
				row.Role = pick(d, "role", dhruva.RoleUser, dhruva.RoleAssistant, dhruva.RoleTool, dhruva.Role(d.text()))
			}
			return write("AppendTurn", dhruva.Tx.AppendTurn, row)
		},
		func() op {
			id, seq := dhruva.SessionID(d.id()), d.small()
			return put("RedactTurn", func(tx dhruva.Tx) error { return tx.RedactTurn(id, seq) }, id, seq)
		},
		func() op {
			id, seq := dhruva.SessionID(d.id()), d.small()
			return call("Turn", func(tx dhruva.Tx) (dhruva.Turn, error) { return tx.Turn(id, seq) }, id, seq)
		},
		func() op {
			return ask("ListTurns", dhruva.Tx.ListTurns, dhruva.TurnQuery{Session: dhruva.SessionID(d.id()), After: d.small() - 1, Through: d.small(),
				Limit: d.n(), Newest: d.flag()})
		},
		func() op {
			id, after, through := dhruva.SessionID(d.id()), d.small()-1, d.small()-1
			return call("Seams", func(tx dhruva.Tx) ([]dhruva.Seam, error) { return tx.Seams(id, after, through) }, id, after, through)
		},
	}
}

// checkpoint is one of a few, so that hashes and ids meet.
func (d draw) checkpoint() dhruva.Checkpoint {
	s := d.row()
	c := dhruva.Checkpoint{Tenant: s.Tenant(), Space: s.Space(), ID: dhruva.CheckpointID(d.id()), Branch: d.text(), CreatedAt: at(d.n()),
		Window: dhruva.Window{Session: dhruva.SessionID(d.id())}, Generation: d.small()}
	for range d.n() % 3 {
		c.Parents = append(c.Parents, d.hash())
	}
	if d.n() == 0 {
		c.HiddenAt = at(d.n())
	}
	for n := range d.n() {
		c.Items = append(c.Items, dhruva.Item{ID: dhruva.ItemID(fmt.Sprint(n % 3)), Kind: pick(d, "kind", dhruva.KindTask, dhruva.KindTitle), Text: d.text(), Salt: [16]byte{byte(n)},
			Attrs: []dhruva.Attr{{Name: "n", Value: d.id()}}[:d.n()%2], Cites: []dhruva.Cite{}})
	}
	c.Hash = d.hash() // not its own: a store does not look
	return c
}

func (d draw) checkpointOps() []func() op {
	return []func() op{
		func() op { return write("PutCheckpoint", dhruva.Tx.PutCheckpoint, d.checkpoint()) },
		func() op { return ask("Checkpoint", dhruva.Tx.Checkpoint, d.hash()) },
		func() op { return ask("CheckpointByID", dhruva.Tx.CheckpointByID, dhruva.CheckpointID(d.id())) },
		func() op {
			h, id := d.hash(), dhruva.ItemID(pick(d, "item", "0", "1", "2", d.text()))
			return put("RedactItem", func(tx dhruva.Tx) error { return tx.RedactItem(h, id) }, h, id)
		},
		func() op {
			h := digest(fmt.Sprint(d.small())).String()
			prefix, limit := pick(d, "prefix", "", h[:1], h[:5], h, "z", h+"0"), d.n()-1
			return call("CheckpointsByPrefix", func(tx dhruva.Tx) ([]dhruva.Checkpoint, error) { return tx.CheckpointsByPrefix(prefix, limit) }, prefix, limit)
		},
		func() op {
			q := dhruva.CheckpointQuery{Space: d.space(), Branch: d.filter(d.text()), Session: dhruva.SessionID(d.filter(d.id())),
				Item: dhruva.ItemID(d.filter("0", "1", "2", d.text())), Page: dhruva.Page{After: pick(d, "after", d.hash().String(), "", "bad"), Limit: d.n()}}
			return ask("ListCheckpoints", dhruva.Tx.ListCheckpoints, q)
		},
	}
}

func (d draw) receiptOps() []func() op {
	return []func() op{
		func() op {
			row := receipt(d.row(), d.id())
			row.Session, row.Kind, row.State, row.CreatedAt = dhruva.SessionID(d.id()), d.text(), pick(d, "state", "open", "final"), at(d.n())
			if d.flag() {
				row.Space = ""
			}
			if d.flag() {
				row.Context = &dhruva.ContextUsed{Turns: []int64{}, Checkpoints: []dhruva.Hash{d.hash()}}
			}
			return write("PutReceipt", dhruva.Tx.PutReceipt, row)
		},
		func() op { return ask("Receipt", dhruva.Tx.Receipt, dhruva.ReceiptID(d.id())) },
		func() op {
			q := dhruva.ReceiptQuery{Space: d.space(), Session: dhruva.SessionID(d.filter(d.id())), Kind: d.filter(d.text()),
				State: d.filter("open", "final"), Page: d.page()}
			if d.flag() {
				q.Before = at(d.n()).Add(pick[time.Duration](d, "more", 0, 1, 1000))
			}
			return ask("ListReceipts", dhruva.Tx.ListReceipts, q)
		},
	}
}

func (d draw) auditOps() []func() op {
	return []func() op{
		func() op {
			s := d.row()
			row := leaf(s, d.id(), d.n())
			row.Kind, row.Seq, row.Digest = d.text(), d.small()/4, d.hash()
			if d.flag() {
				row.Space = ""
			}
			return write("PutLeaf", dhruva.Tx.PutLeaf, row)
		},
		func() op { return ask("Leaf", dhruva.Tx.Leaf, dhruva.LeafID(d.id())) },
		func() op {
			id, seq := dhruva.LeafID(pick(d, "leaf", d.id(), d.text())), d.small()
			return put("PlaceLeaf", func(tx dhruva.Tx) error { return tx.PlaceLeaf(id, seq) }, id, seq)
		},
		func() op { return ask("PendingLeaves", dhruva.Tx.PendingLeaves, d.n()-1) },
		func() op {
			after, limit := d.small()-2, d.n()-1
			return call("ListLeaves", func(tx dhruva.Tx) ([]dhruva.Leaf, error) { return tx.ListLeaves(after, limit) }, after, limit)
		},
		func() op { return call("AuditHead", dhruva.Tx.AuditHead) },
		func() op {
			return write("PutAuditHead", dhruva.Tx.PutAuditHead, dhruva.AuditHead{Tenant: d.owner(), Size: d.small(), Fence: d.small(), At: at(d.n())})
		},
	}
}
