package dhruva

import "time"

// Tenant is an isolation account.
type Tenant struct {
	ID   TenantID
	Name string
	// KID names the keyring under which the tenant's rows are keyed and signed.
	// Under another one no key works and no source verifies.
	KID       string
	CreatedAt time.Time
}

// Space is a memory namespace: it owns sessions, checkpoints and sources and
// holds no turn content itself.
type Space struct {
	Tenant      TenantID
	ID          SpaceID
	Name        string
	Description string
	ProjectRoot string
	Owner       PrincipalID
	// Home: the hidden space in which a principal's FRESH sessions live. It is
	// never listed, and nothing in it is recalled outside its own session.
	Home      bool
	CreatedAt time.Time
	UpdatedAt time.Time
	// DeletedAt is set when the space was hidden; zero otherwise.
	DeletedAt time.Time
}

// Epoch is the write state of a space. Every writer reads it when its request
// begins and its commit says "where generation is still that".
type Epoch struct {
	Space SpaceID
	// Generation counts clears; it starts at 1.
	Generation int64
	// Fence is the last closed generation: rows at or below it are being or
	// have been erased, and are refused everywhere.
	Fence int64
	// ACLVersion rises with every change of grants.
	ACLVersion int64
	// Head is the sequence number of the last Change of the space, Tail that of
	// the last one that was compacted away: the feed holds Tail+1 to Head.
	Head int64
	Tail int64
}
