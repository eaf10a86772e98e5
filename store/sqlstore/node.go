package sqlstore

import "github.com/dhruva-memory/dhruva"

const (
	selectNodes = "SELECT id, name, version, started_at, until FROM nodes WHERE tenant = $1"
	selectNode  = selectNodes + " AND id = $2"
	listNodes   = selectNodes + " AND id > $2 ORDER BY id LIMIT $3"
	upsertNode  = `INSERT INTO nodes (tenant, id, name, version, started_at, until) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (tenant, id) DO UPDATE SET name = excluded.name, version = excluded.version,
		started_at = excluded.started_at, until = excluded.until`
	deleteNode = "DELETE FROM nodes WHERE tenant = $1 AND id = $2"
)

// installation is the tenant of rows that belong to none.
const installation = ""

func scanNode(r scanner) (row dhruva.Node, err error) {
	return row, r.Scan(&row.ID, &row.Name, &row.Version, micros{&row.StartedAt}, micros{&row.Until})
}

func (t *tx) Node(id dhruva.NodeID) (dhruva.Node, error) {
	if !t.reach.System {
		return absent[dhruva.Node]("node")
	}
	return one(t, "node", scanNode, selectNode, installation, string(id))
}

func (t *tx) PutNode(row dhruva.Node) error {
	if err := row.Validate(); err != nil {
		return invalid("node", err)
	}
	if err := t.allow("node", t.reach.System, 1); err != nil {
		return err
	}
	err := t.send("put node", upsertNode, installation, string(row.ID), row.Name, row.Version, row.StartedAt.UnixMicro(), row.Until.UnixMicro())
	return err
}

func (t *tx) ListNodes(p dhruva.Page) ([]dhruva.Node, error) {
	if !t.reach.System {
		return nil, nil
	}
	return collect(t, "nodes", scanNode, listNodes, installation, p.After, p.Size())
}

func (t *tx) DropNode(id dhruva.NodeID) error {
	if err := t.allow("node", t.reach.System, 1); err != nil {
		return err
	}
	return t.drop("node", deleteNode, installation, string(id))
}
