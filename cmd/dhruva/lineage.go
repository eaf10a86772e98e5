package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

func (p *program) logCommand() *cobra.Command {
	var g paging
	var branch string
	var drawn bool
	c := &cobra.Command{Use: "log SPACE", Short: "Show the checkpoints of a space, newest first", Args: cobra.ExactArgs(1),
		Example: "  dhruva log work\n  dhruva log work --graph\n  dhruva log work --branch main -n 10",
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				if drawn {
					return p.logGraph(c, api, args[0], client.LineageFilter{Branch: branch, Page: g.page()})
				}
				l, err := api.Checkpoints(c.Context(), args[0], client.CheckpointFilter{Branch: branch, Page: g.page()})
				if err != nil {
					return err
				}
				defer p.more(l.Next)
				return p.print(l, func(w io.Writer) { printLog(w, l.Items) })
			})
		}}
	g.flags(c)
	c.Flags().StringVar(&branch, "branch", "", "only those saved on this branch")
	c.Flags().BoolVar(&drawn, "graph", false, "draw the lines they stand on, one checkpoint a row")
	return c
}

func (p *program) logGraph(c *cobra.Command, api *client.Client, space string, f client.LineageFilter) error {
	l, err := api.Lineage(c.Context(), space, f)
	if err != nil {
		return err
	}
	defer p.more(l.Next)
	return p.print(l, func(w io.Writer) { printGraph(w, l) })
}

func printGraph(w io.Writer, l client.Lineage) {
	heads := map[dhruva.Hash][]string{}
	for _, b := range l.Branches {
		heads[b.Head] = append(heads[b.Head], oneLine(b.Name, 60))
	}
	var g graph
	for _, n := range l.Items {
		before, own, after := g.rows(n)
		for _, line := range before {
			fmt.Fprintln(w, line)
		}
		fmt.Fprintf(w, "%s  %s%s %s (%s, %s)\n", own, n.Hash.Short(), decoration(heads[n.Hash], n.Notes), oneLine(n.Title, 72), oneLine(n.Author, 30), when(n.CreatedAt))
		for _, line := range after {
			fmt.Fprintln(w, line)
		}
	}
}

// decoration are the branches that end at a checkpoint, and the kinds of its
// notes.
func decoration(heads []string, notes map[dhruva.NoteKind]int) string {
	out := ""
	if len(heads) > 0 {
		out = " [" + strings.Join(heads, ", ") + "]"
	}
	for _, k := range []struct {
		kind dhruva.NoteKind
		mark string
	}{{dhruva.NoteMilestone, "★"}, {dhruva.NoteNoise, "◌"}, {dhruva.NotePlain, "✎"}} {
		if notes[k.kind] > 0 {
			out += " " + k.mark
		}
	}
	return out
}

func (p *program) diffCommand() *cobra.Command {
	return &cobra.Command{Use: "diff CHECKPOINT OTHER", Short: "Compare what two checkpoints say", Args: cobra.ExactArgs(2),
		Example: "  dhruva diff 4f2a91c 9b03c7e",
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				d, err := api.Diff(c.Context(), args[0], args[1])
				if err != nil {
					return err
				}
				return p.printBare(d, func(w io.Writer) { printDiff(w, d) }, func(w io.Writer) { printChanges(w, d) })
			})
		}}
}

func printDiff(w io.Writer, d client.Difference) {
	ancestor := "none: they are unrelated"
	if d.CommonAncestor != nil {
		ancestor = d.CommonAncestor.Short()
	}
	fmt.Fprintf(w, "- %s\n+ %s\ncommon ancestor %s\n", d.A.Short(), d.B.Short(), ancestor)
	printChanges(w, d)
	if d.Same {
		fmt.Fprintln(w, "they say the same")
	}
}

func printChanges(w io.Writer, d client.Difference) {
	for _, kind := range dhruva.ItemKinds() {
		k, ok := d.Kinds[string(kind)]
		if !ok || len(k.OnlyA)+len(k.OnlyB)+len(k.Changed) == 0 {
			continue
		}
		fmt.Fprintln(w, strings.ReplaceAll(string(kind), "_", " "))
		for _, c := range k.Changed {
			signed(w, "-", c.A)
			signed(w, "+", c.B)
		}
		for _, i := range k.OnlyA {
			signed(w, "-", i)
		}
		for _, i := range k.OnlyB {
			signed(w, "+", i)
		}
	}
}

func signed(w io.Writer, sign string, i client.ItemDetail) {
	fmt.Fprintf(w, "  %s %s\n", sign, strings.ReplaceAll(itemText(i), "\n", "\n    "))
}

// itemText is an item for reading; its attributes stand behind it, but what an
// artifact is called stands above it.
func itemText(i client.ItemDetail) string {
	if i.Redacted {
		return "(erased)"
	}
	text := strings.TrimSpace(plain(i.Text))
	if head := artifactHead(i); head != "" {
		text = strings.TrimSpace(head + "\n" + text)
	}
	for _, name := range []string{dhruva.AttrStatus, dhruva.AttrIntent, dhruva.AttrBlockedBy} {
		if v := i.Attrs[name]; v != "" {
			text += " [" + name + ": " + oneLine(v, 60) + "]"
		}
	}
	return text
}

