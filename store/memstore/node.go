package memstore

import (
	"cmp"

	"github.com/dhruva-memory/dhruva"
)

func (t *tx) Node(id dhruva.NodeID) (dhruva.Node, error) {
	row, ok := t.nodes[id]
	if !ok || !t.reach.System {
		return absent[dhruva.Node]("node")
	}
	return row, nil
}

func (t *tx) PutNode(row dhruva.Node) error {
	if err := row.Validate(); err != nil {
		return invalid("node", err)
	}
	if err := t.write("node", t.reach.System, 1); err != nil {
		return err
	}
	put(t, t.nodes, row.ID, row.Canonical())
	return nil
}

func (t *tx) ListNodes(p dhruva.Page) ([]dhruva.Node, error) {
	var out []dhruva.Node
	for _, row := range t.nodes {
		if t.reach.System && beyond(p.After, row.ID) {
			out = append(out, row)
		}
	}
	return page(out, func(a, b dhruva.Node) int { return cmp.Compare(a.ID, b.ID) }, p.Size()), nil
}

func (t *tx) DropNode(id dhruva.NodeID) error {
	if err := t.write("node", t.reach.System, 1); err != nil {
		return err
	}
	remove(t, t.nodes, id)
	return nil
}
