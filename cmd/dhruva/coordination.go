package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

func (p *program) stateCommand() *cobra.Command {
	var q client.StateQuery
	c := &cobra.Command{Use: "state SPACE", Short: "Show where a space stands: what an agent reads first", Args: cobra.ExactArgs(1),
		Example: "  dhruva state work\n  dhruva state work --since 4f2a91c      what came after it\n  dhruva state work --json",
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				if p.flags.json {
					raw, err := api.State(c.Context(), args[0], q)
					if err != nil {
						return err
					}
					return p.print(raw, nil)
				}
				text, err := api.StateText(c.Context(), args[0], q)
				if err == nil {
					_, err = io.WriteString(p.stdout, plain(text))
				}
				return err
			})
		}}
	f := c.Flags()
	f.StringVar(&q.Since, "since", "", "a checkpoint that is known: tell what came after it")
	f.BoolVar(&q.MainOnly, "main-only", false, "only the main branch")
	f.BoolVar(&q.Compact, "compact", false, "short")
	return c
}

func (p *program) metricsCommand() *cobra.Command {
	return &cobra.Command{Use: "metrics SPACE", Short: "Count how agents work together in a space", Example: "  dhruva metrics work", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				raw, err := api.Metrics(c.Context(), args[0])
				if err != nil {
					return err
				}
				return p.print(raw, func(w io.Writer) { printMetrics(w, raw) })
			})
		}}
}

// printMetrics writes every count, in the server's own names and order.
func printMetrics(w io.Writer, raw json.RawMessage) {
	var sections struct {
		Space        string          `json:"space_name"`
		Coordination json.RawMessage `json:"coordination"`
		Quality      json.RawMessage `json:"state_quality"`
		Branches     json.RawMessage `json:"branches"`
	}
	if json.Unmarshal(raw, &sections) != nil {
		fmt.Fprintln(w, string(raw))
		return
	}
	fmt.Fprintf(w, "space %s\n", oneLine(sections.Space, 200))
	for _, s := range []struct {
		name string
		raw  json.RawMessage
	}{{"coordination", sections.Coordination}, {"state quality", sections.Quality}, {"branches", sections.Branches}} {
		var counts map[string]any
		if json.Unmarshal(s.raw, &counts) != nil {
			continue
		}
		fmt.Fprintln(w, s.name)
		for _, name := range sorted(counts) {
			fmt.Fprintf(w, "  %-34s %s\n", spaced(name), counted(counts[name]))
		}
	}
}

func sorted(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

// counted is a count, or the counts of several names.
func counted(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case float64:
		return strconv.FormatFloat(v, 'g', 4, 64)
	case map[string]any:
		var out []string
		for _, name := range sorted(v) {
			out = append(out, oneLine(name, 60)+" "+counted(v[name]))
		}
		return strings.Join(out, ", ")
	}
	return oneLine(fmt.Sprint(v), 200)
}

func (p *program) claimCommand() *cobra.Command {
	return group("claim", "Claims: who works on what", `  dhruva claim create work --agent alice --scope "the importer"
  dhruva claim list work
  dhruva claim done CLAIM`, p.repeatable(p.claimCreate()), p.claimList(), p.repeatable(p.claimEnd("done", dhruva.ClaimDone, "Say that claimed work is done")),
		p.repeatable(p.claimEnd("abandon", dhruva.ClaimAbandoned, "Give up claimed work")))
}

func (p *program) claimCreate() *cobra.Command {
	var in client.ClaimInput
	var ttl time.Duration
	var session, worktree string
	c := &cobra.Command{Use: "create SPACE", Short: "Claim a piece of work, so that others see it", Args: cobra.ExactArgs(1),
		Example: "  dhruva claim create work --agent alice --scope \"the importer\" --intent implement --ttl 2h",
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("ttl") && ttl <= 0 {
				return withFix(usage("--ttl %s is over before it begins", ttl), "give one such as 4h")
			}
			in.Hours, in.Session, in.Worktree = ttl.Hours(), dhruva.SessionID(session), dhruva.WorktreeID(worktree)
			return p.with(c.Context(), func(api *client.Client) error {
				k, err := api.Claim(c.Context(), args[0], in)
				if err != nil {
					return err
				}
				p.say("until %s; next: dhruva claim done %s", when(k.ExpiresAt), k.ID)
				return p.printClaim(c.Context(), api, k)
			})
		}}
	f := c.Flags()
	f.StringVar(&in.Agent, "agent", "", "who works on it")
	f.StringVar(&in.Scope, "scope", "", "what is worked on, in words")
	f.StringVar(&in.Intent, "intent", "", "implement (default), review, investigate, docs or test")
	f.StringVar(&in.Branch, "branch", "", "branch")
	f.StringVar(&in.Base, "base", "", "checkpoint it starts from")
	f.StringVar(&in.Task, "task", "", "id of the task")
	f.StringVar(&session, "session", "", "session it is done in")
	f.StringVar(&worktree, "worktree", "", "worktree it is done in")
	f.DurationVar(&ttl, "ttl", 0, "how long it holds (default 4h)")
	return needing(c, "agent", "scope")
}

