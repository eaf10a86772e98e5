package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

func (p *program) checkpointCommand() *cobra.Command {
	return group("checkpoint", "Checkpoints: what was concluded", `  dhruva checkpoint create --session SESSION --title "Plan" --decision "Ship on Friday" --task "Write notes"
  dhruva checkpoint create --space work --from-json plan.json
  dhruva checkpoint list --space work`, p.repeatable(p.checkpointCreate()), p.checkpointList(), p.checkpointShow(),
		p.checkpointDraft(), p.checkpointExtract(), p.checkpointReview(), p.repeatable(p.checkpointNote()), p.checkpointNotes(), p.repeatable(p.checkpointDelete()))
}

func (p *program) checkpointList() *cobra.Command {
	var g paging
	var space, branch, session string
	c := &cobra.Command{Use: "list", Short: "List the checkpoints of a space, newest first", Example: "  dhruva checkpoint list --space work --branch main", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.listCheckpoints(c, space, client.CheckpointFilter{Branch: branch, Session: dhruva.SessionID(session), Page: g.page()})
		}}
	g.flags(c)
	spaceFlag(c, &space)
	c.Flags().StringVar(&branch, "branch", "", "only those saved on this branch")
	c.Flags().StringVar(&session, "session", "", "only those drawn from this session")
	return c
}

func (p *program) listCheckpoints(c *cobra.Command, space string, f client.CheckpointFilter) error {
	return p.with(c.Context(), func(api *client.Client) error {
		l, err := api.Checkpoints(c.Context(), space, f)
		if err != nil {
			return err
		}
		return printList(p, l, "HASH BRANCH SAVED AUTHOR TITLE", func(k client.Checkpoint) []string {
			return []string{k.Hash.Short(), k.Branch, when(k.CreatedAt), k.Author, k.Title}
		})
	})
}

func printLog(w io.Writer, items []client.Checkpoint) {
	for _, k := range items {
		parents := make([]string, 0, len(k.Parents))
		for _, h := range k.Parents {
			parents = append(parents, h.Short())
		}
		fmt.Fprintf(w, "checkpoint %s (%s)\n", k.Hash, oneLine(k.Branch, 60))
		if len(parents) > 0 {
			fmt.Fprintf(w, "parent     %s\n", strings.Join(parents, " "))
		}
		fmt.Fprintf(w, "author     %s\ndate       %s\n\n    %s\n\n", oneLine(k.Author, 100), when(k.CreatedAt), oneLine(k.Title, 200))
	}
}

// draft are the flags of checkpoint create.
type draft struct {
	space, fromJSON, session, author, branch string
	title, objective, summary                string
	parents                                  []string
	decisions, assumptions, tasks            []string
	questions, entities                      []string
}

func (p *program) checkpointCreate() *cobra.Command {
	var d draft
	c := &cobra.Command{Use: "create", Short: "Save what was concluded", Args: cobra.NoArgs,
		Example: `  dhruva checkpoint create --session SESSION --title "Plan" --decision "Ship on Friday"
  dhruva checkpoint create --space work --from-json plan.json
  dhruva show 4f2a91c --json >plan.json        change it, then: dhruva checkpoint create --from-json plan.json
  echo '{"title":"Plan","decisions":["Ship on Friday"]}' | dhruva checkpoint create --space work`,
		Long: "Saves a checkpoint from flags, from a file, or (without either) from JSON on standard input; flags win over the file.\n" +
			"What `dhruva show CHECKPOINT --json` prints can be edited and given here: it is saved on top of the same branch. An item that keeps its\n" +
			"\"id\" stays the same item, whatever its text becomes; one without an id is a new one, unless it says what one says already. What the\n" +
			"server makes (id, hash, window, items, …) is ignored, and so are the turns that were cited: they are those of the first window.",
		RunE: func(c *cobra.Command, _ []string) error {
			in, err := p.checkpointInput(d)
			if err != nil {
				return err
			}
			return p.with(c.Context(), func(api *client.Client) error { return p.save(c, api, in) })
		}}
	d.flags(c)
	return c
}

