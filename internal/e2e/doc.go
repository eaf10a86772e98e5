// Package e2e tests the built binary as its users meet it: the README's lines,
// the official SDKs of Go and Node as clients, a recording provider behind it,
// and a process that is killed. It has tests only.
package e2e