// needing refuses a command without some of its flags, as a fault of the command
// line.
func needing(c *cobra.Command, flags ...string) *cobra.Command {
	do := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		for _, name := range flags {
			if !c.Flags().Changed(name) {
				return withFix(usage("--%s is missing", name), "add --%s; see `%s --help`", name, c.CommandPath())
			}
		}
		return do(c, args)
	}
	return c
}

func (p *program) printClaim(ctx context.Context, api *client.Client, k client.Claim) error {
	return p.print(k, func(w io.Writer) {
		fmt.Fprintf(w, "claim   %s\nagent   %s\nscope   %s\nintent  %s\nbranch  %s\nstatus  %s\nexpires %s\n",
			k.ID, oneLine(k.Agent, 100), oneLine(k.Scope, 400), k.Intent, oneLine(k.Branch, 200), claimStatus(k), when(k.ExpiresAt))
		if k.Worktree == "" {
			return
		}
		at := string(k.Worktree)
		if t, err := api.Worktree(ctx, at); err == nil { // the claim is made or ended, whether this is known or not
			at = oneLine(t.Branch, 200) + " (" + at + ")"
		}
		fmt.Fprintf(w, "worktree on %s\n", at)
	})
}

// claimBranch is the branch that claimed work goes on in: that of its worktree,
// which is one of the project's repository, else the claim's own.
func claimBranch(k client.Claim, worktrees map[dhruva.WorktreeID]string) string {
	return or(worktrees[k.Worktree], k.Branch)
}

// worktreeBranches are the branches of the worktrees of a space; none are asked
// for where no claim has one.
func worktreeBranches(ctx context.Context, api *client.Client, space string, claims []client.Claim) (map[dhruva.WorktreeID]string, error) {
	if !slices.ContainsFunc(claims, func(k client.Claim) bool { return k.Worktree != "" }) {
		return nil, nil
	}
	l, err := api.Worktrees(ctx, space, true)
	out := map[dhruva.WorktreeID]string{}
	for _, t := range l.Items {
		out[t.ID] = t.Branch
	}
	return out, err
}

func claimStatus(k client.Claim) string {
	if k.Expired {
		return "expired"
	}
	return string(k.Status)
}

func (p *program) claimList() *cobra.Command {
	var g paging
	var all bool
	c := &cobra.Command{Use: "list SPACE", Short: "List the claims in force, newest first", Example: "  dhruva claim list work --all", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				l, err := api.Claims(c.Context(), args[0], all, g.page())
				if err != nil {
					return err
				}
				branches, err := worktreeBranches(c.Context(), api, args[0], l.Items)
				if err != nil {
					return err
				}
				return printList(p, l, "ID AGENT INTENT STATUS EXPIRES BRANCH SCOPE", func(k client.Claim) []string {
					return []string{string(k.ID), k.Agent, k.Intent, claimStatus(k), when(k.ExpiresAt), claimBranch(k, branches), k.Scope}
				})
			})
		}}
	g.flags(c)
	c.Flags().BoolVar(&all, "all", false, "also those that ended or expired")
	return c
}

func (p *program) claimEnd(verb string, status dhruva.ClaimStatus, short string) *cobra.Command {
	return &cobra.Command{Use: verb + " CLAIM", Short: short, Example: "  dhruva claim " + verb + " CLAIM", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				k, err := api.EndClaim(c.Context(), dhruva.ClaimID(args[0]), status)
				if err != nil {
					return err
				}
				return p.printClaim(c.Context(), api, k)
			})
		}}
}

