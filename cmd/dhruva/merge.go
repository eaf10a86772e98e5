package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

// moving is undo or redo.
type moving func(c *client.Client, ctx context.Context, space, branch string) (client.HeadMove, error)

func (p *program) mergeCommand() *cobra.Command {
	var in client.MergeInput
	var space string
	var picks, edits []string
	c := &cobra.Command{Use: "merge FROM [INTO]", Short: "Take the conclusions of one line into a branch", Args: cobra.RangeArgs(1, 2),
		Example: `  dhruva merge try-sqlite --space work --dry-run         what would it say?
  dhruva merge try-sqlite main --space work
  dhruva merge try-sqlite --space work --pick ITEM=theirs --pick '*=ours'
  dhruva merge try-sqlite --space work --edit 'ITEM=Use SQLite for one user, Postgres for many'`,
		Long: "FROM is a branch or a checkpoint, INTO a branch (default: main). Items are matched by their ids from the last checkpoint that both sides have.\n" +
			"With conflicts nothing is written, and the exit code is 5: pick ours (INTO), theirs (FROM), both or neither for each, or edit it.",
		RunE: func(c *cobra.Command, args []string) (err error) {
			in.From, in.Into = args[0], dhruva.MainBranch
			if len(args) == 2 {
				in.Into = args[1]
			}
			if in.Picks, err = pairs("--pick", picks); err != nil {
				return err
			}
			if in.Edits, err = pairs("--edit", edits); err != nil {
				return err
			}
			return p.with(c.Context(), func(api *client.Client) error { return p.merge(c, api, space, in) })
		}}
	spaceFlag(c, &space)
	f := c.Flags()
	f.BoolVar(&in.DryRun, "dry-run", false, "say what would be, and write nothing")
	f.StringArrayVar(&picks, "pick", nil, "ITEM=ours|theirs|both|neither; * is every other; may be repeated")
	f.StringArrayVar(&edits, "edit", nil, "ITEM=TEXT that it shall have; may be repeated")
	f.StringVar(&in.Title, "title", "", "title of the merge")
	f.StringVar(&in.Author, "author", "", "author (default: the key's name)")
	return c
}

// pairs reads NAME=VALUE arguments.
func pairs(flag string, args []string) (map[string]string, error) {
	out := map[string]string{}
	for _, a := range args {
		name, value, ok := strings.Cut(a, "=")
		if _, twice := out[name]; !ok || name == "" || twice {
			return nil, withFix(usage("%s %q is not ITEM=…, or names an item twice", flag, a), "see `dhruva merge --help`")
		}
		out[name] = value
	}
	return out, nil
}

func (p *program) merge(c *cobra.Command, api *client.Client, space string, in client.MergeInput) error {
	m, err := api.Merge(c.Context(), space, in)
	if err != nil {
		return err
	}
	bare := func(w io.Writer) { fmt.Fprintln(w, m.Status) }
	if m.Checkpoint != nil {
		bare = func(w io.Writer) { fmt.Fprintln(w, m.Checkpoint.Hash) }
	}
	open := slices.DeleteFunc(slices.Clone(m.Conflicts), func(c client.Conflict) bool { return !c.Open })
	if err := p.printBare(m, func(w io.Writer) { printMerged(w, m, open, in) }, bare); err != nil || len(open) == 0 {
		return err
	}
	return withFix(fmt.Errorf("%w: %s in conflict; nothing was written", dhruva.ErrConflict, count(len(open), "item")),
		"pick or edit each: --pick %s=ours, or --pick '*=both'", open[0].Item)
}

func printMerged(w io.Writer, m client.Merged, open []client.Conflict, in client.MergeInput) {
	for _, c := range open {
		fmt.Fprintf(w, "conflict %s  %s  %s\n", c.Item, c.Kind, strings.ReplaceAll(c.Type, "_", " "))
		if c.Base != nil {
			printSide(w, "base  ", []client.ItemDetail{*c.Base})
		}
		printSide(w, "ours  ", c.Ours)
		printSide(w, "theirs", c.Theirs)
	}
	switch {
	case len(open) > 0:
	case m.Status == "up_to_date":
		fmt.Fprintf(w, "%s has all of %s already\n", oneLine(in.Into, 60), oneLine(in.From, 60))
	case m.Checkpoint != nil:
		fmt.Fprintf(w, "%s merged into %s: %s\n", oneLine(in.From, 60), oneLine(in.Into, 60), m.Checkpoint.Hash)
	default:
		printItems(w, m.Items)
	}
}

func printSide(w io.Writer, name string, items []client.ItemDetail) {
	if len(items) == 0 {
		fmt.Fprintf(w, "  %s (removed)\n", name)
	}
	for _, i := range items {
		fmt.Fprintf(w, "  %s %s\n", name, strings.ReplaceAll(itemText(i), "\n", "\n         "))
	}
}

func (p *program) revertCommand() *cobra.Command {
	var in client.RevertInput
	var space string
	c := &cobra.Command{Use: "revert CHECKPOINT", Short: "Save again what an earlier checkpoint said, on top of a branch", Args: cobra.ExactArgs(1),
		Example: "  dhruva revert 4f2a91c --space work --title \"back to Postgres\"",
		RunE: func(c *cobra.Command, args []string) error {
			in.To = args[0]
			return p.with(c.Context(), func(api *client.Client) error {
				k, err := api.Revert(c.Context(), space, in)
				if err != nil {
					return err
				}
				return p.print(k, func(w io.Writer) { fmt.Fprintln(w, k.Hash) })
			})
		}}
	spaceFlag(c, &space)
	c.Flags().StringVar(&in.Branch, "branch", "", "branch that moves (default: main)")
	c.Flags().StringVar(&in.Title, "title", "", "title")
	c.Flags().StringVar(&in.Author, "author", "", "author (default: the key's name)")
	return c
}
