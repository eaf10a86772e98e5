package dhruva

import "time"

// Node is a running process of the installation. It stands until Until, and
// says so again before.
type Node struct {
	ID        NodeID
	Name      string
	Version   string
	StartedAt time.Time
	Until     time.Time
}

// NodeRows are the nodes of the installation, in System scope only.
type NodeRows interface {
	Node(NodeID) (Node, error)
	// PutNode inserts or replaces.
	PutNode(Node) error
	// ListNodes lists by id.
	ListNodes(Page) ([]Node, error)
	// DropNode removes a node. What is absent is left alone.
	DropNode(NodeID) error
}

// Validate is as said in row.go.
func (n Node) Validate() error {
	return firstError(validKey("node", string(n.ID)), ValidText("node", n.Name, n.Version), validTime("node", n.StartedAt, n.Until))
}

// Canonical is as said in row.go.
func (n Node) Canonical() Node {
	n.StartedAt, n.Until = Micros(n.StartedAt), Micros(n.Until)
	return n
}
