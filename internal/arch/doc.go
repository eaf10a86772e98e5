// Package arch holds the rules of the house as tests: who may import whom, that
// exported names are documented, who may mint a System scope, and what no file
// of the repository may hold. It has no code of its own.
//
// The import table is docs/design.md's. A package that no row matches fails the
// test: a new package starts with its row.
package arch
