package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/llm"
	"github.com/dhruva-memory/dhruva/store/sqlstore"
)

// finding is the result of one check.
type finding struct {
	Check  string `json:"check"`
	Status string `json:"status"` // ok, warning or problem
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

func (p *program) doctorCommand() *cobra.Command {
	var network bool
	c := &cobra.Command{Use: "doctor", Short: "Find what is wrong with an installation", Args: cobra.NoArgs,
		Example: "  dhruva doctor\n  dhruva doctor --providers-reachable --json",
		Long:    "Looks and changes nothing. Exits with 0 when nothing is a problem (warnings are none), else with 1.",
		RunE:    func(c *cobra.Command, _ []string) error { return p.doctor(c.Context(), network) },
	}
	c.Flags().BoolVar(&network, "providers-reachable", false, "also ask each provider for one word (costs a few tokens)")
	return c
}

func (p *program) doctor(ctx context.Context, network bool) error {
	dir, err := p.dataDir()
	if err != nil {
		return err
	}
	found := p.diagnose(ctx, dir, network)
	problems := 0
	for _, f := range found {
		if f.Status == "problem" {
			problems++
		}
	}
	err = p.print(struct {
		OK       bool      `json:"ok"`
		Data     string    `json:"data"`
		Findings []finding `json:"findings"`
	}{problems == 0, dir, found}, func(w io.Writer) {
		fmt.Fprintf(w, "data directory %s\n", dir)
		for _, f := range found {
			fmt.Fprintf(w, "%-8s %-16s %s\n", f.Status, f.Check, f.Detail)
			if f.Fix != "" {
				fmt.Fprintf(w, "%-8s %-16s fix: %s\n", "", "", f.Fix)
			}
		}
	})
	if err == nil && problems > 0 {
		err = withFix(fmt.Errorf("%d problems", problems), "each is listed with its fix")
	}
	return err
}

// diagnose runs every check that makes sense for what is there.
func (p *program) diagnose(ctx context.Context, dir string, network bool) []finding {
	out := []finding{clock(time.Now())}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return append(out, finding{"data directory", "warning", "does not exist yet", "`dhruva serve` makes it"})
	}
	out = append(out, private(dir, ".", true), private(dir, auth.MasterKeyFile, true), private(dir, auth.AdminKeyFile, true),
		private(dir, providersFile, false), private(dir, storeFile, true))
	server, live := p.server(ctx, dir)
	out = append(out, server, p.storeCheck(ctx, dir))
	if live != nil {
		out = append(out, p.adminCheck(ctx, dir, live.URL))
	}
	return append(out, p.providerChecks(ctx, dir, network)...)
}

// clock: times sort everything, so a clock that was never set is a problem.
func clock(now time.Time) finding {
	if now.Year() < 2025 {
		return finding{"clock", "problem", "it says " + now.Format(time.RFC3339), "set the system's clock"}
	}
	return finding{"clock", "ok", now.UTC().Format(time.RFC3339), ""}
}

// private: what is in the data directory is for its owner alone.
func private(dir, name string, wanted bool) finding {
	path := filepath.Join(dir, name)
	check := name
	if name == "." {
		check = "data directory"
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && wanted:
		return finding{check, "warning", "not there yet", "`dhruva serve` makes it"}
	case errors.Is(err, fs.ErrNotExist):
		return finding{check, "ok", "none", ""}
	case err != nil:
		return finding{check, "problem", err.Error(), "run as the user who owns " + dir}
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0: // there, access lists say it
		return finding{check, "problem", fmt.Sprintf("others may read it (mode %04o)", info.Mode().Perm()), fmt.Sprintf("chmod go-rwx %s", path)}
	}
	return finding{check, "ok", fmt.Sprintf("mode %04o", info.Mode().Perm()), ""}
}

// server says whether one runs, and whether serve.json is stale.
func (p *program) server(ctx context.Context, dir string) (finding, *serving) {
	s, err := readServing(dir)
	switch {
	case errors.Is(err, dhruva.ErrNotFound):
		return finding{"server", "ok", "none runs", ""}, nil
	case err != nil:
		return finding{"server", "problem", err.Error(), "remove " + filepath.Join(dir, serverFile)}, nil
	case !s.alive(ctx):
		return finding{"server", "warning", fmt.Sprintf("%s is stale: process %d does not answer at %s", serverFile, s.PID, s.URL), "start `dhruva serve`, or remove " + filepath.Join(dir, serverFile)}, nil
	}
	return finding{"server", "ok", fmt.Sprintf("process %d answers at %s", s.PID, s.URL), ""}, &s
}

