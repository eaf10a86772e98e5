package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

// node is a checkpoint named by a letter, with its parents.
func node(name byte, parents string) client.LineageNode {
	n := client.LineageNode{Hash: dhruva.Hash{name}, Title: string(name), CreatedAt: time.Unix(int64(name), 0)}
	for _, p := range []byte(parents) {
		n.Parents = append(n.Parents, dhruva.Hash{p})
	}
	return n
}

func drawnGraph(nodes ...client.LineageNode) string {
	var g graph
	var lines []string
	for _, n := range nodes {
		before, own, after := g.rows(n)
		lines = append(lines, before...)
		lines = append(lines, own+" "+n.Title)
		lines = append(lines, after...)
	}
	return strings.Join(lines, "\n")
}

func TestGraph(t *testing.T) {
	for name, c := range map[string]struct {
		nodes []client.LineageNode
		want  string
	}{
		"a line": {[]client.LineageNode{node('c', "b"), node('b', "a"), node('a', "")}, "● c\n● b\n● a"},
		"a fork": {[]client.LineageNode{node('c', "a"), node('b', "a"), node('a', "")}, "● c\n│ ● b\n├─╯\n● a"},
		"a merge": {[]client.LineageNode{node('d', "bc"), node('c', "a"), node('b', "a"), node('a', "")},
			"● d\n├─╮\n│ ● c\n● │ b\n├─╯\n● a"},
		"three forks": {[]client.LineageNode{node('d', "a"), node('c', "a"), node('b', "a"), node('a', "")},
			"● d\n│ ● c\n│ │ ● b\n├─┴─╯\n● a"},
		"a merge over a lane": {[]client.LineageNode{node('e', "d"), node('f', "b"), node('d', "ac"), node('c', "a"), node('b', "a"), node('a', "")},
			"● e\n│ ● f\n● │ d\n├─┼─╮\n│ │ ● c\n│ ● │ b\n├─┴─╯\n● a"},
		"a merge into a waiting lane": {[]client.LineageNode{node('e', "b"), node('d', "cb"), node('c', "a"), node('b', "a"), node('a', "")},
			"● e\n│ ● d\n├─┤\n│ ● c\n● │ b\n├─╯\n● a"},
		"two roots":             {[]client.LineageNode{node('b', ""), node('a', "")}, "● b\n● a"},
		"a page that goes on":   {[]client.LineageNode{node('c', "b"), node('b', "a")}, "● c\n● b"},
		"one parent twice":      {[]client.LineageNode{node('b', "aa"), node('a', "")}, "● b\n│\n● a"},
		"a parent before child": {[]client.LineageNode{node('a', ""), node('b', "a")}, "● a\n● b"},
	} {
		if diff := cmp.Diff(c.want, drawnGraph(c.nodes...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestGraphDrawsEachOnce: whatever the lineage, every checkpoint is one dot, and
// when all are drawn no lane waits.
func TestGraphDrawsEachOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g graph
		n := rapid.IntRange(1, 40).Draw(t, "checkpoints")
		for i := n; i >= 1; i-- {
			parents := ""
			for range rapid.IntRange(0, min(2, i-1)).Draw(t, "parents") {
				parents += string(rune(rapid.IntRange(1, i-1).Draw(t, "parent")))
			}
			before, own, after := g.rows(node(byte(i), parents))
			if strings.Count(own, "●") != 1 || strings.Contains(strings.Join(append(before, after...), ""), "●") {
				t.Fatalf("checkpoint %d: %q %q %q", i, before, own, after)
			}
		}
		if len(g.lanes) != 0 {
			t.Fatalf("%d lanes wait", len(g.lanes))
		}
	})
}