// artifactHead is the label of an artifact, and its type in parentheses.
func artifactHead(i client.ItemDetail) string {
	if i.Kind != dhruva.KindArtifact {
		return ""
	}
	head := oneLine(i.Attrs[dhruva.AttrLabel], 200)
	if kind := oneLine(i.Attrs[dhruva.AttrType], 60); kind != "" {
		head = strings.TrimSpace(head + " (" + kind + ")")
	}
	return head
}

func (p *program) blameCommand() *cobra.Command {
	var item string
	c := &cobra.Command{Use: "blame CHECKPOINT", Short: "Show which checkpoint and which turns each item comes from", Args: cobra.ExactArgs(1),
		Example: "  dhruva blame 4f2a91c\n  dhruva blame 4f2a91c --item ITEM",
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				l, err := api.Blame(c.Context(), args[0], item)
				if err != nil {
					return err
				}
				return p.print(l, func(w io.Writer) { printBlame(w, l.Items) })
			})
		}}
	c.Flags().StringVar(&item, "item", "", "only this item, by its id")
	return c
}

func printBlame(w io.Writer, origins []client.Origin) {
	for _, o := range origins {
		cites := "no turn"
		if len(o.Turns) > 0 {
			cites = "turns"
			for _, t := range o.Turns {
				cites += fmt.Sprintf(" #%d", t.Seq)
			}
		}
		fmt.Fprintf(w, "%s %s %s  %s  %s\n", o.Written.Short(), oneLine(o.Author, 30), when(o.At), o.Item.Kind, cites)
		fmt.Fprintln(w, indent(itemText(o.Item)))
		for _, t := range o.Turns {
			fmt.Fprintf(w, "      #%d %s: %s\n", t.Seq, or(oneLine(t.Speaker, 60), string(t.Role)), oneLine(t.Content, 120))
		}
	}
}

func (p *program) reflogCommand() *cobra.Command {
	var g paging
	var branch string
	c := &cobra.Command{Use: "reflog SPACE", Short: "Show how the heads of a space moved, newest first", Args: cobra.ExactArgs(1),
		Example: "  dhruva reflog work --branch main",
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				l, err := api.Reflog(c.Context(), args[0], branch, g.page())
				if err != nil {
					return err
				}
				return printList(p, l, "N BRANCH ACT FROM TO WHEN UNDOES", func(m client.HeadMove) []string {
					undoes := "-"
					if m.Undoes > 0 {
						undoes = fmt.Sprint(m.Undoes)
					}
					return []string{fmt.Sprint(m.Seq), m.Branch, m.Act, m.From.Short(), m.To.Short(), when(m.At), undoes}
				})
			})
		}}
	g.flags(c)
	c.Flags().StringVar(&branch, "branch", "", "only this branch")
	return c
}

func (p *program) undoCommand() *cobra.Command {
	return p.moveBack("undo SPACE", "Take back the last move of a branch's head", "  dhruva undo work\n  dhruva undo work --branch main", (*client.Client).Undo)
}

func (p *program) redoCommand() *cobra.Command {
	return p.moveBack("redo SPACE", "Take back the last undo", "  dhruva redo work", (*client.Client).Redo)
}

func (p *program) moveBack(use, short, example string, do moving) *cobra.Command {
	var branch string
	c := &cobra.Command{Use: use, Short: short, Example: example, Args: cobra.ExactArgs(1),
		Long: short + ". No checkpoint is lost: `dhruva reflog` shows where heads have been.",
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				m, err := do(api, c.Context(), args[0], branch)
				if err != nil {
					return err
				}
				return p.printBare(m, func(w io.Writer) {
					fmt.Fprintf(w, "branch %s: %s -> %s\n", oneLine(m.Branch, 60), m.From.Short(), m.To.Short())
				}, func(w io.Writer) { fmt.Fprintln(w, m.To) })
			})
		}}
	c.Flags().StringVar(&branch, "branch", "", "the branch (default: the one that moved last)")
	return c
}

func (p *program) branchCommand() *cobra.Command {
	return group("branch", "Branches: named heads", `  dhruva branch list work
  dhruva branch close work try-sqlite --disposition integrated`, p.branchList(), p.repeatable(p.branchClose()))
}

func (p *program) branchList() *cobra.Command {
	return &cobra.Command{Use: "list SPACE", Short: "List the branches of a space", Example: "  dhruva branch list work", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				l, err := api.Branches(c.Context(), args[0])
				if err != nil {
					return err
				}
				return printList(p, l, "NAME HEAD DISPOSITION UPDATED", func(b client.Branch) []string {
					return []string{b.Name, b.Head.Short(), b.Disposition, when(b.UpdatedAt)}
				})
			})
		}}
}

func (p *program) branchClose() *cobra.Command {
	in := client.DispositionInput{}
	c := &cobra.Command{Use: "close SPACE BRANCH", Short: "Say what became of a branch; it can be said again", Args: cobra.ExactArgs(2),
		Example: "  dhruva branch close work try-sqlite --disposition abandoned\n  dhruva branch close work try-sqlite --disposition active      open it again",
		RunE: func(c *cobra.Command, args []string) error {
			in.Branch = args[1]
			return p.with(c.Context(), func(api *client.Client) error {
				b, err := api.SetDisposition(c.Context(), args[0], in)
				if err != nil {
					return err
				}
				return p.print(b, func(w io.Writer) { fmt.Fprintf(w, "branch %s is %s\n", oneLine(b.Name, 60), b.Disposition) })
			})
		}}
	c.Flags().StringVar(&in.Disposition, "disposition", "integrated", "integrated, abandoned or active")
	return c
}