// storeCheck opens the store beside a server that may be running, reads through
// it, and recomputes every checkpoint.
func (p *program) storeCheck(ctx context.Context, dir string) finding {
	path := filepath.Join(dir, storeFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return finding{"store", "ok", "none yet", ""}
	}
	store, err := sqlstore.Open(ctx, path, sqlstore.Options{})
	if err != nil {
		return finding{"store", "problem", err.Error(), "restore it from a backup, or move " + path + " away to begin anew"}
	}
	defer store.Close()
	spaces, checked, err := verifyStore(ctx, store)
	if err != nil {
		return finding{"store", "problem", err.Error(), "restore it from a backup, and keep this one for inspection"}
	}
	return finding{"store", "ok", fmt.Sprintf("%d spaces, %d checkpoints verified", spaces, checked), ""}
}

// verifyStore reads the spaces and recomputes the hash of every checkpoint.
func verifyStore(ctx context.Context, store dhruva.Store) (spaces, checked int, err error) {
	err = store.View(ctx, dhruva.TenantScope(auth.LocalTenant), func(tx dhruva.Tx) error {
		rows, err := everySpace(tx)
		if err != nil {
			return err
		}
		for _, s := range rows {
			n, err := verifySpace(tx, s.ID)
			if err != nil {
				return err
			}
			spaces, checked = spaces+1, checked+n
		}
		return nil
	})
	return spaces, checked, err
}

func everySpace(tx dhruva.Tx) (all []dhruva.Space, err error) {
	page := dhruva.Page{Limit: 1000}
	for {
		rows, err := tx.ListSpaces(page)
		if err != nil || len(rows) == 0 {
			return all, err
		}
		all = append(all, rows...)
		page.After = string(rows[len(rows)-1].ID)
	}
}

func verifySpace(tx dhruva.Tx, id dhruva.SpaceID) (n int, err error) {
	page := dhruva.Page{Limit: 100}
	for {
		rows, err := tx.ListCheckpoints(dhruva.CheckpointQuery{Space: id, Page: page})
		if err != nil || len(rows) == 0 {
			return n, err
		}
		for i := range rows {
			if err := dhruva.VerifyCheckpoint(&rows[i]); err != nil {
				return n, err
			}
		}
		n += len(rows)
		page.After = rows[len(rows)-1].Hash.String()
	}
}

// adminCheck: the key in the file is one that the server knows.
func (p *program) adminCheck(ctx context.Context, dir, url string) finding {
	c, err := p.local(url, dir, "")
	if err == nil {
		_, err = c.Spaces(ctx, dhruva.Page{Limit: 1})
	}
	if err != nil {
		return finding{"administrator", "problem", err.Error(), "remove " + filepath.Join(dir, auth.AdminKeyFile) + " and start the server again"}
	}
	return finding{"administrator", "ok", "the server knows the key in " + auth.AdminKeyFile, ""}
}

func (p *program) providerChecks(ctx context.Context, dir string, network bool) []finding {
	c, err := loadConfig("", dir, p.env)
	if err != nil {
		return []finding{{"providers", "problem", err.Error(), fixOf(err)}}
	}
	all, err := newProviders(c)
	if err != nil {
		return []finding{{"providers", "problem", err.Error(), fixOf(err)}}
	}
	var out []finding
	for _, name := range providerNames() {
		if !c.enabled(name) {
			continue
		}
		f := finding{"provider " + name, "ok", "configured", ""}
		if network {
			f = reach(ctx, all, name)
		}
		out = append(out, f)
	}
	if len(out) == 0 {
		out = append(out, finding{"providers", "warning", "only echo; clients may bring their own provider key", "set OPENAI_API_KEY or ANTHROPIC_API_KEY, or write " + filepath.Join(dir, providersFile)})
	}
	if p.env("OPENAI_BASE_URL") != "" {
		out = append(out, finding{"OPENAI_BASE_URL", "ok", "set, and not read here: it is for clients that point at this server", ""})
	}
	return out
}

// reachTime bounds the question to a provider.
const reachTime = 20 * time.Second

// reach asks a provider's default model for one word.
func reach(ctx context.Context, all *providers, name string) finding {
	check := "provider " + name
	p, err := all.find(name)
	if err != nil {
		return finding{check, "problem", err.Error(), fixOf(err)}
	}
	if p.DefaultModel == "" {
		return finding{check, "warning", "has no default_model to ask", "set providers." + name + ".default_model"}
	}
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	_, err = p.Generator.Generate(ctx, llm.Request{MaxTokens: 16, Messages: []llm.Message{{Role: llm.RoleUser, Content: "Say ok."}}})
	if err != nil {
		return finding{check, "problem", strings.TrimPrefix(err.Error(), "llm: "), "check its key, base_url and default_model"}
	}
	return finding{check, "ok", "answers", ""}
}
