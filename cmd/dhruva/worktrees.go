package main

import (
	"path/filepath"

	"github.com/dhruva-memory/dhruva/agents"
)

// worktrees are the working copies that an installation makes: below the
// directories that its operator names, else below the state directory and, on this
// machine alone, the project root of the space. (Whoever may change a space chooses
// that one, so that it holds for nobody who comes over a network.)
func (p *program) worktrees(in *installation, roots []string, local bool) *agents.Worktrees {
	w := &agents.Worktrees{Ledger: in.memory.Ledger, Dir: p.stateDir("worktrees"), ProjectRoots: local && len(roots) == 0, Log: in.log}
	for _, dir := range roots {
		if abs, err := filepath.Abs(dir); err == nil { // it fails only where there is no working directory
			w.Roots = append(w.Roots, abs)
		}
	}
	return w
}

// stateDir is where what can be made again is kept; "" where nothing says where.
func (p *program) stateDir(name string) string {
	if d := p.env("XDG_STATE_HOME"); d != "" {
		return filepath.Join(d, "dhruva", name)
	}
	if home := first(p.env, "HOME", "USERPROFILE"); home != "" {
		return filepath.Join(home, ".local", "state", "dhruva", name)
	}
	return ""
}