func (d *draft) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&d.space, "space", "s", "", "id or name of the space (default: the session's, else the key's own)")
	f.StringVar(&d.fromJSON, "from-json", "", "file with the checkpoint as JSON; - is standard input")
	f.StringVar(&d.session, "session", "", "session it is drawn from")
	f.StringVar(&d.branch, "branch", "", "branch to save on")
	f.StringArrayVar(&d.parents, "parent", nil, "parent checkpoint; repeat for a merge")
	f.StringVar(&d.title, "title", "", "title")
	f.StringVar(&d.objective, "objective", "", "objective")
	f.StringVar(&d.summary, "summary", "", "summary")
	f.StringArrayVar(&d.decisions, "decision", nil, "a decision; may be repeated")
	f.StringArrayVar(&d.assumptions, "assumption", nil, "an assumption; may be repeated")
	f.StringArrayVar(&d.tasks, "task", nil, "an open task; may be repeated")
	f.StringArrayVar(&d.questions, "question", nil, "an open question; may be repeated")
	f.StringArrayVar(&d.entities, "entity", nil, "an entity; may be repeated")
	f.StringVar(&d.author, "author", "", "author (default: the key's name)")
}

// spaceFor is the space that was named, else the session's, else the key's own.
func spaceFor(c *cobra.Command, api *client.Client, named string, session dhruva.SessionID) (string, error) {
	if named != "" || session == "" {
		return named, nil
	}
	s, err := api.Session(c.Context(), session)
	if err != nil {
		return "", err
	}
	if s.SpaceID == nil {
		return "", withFix(usage("session %s is FRESH: it has no space to save in", session), "attach it first: dhruva session attach %s SPACE", session)
	}
	return string(*s.SpaceID), nil
}

func (d draft) empty() bool {
	return d.title+d.objective+d.summary == "" && len(d.decisions)+len(d.assumptions)+len(d.tasks)+len(d.questions)+len(d.entities) == 0
}

func (p *program) checkpointInput(d draft) (given, error) {
	in := given{}
	if d.fromJSON != "" || d.empty() {
		var err error
		if in, err = p.readCheckpoint(or(d.fromJSON, "-")); err != nil {
			return in, err
		}
	}
	in.space = or(d.space, in.space)
	for _, f := range []struct {
		to   *string
		flag string
	}{{&in.Title, d.title}, {&in.Objective, d.objective}, {&in.Summary, d.summary}, {&in.Author, d.author}, {&in.Branch, d.branch}} {
		*f.to = or(f.flag, *f.to)
	}
	in.Session = dhruva.SessionID(or(d.session, string(in.Session)))
	if len(d.parents) > 0 {
		in.Parents = d.parents
	}
	in.Decisions = append(in.Decisions, items(d.decisions)...)
	in.Assumptions = append(in.Assumptions, items(d.assumptions)...)
	in.Questions = append(in.Questions, items(d.questions)...)
	in.Entities = append(in.Entities, items(d.entities)...)
	for _, t := range d.tasks {
		in.Tasks = append(in.Tasks, client.Task{Text: t})
	}
	return in, nil
}

func items(texts []string) []client.Item {
	var out []client.Item
	for _, t := range texts {
		out = append(out, client.Item{Text: t})
	}
	return out
}

func (p *program) checkpointShow() *cobra.Command { return p.show("show REF", "checkpoint show") }

func (p *program) showCommand() *cobra.Command { return p.show("show REF", "show") }

func (p *program) show(use, name string) *cobra.Command {
	var turns bool
	c := &cobra.Command{Use: use, Short: "Show a checkpoint", Args: cobra.ExactArgs(1),
		Example: "  dhruva " + name + " 4f2a91c\n  dhruva " + name + " 4f2a91c --turns       the conversation behind it",
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				if turns {
					l, err := api.CheckpointTurns(c.Context(), args[0])
					if err != nil {
						return err
					}
					return p.print(l, func(w io.Writer) { printTurns(w, l.Items) })
				}
				k, err := api.Checkpoint(c.Context(), args[0])
				if err != nil {
					return err
				}
				return p.print(identified(k), func(w io.Writer) { printCheckpoint(w, k) })
			})
		}}
	c.Flags().BoolVar(&turns, "turns", false, "the turns it was drawn from")
	return c
}

func printCheckpoint(w io.Writer, k client.Checkpoint) {
	printLog(w, []client.Checkpoint{k})
	printItems(w, k.Items)
}

