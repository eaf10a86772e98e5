package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

// paging are the flags of every list.
type paging struct {
	limit int
	after string
}

func (g *paging) flags(c *cobra.Command) {
	c.Flags().IntVarP(&g.limit, "limit", "n", 0, "at most this many (default 100, at most 1000)")
	c.Flags().StringVar(&g.after, "after", "", "go on after the next of the page before")
}

func (g paging) page() dhruva.Page { return dhruva.Page{After: g.after, Limit: g.limit} }

// more tells where a list goes on.
func (p *program) more(next string) {
	if next != "" && !p.flags.json {
		p.say("more: add --after %s", next)
	}
}

// printList writes one page of a list.
func printList[T any](p *program, l client.List[T], head string, row func(T) []string) error {
	err := p.print(l, func(w io.Writer) {
		rows := make([][]string, 0, len(l.Items))
		for _, i := range l.Items {
			rows = append(rows, row(i))
		}
		table(w, head, rows)
	})
	p.more(l.Next)
	return err
}

func (p *program) spaceCommand() *cobra.Command {
	return group("space", "Spaces: memory namespaces", `  dhruva space create work --description "the day job"
  dhruva space list`, p.spaceList(), p.making(p.repeatable(p.spaceCreate())), p.spaceShow(), p.repeatable(p.spaceSet()), p.repeatable(p.spaceDelete()))
}

func (p *program) spaceList() *cobra.Command {
	var g paging
	c := &cobra.Command{Use: "list", Short: "List spaces", Example: "  dhruva space list --json", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				l, err := api.Spaces(c.Context(), g.page())
				if err != nil {
					return err
				}
				return printList(p, l, "NAME ID UPDATED DESCRIPTION", func(s client.Space) []string {
					return []string{s.Name, string(s.ID), when(s.UpdatedAt), s.Description}
				})
			})
		}}
	g.flags(c)
	return c
}

func (p *program) printSpace(s client.Space) error {
	return p.print(s, func(w io.Writer) {
		fmt.Fprintf(w, "space %s\nid    %s\n", oneLine(s.Name, 200), s.ID)
		for _, f := range [][2]string{{"about", s.Description}, {"root ", s.ProjectRoot}} {
			if f[1] != "" {
				fmt.Fprintf(w, "%s %s\n", f[0], oneLine(f[1], 400))
			}
		}
	})
}

func (p *program) spaceCreate() *cobra.Command {
	var in client.SpaceInput
	c := &cobra.Command{Use: "create NAME", Short: "Make a space", Args: cobra.ExactArgs(1),
		Example: `  dhruva space create work --description "the day job" --project-root ~/src/work`,
		RunE: func(c *cobra.Command, args []string) error {
			in.Name = args[0]
			if err := absolute(&in.ProjectRoot); err != nil {
				return err
			}
			return p.with(c.Context(), func(api *client.Client) error {
				s, err := api.CreateSpace(c.Context(), in)
				if err != nil {
					return err
				}
				p.say("next: dhruva session create --space %s", s.Name)
				return p.printSpace(s)
			})
		}}
	c.Flags().StringVar(&in.Description, "description", "", "what it is for")
	c.Flags().StringVar(&in.ProjectRoot, "project-root", "", "directory of the project, as seen from here")
	return c
}

// absolute makes a directory absolute against the current one, which a server
// does not know; "" stays "".
func absolute(dir *string) error {
	if *dir == "" {
		return nil
	}
	abs, err := filepath.Abs(*dir)
	if err != nil {
		return withFix(fmt.Errorf("%w: the current directory is not known: %w", dhruva.ErrInvalid, err), "give an absolute directory to --project-root")
	}
	*dir = abs
	return nil
}

func (p *program) spaceSet() *cobra.Command {
	var name, about, root string
	c := &cobra.Command{Use: "set SPACE", Short: "Change a space's name, description or project root", Args: cobra.ExactArgs(1),
		Example: "  dhruva space set work --name job --project-root .\n  dhruva space set work --description \"\"      take it away",
		Long:    "Changes what is given, and leaves the rest as it is.",
		RunE: func(c *cobra.Command, args []string) error {
			if err := absolute(&root); err != nil {
				return err
			}
			var in client.SpacePatch
			for flag, f := range map[string]struct {
				to    **string
				value *string
			}{"name": {&in.Name, &name}, "description": {&in.Description, &about}, "project-root": {&in.ProjectRoot, &root}} {
				if c.Flags().Changed(flag) {
					*f.to = f.value
				}
			}
			if in == (client.SpacePatch{}) {
				return withFix(usage("there is nothing to change"), "add --name, --description or --project-root")
			}
			return p.with(c.Context(), func(api *client.Client) error {
				s, err := api.UpdateSpace(c.Context(), args[0], in)
				if err != nil {
					return err
				}
				return p.printSpace(s)
			})
		}}
	c.Flags().StringVar(&name, "name", "", "another name")
	c.Flags().StringVar(&about, "description", "", "what it is for")
	c.Flags().StringVar(&root, "project-root", "", "directory of the project, as seen from here")
	return c
}

func (p *program) spaceShow() *cobra.Command {
	return &cobra.Command{Use: "show SPACE", Short: "Show a space", Example: "  dhruva space show work", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				s, err := api.Space(c.Context(), args[0])
				if err != nil {
					return err
				}
				return p.printSpace(s)
			})
		}}
}

func (p *program) spaceDelete() *cobra.Command {
	var yes bool
	c := &cobra.Command{Use: "delete SPACE", Short: "Hide a space; nothing is erased", Example: "  dhruva space delete work --yes", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !yes {
				return needsYes("this hides the space and what is in it from everyone")
			}
			return p.with(c.Context(), func(api *client.Client) error {
				s, err := api.Space(c.Context(), args[0])
				if err == nil {
					err = api.DeleteSpace(c.Context(), string(s.ID))
				}
				if errors.Is(err, dhruva.ErrNotFound) {
					return gone("space", args[0], "dhruva space list")
				}
				if err != nil {
					return err
				}
				return p.print(deleted{string(s.ID), true}, func(io.Writer) { p.say("space %s is hidden", oneLine(s.Name, 200)) })
			})
		}}
	c.Flags().BoolVar(&yes, "yes", false, "do it")
	return c
}

// deleted is what a command prints that has nothing else to say.
type deleted struct {
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"`
}

// gone answers a deletion of what is not there. What is hidden and what never
// was cannot be told apart, on purpose.
func gone(what, id, list string) error {
	return withFix(fmt.Errorf("%w: %s %q is hidden already, or was never there", dhruva.ErrNotFound, what, id), "`%s` shows what is there", list)
}

func needsYes(what string) error { return withFix(usage("%s", what), "add --yes") }