func (p *program) worktreeCommand() *cobra.Command {
	return group("worktree", "Worktrees: working copies of a space's project, one for each agent", `  dhruva worktree open work --agent alice
  dhruva worktree list work
  dhruva worktree close ID`, p.repeatable(p.worktreeOpen()), p.worktreeList(), p.worktreeShow(), p.repeatable(p.worktreeClose()))
}

func (p *program) worktreeOpen() *cobra.Command {
	var in client.WorktreeInput
	c := &cobra.Command{Use: "open SPACE", Short: "Make a working copy of the space's project on a branch of its own", Args: cobra.ExactArgs(1),
		Example: "  dhruva worktree open work --agent alice --branch alice/importer",
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				t, err := api.OpenWorktree(c.Context(), args[0], in)
				if err != nil {
					return rootless(c.Context(), api, args[0], err)
				}
				return p.print(t, func(w io.Writer) { printWorktree(w, t) })
			})
		}}
	f := c.Flags()
	f.StringVar(&in.Agent, "agent", "", "whom it is for")
	f.StringVar(&in.Branch, "branch", "", "branch to make in the project's repository")
	f.StringVar(&in.Base, "base", "", "commit to start from (default HEAD)")
	f.StringVar(&in.Path, "path", "", "directory to make it in")
	return needing(c, "agent")
}

// rootless adds what to do where the space has no project to copy.
func rootless(ctx context.Context, api *client.Client, space string, err error) error {
	if s, look := api.Space(ctx, space); look == nil && s.ProjectRoot == "" {
		return withFix(err, "dhruva space set %s --project-root DIR", oneLine(s.Name, 60))
	}
	return err
}

func printWorktree(w io.Writer, t client.Worktree) {
	fmt.Fprintf(w, "worktree %s\nagent    %s\nbranch   %s\npath     %s\nstatus   %s\n", t.ID, oneLine(t.Agent, 100), oneLine(t.Branch, 200), oneLine(t.Path, 400), t.Status)
	if t.Probe != nil {
		fmt.Fprintf(w, "changes  %s\nlast     %s\n", drift(t), oneLine(t.Probe.LastCommit+" "+t.Probe.LastRelative, 200))
	}
}

// drift is how far a working copy has gone, in words.
func drift(t client.Worktree) string {
	if t.Probe == nil {
		return "unknown"
	}
	out := count(t.Probe.DirtyFiles, "file")
	if t.Probe.Ahead != nil && t.Probe.Behind != nil {
		out += fmt.Sprintf(", %d ahead, %d behind", *t.Probe.Ahead, *t.Probe.Behind)
	}
	return out
}

func (p *program) worktreeList() *cobra.Command {
	var all bool
	c := &cobra.Command{Use: "list SPACE", Short: "List the worktrees of a space", Example: "  dhruva worktree list work", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				l, err := api.Worktrees(c.Context(), args[0], all)
				if err != nil {
					return err
				}
				return printList(p, l, "ID AGENT BRANCH STATUS CHANGES PATH", func(t client.Worktree) []string {
					return []string{string(t.ID), t.Agent, t.Branch, string(t.Status), drift(t), t.Path}
				})
			})
		}}
	c.Flags().BoolVar(&all, "all", false, "also closed ones")
	return c
}

func (p *program) worktreeShow() *cobra.Command {
	return &cobra.Command{Use: "show WORKTREE", Short: "Show a worktree", Example: "  dhruva worktree show 0199f3a2      a unique beginning of at least 4 characters", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				t, err := api.Worktree(c.Context(), args[0])
				if err != nil {
					return err
				}
				return p.print(t, func(w io.Writer) { printWorktree(w, t) })
			})
		}}
}

func (p *program) worktreeClose() *cobra.Command {
	var force bool
	c := &cobra.Command{Use: "close WORKTREE", Short: "Remove a working copy; its branch stays", Args: cobra.ExactArgs(1),
		Example: "  dhruva worktree close 0199f3a2\n  dhruva worktree close 0199f3a2 --force      also with changes that are not committed",
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				err := api.CloseWorktree(c.Context(), args[0], force)
				if err != nil {
					return err
				}
				return p.print(deleted{args[0], true}, func(io.Writer) { p.say("worktree %s is closed", args[0]) })
			})
		}}
	c.Flags().BoolVar(&force, "force", false, "also with changes that are not committed")
	return c
}