// printItems writes what a checkpoint says, kind by kind; the title stands
// elsewhere.
func printItems(w io.Writer, items []client.ItemDetail) {
	section := ""
	for _, i := range items {
		if i.Kind == dhruva.KindTitle {
			continue
		}
		if string(i.Kind) != section {
			section = string(i.Kind)
			fmt.Fprintf(w, "%s\n", strings.ReplaceAll(section, "_", " "))
		}
		fmt.Fprintf(w, "  - %s\n", strings.ReplaceAll(itemText(i), "\n", "\n    "))
	}
}

func (p *program) forkCommand() *cobra.Command {
	var in client.ForkInput
	var session string
	c := &cobra.Command{Use: "fork [CHECKPOINT]", Short: "Start a new session from a checkpoint or a turn, on a branch of its own", Args: cobra.MaximumNArgs(1),
		Example: "  dhruva fork 4f2a91c --branch try-sqlite --title \"what if SQLite\"\n  dhruva fork --session SESSION --turn 12      with what was said up to there",
		RunE: func(c *cobra.Command, args []string) error {
			if (session == "") != (len(args) == 1) || (session == "") != (in.Turn == 0) {
				return withFix(usage("give a checkpoint, or --session and --turn"), "usage: %s", c.UseLine())
			}
			return p.oneSession(c, func(api *client.Client) (client.Session, error) {
				if session != "" {
					return api.Fork(c.Context(), dhruva.SessionID(session), in)
				}
				return api.ForkCheckpoint(c.Context(), args[0], in)
			})
		}}
	c.Flags().StringVar(&session, "session", "", "session whose turn to fork at")
	c.Flags().Int64Var(&in.Turn, "turn", 0, "number of the turn: a message is to be said anew, an answer is the last that is copied")
	c.Flags().StringVar(&in.Scope, "scope", "", "from a turn: path (default), related or all turns")
	c.Flags().StringVar(&in.Branch, "branch", "", "name of the new branch")
	c.Flags().StringVar(&in.Title, "title", "", "title of the new session")
	c.Flags().StringVar(&in.Provider, "provider", "", "provider of its sends")
	c.Flags().StringVar(&in.Model, "model", "", "model of its sends")
	return c
}

func (p *program) mountCommand() *cobra.Command {
	var depth int
	var off bool
	c := &cobra.Command{Use: "mount SESSION [CHECKPOINT]", Short: "Mount a checkpoint in a session: the model sees it and what follows", Args: cobra.RangeArgs(1, 2),
		Example: "  dhruva mount SESSION 4f2a91c --depth 3\n  dhruva mount SESSION --off",
		RunE: func(c *cobra.Command, args []string) error {
			if off != (len(args) == 1) {
				return withFix(usage("give a checkpoint, or --off"), "usage: %s", c.UseLine())
			}
			id := dhruva.SessionID(args[0])
			return p.oneSession(c, func(api *client.Client) (client.Session, error) {
				if off {
					return api.Unmount(c.Context(), id)
				}
				return api.Mount(c.Context(), id, client.MountInput{Checkpoint: args[1], Depth: depth})
			})
		}}
	c.Flags().IntVar(&depth, "depth", 0, "checkpoints shown: 1 (default) or 3")
	c.Flags().BoolVar(&off, "off", false, "take the mounted checkpoint away")
	return c
}

func (p *program) verifyCommand() *cobra.Command {
	return &cobra.Command{Use: "verify SPACE", Short: "Recompute every checkpoint of a space", Example: "  dhruva verify work", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				v, err := api.Verify(c.Context(), args[0])
				if err != nil {
					return err
				}
				problems := func(bullet string) func(io.Writer) {
					return func(w io.Writer) {
						for _, f := range v.Problems {
							fmt.Fprintf(w, "%s%s\n", bullet, oneLine(f, 400))
						}
					}
				}
				err = p.printBare(v, func(w io.Writer) {
					fmt.Fprintf(w, "%s checked, %s\n", count(v.Checked, "checkpoint"), count(len(v.Problems), "problem"))
					problems("  - ")(w)
				}, problems(""))
				if err == nil && !v.OK {
					err = withFix(fmt.Errorf("the lineage of %s does not verify", args[0]), "restore the store from a backup, and keep this one for inspection")
				}
				return err
			})
		}}
}
