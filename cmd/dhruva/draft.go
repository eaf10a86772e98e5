package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

// answering are the flags of commands that ask a model in the background.
func answering(c *cobra.Command, provider, model *string) {
	c.Flags().StringVar(provider, "provider", "", "provider (default: background_intelligence of providers.yaml)")
	c.Flags().StringVar(model, "model", "", "model")
}

func (p *program) checkpointDraft() *cobra.Command {
	var in client.DraftInput
	c := &cobra.Command{Use: "draft SESSION", Short: "Ask a model to draft a checkpoint; nothing is saved", Args: cobra.ExactArgs(1),
		Example: `  dhruva checkpoint draft SESSION
  dhruva checkpoint draft SESSION --json >plan.json        change it, then: dhruva checkpoint create --from-json plan.json`,
		Long: "Drafts a checkpoint from what the session's next send would show, and from nothing else.\nThe JSON can be saved as it is, with `dhruva checkpoint create --from-json`.",
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				d, err := api.Draft(c.Context(), dhruva.SessionID(args[0]), in)
				if err == nil && len(d.Turns) == 0 {
					return p.printNothing(c, api, d)
				}
				if err != nil {
					return err
				}
				return p.printDraft(d, count(len(d.Turns), "turn"))
			})
		}}
	c.Flags().IntVar(&in.Turns, "turns", 0, "only so many of the newest turns")
	answering(c, &in.Provider, &in.Model)
	return c
}

// printDraft: what is printed as JSON is the input of `checkpoint create` alone,
// so that it can be given to it.
func (p *program) printDraft(d client.Draft, from string) error {
	p.say("drafted by %s from %s, %s uncited; nothing is saved", oneLine(d.Provider+" "+d.Model, 120), from, count(len(d.Uncited), "item"))
	return p.print(whole(d.CheckpointInput), func(w io.Writer) { printInput(w, d.CheckpointInput) })
}

// printNothing is printDraft where no model was asked, because there is nothing to
// draft from.
func (p *program) printNothing(c *cobra.Command, api *client.Client, d client.Draft) error {
	s, err := api.Session(c.Context(), d.Session)
	if err != nil {
		return err
	}
	since := "the session began"
	switch {
	case s.Mount != nil:
		since = fmt.Sprintf("%s was mounted, after turn %d", s.Mount.Checkpoint.Short(), s.Mount.Base)
	case d.Window != nil && d.Window.Base > 0:
		since = fmt.Sprintf("turn %d", d.Window.Base)
	}
	p.say("nothing was said since %s: there is nothing to draft", since)
	return p.print(whole(d.CheckpointInput), func(io.Writer) {})
}

// wholeInput is the input of a checkpoint with all of its fields.
type wholeInput struct {
	Session     dhruva.SessionID  `json:"session_id"`
	Branch      string            `json:"branch"`
	Parents     []string          `json:"parents"`
	Title       string            `json:"title"`
	Objective   string            `json:"objective"`
	Summary     string            `json:"summary"`
	Decisions   []client.Item     `json:"decisions"`
	Assumptions []client.Item     `json:"assumptions"`
	Tasks       []client.Task     `json:"tasks"`
	Questions   []client.Item     `json:"open_questions"`
	Entities    []client.Item     `json:"entities"`
	Artifacts   []client.Artifact `json:"artifacts"`
	Author      string            `json:"author"`
}

// whole leaves no field out: a script finds an empty list where there is nothing.
func whole(in client.CheckpointInput) wholeInput {
	w := wholeInput(in)
	w.Parents = append([]string{}, w.Parents...)
	for _, list := range []*[]client.Item{&w.Decisions, &w.Assumptions, &w.Questions, &w.Entities} {
		*list = append([]client.Item{}, *list...)
	}
	w.Tasks, w.Artifacts = append([]client.Task{}, w.Tasks...), append([]client.Artifact{}, w.Artifacts...)
	return w
}

func printInput(w io.Writer, in client.CheckpointInput) {
	for _, t := range [][2]string{{"title", in.Title}, {"objective", in.Objective}, {"summary", in.Summary}} {
		if t[1] != "" {
			fmt.Fprintf(w, "%s\n%s\n", t[0], indent(plain(t[1])))
		}
	}
	list := func(name string, n int, text func(int) string) {
		if n > 0 {
			fmt.Fprintln(w, name)
		}
		for i := range n {
			fmt.Fprintf(w, "  - %s\n", oneLine(text(i), 400))
		}
	}
	list("decisions", len(in.Decisions), func(i int) string { return in.Decisions[i].Text })
	list("assumptions", len(in.Assumptions), func(i int) string { return in.Assumptions[i].Text })
	list("tasks", len(in.Tasks), func(i int) string { return in.Tasks[i].Text })
	list("open questions", len(in.Questions), func(i int) string { return in.Questions[i].Text })
	list("entities", len(in.Entities), func(i int) string { return in.Entities[i].Text })
	list("artifacts", len(in.Artifacts), func(i int) string { return in.Artifacts[i].Label })
}

func (p *program) checkpointExtract() *cobra.Command {
	var in client.ExtractInput
	c := &cobra.Command{Use: "extract FILE", Short: "Draft a checkpoint from a text, such as a plan in Markdown", Args: cobra.ExactArgs(1),
		Example: "  dhruva checkpoint extract PLAN.md\n  git log -5 | dhruva checkpoint extract - --json",
		RunE: func(c *cobra.Command, args []string) (err error) {
			if in.Content, err = p.fileOrText(args[0]); err != nil {
				return err
			}
			return p.with(c.Context(), func(api *client.Client) error {
				d, err := api.Extract(c.Context(), in)
				if err != nil {
					return err
				}
				return p.printDraft(d, "the text")
			})
		}}
	answering(c, &in.Provider, &in.Model)
	return c
}

// fileOrText reads a file, or standard input for "-".
func (p *program) fileOrText(path string) (string, error) {
	if path == "-" {
		return p.text("-")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", withFix(fmt.Errorf("%w: %w", dhruva.ErrInvalid, err), "give an existing file, or - for standard input")
	}
	return string(b), nil
}

func (p *program) checkpointReview() *cobra.Command {
	var in client.ModelInput
	c := &cobra.Command{Use: "review CHECKPOINT", Short: "Ask a model what is wrong with a checkpoint", Args: cobra.ExactArgs(1),
		Example: "  dhruva checkpoint review 4f2a91c",
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				r, err := api.Review(c.Context(), args[0], in)
				if err != nil {
					return err
				}
				return p.print(r, func(w io.Writer) { printReview(w, r) })
			})
		}}
	answering(c, &in.Provider, &in.Model)
	return c
}

func printReview(w io.Writer, r client.Review) {
	if len(r.Issues)+len(r.Suggestions) == 0 {
		fmt.Fprintln(w, "nothing found")
	}
	for _, i := range r.Issues {
		fmt.Fprintf(w, "%s: %s\n", oneLine(i.Type, 40), oneLine(i.Description, 400))
	}
	for _, s := range r.Suggestions {
		fmt.Fprintf(w, "suggestion: %s\n", oneLine(s, 400))
	}
}

func (p *program) checkpointNote() *cobra.Command {
	var in client.NoteInput
	var kind string
	c := &cobra.Command{Use: "note CHECKPOINT TEXT", Short: "Add a note to a checkpoint; it is never changed", Args: cobra.ExactArgs(2),
		Example: "  dhruva checkpoint note 4f2a91c \"first release\" --kind milestone",
		RunE: func(c *cobra.Command, args []string) (err error) {
			if in.Text, err = p.text(args[1]); err != nil {
				return err
			}
			in.Kind = dhruva.NoteKind(kind)
			return p.with(c.Context(), func(api *client.Client) error {
				n, err := api.AddNote(c.Context(), args[0], in)
				if err != nil {
					return err
				}
				return p.print(n, func(w io.Writer) { printNotes(w, []client.Note{n}) })
			})
		}}
	c.Flags().StringVar(&kind, "kind", "", "note (default), milestone or noise")
	c.Flags().StringVar(&in.Author, "author", "", "author (default: the key's name)")
	return c
}

func (p *program) checkpointNotes() *cobra.Command {
	var g paging
	c := &cobra.Command{Use: "notes CHECKPOINT", Short: "Show the notes of a checkpoint, oldest first", Example: "  dhruva checkpoint notes 4f2a91c", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				l, err := api.Notes(c.Context(), args[0], g.page())
				if err != nil {
					return err
				}
				defer p.more(l.Next)
				return p.print(l, func(w io.Writer) { printNotes(w, l.Items) })
			})
		}}
	g.flags(c)
	return c
}

func printNotes(w io.Writer, notes []client.Note) {
	for _, n := range notes {
		text := plain(n.Text)
		if n.Redacted {
			text = "(erased)"
		}
		fmt.Fprintf(w, "%s %s, %s\n%s\n", n.Kind, oneLine(n.Author, 60), when(n.CreatedAt), indent(text))
	}
}

func (p *program) checkpointDelete() *cobra.Command {
	var yes, cascade bool
	c := &cobra.Command{Use: "delete CHECKPOINT", Short: "Hide a checkpoint; nothing is erased", Args: cobra.ExactArgs(1),
		Example: "  dhruva checkpoint delete 4f2a91c --yes\n  dhruva checkpoint delete 4f2a91c --cascade --yes      with all that hangs on it",
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				d, err := api.Dependents(c.Context(), args[0])
				if errors.Is(err, dhruva.ErrNotFound) {
					return gone("checkpoint", args[0], "dhruva log SPACE")
				}
				if err != nil {
					return err
				}
				if !yes {
					p.sayDependents(d)
					if d.Blocking > 0 && !cascade {
						return withFix(usage("this hides the checkpoint from everyone, and others hang on it"), "%s", fixCascade)
					}
					return needsYes("this hides the checkpoint from everyone")
				}
				if err := api.DeleteCheckpoint(c.Context(), args[0], cascade); err != nil {
					p.sayDependents(d)
					if errors.Is(err, dhruva.ErrConflict) && !cascade {
						err = withFix(err, "%s", fixCascade)
					}
					return err
				}
				return p.print(deleted{args[0], true}, func(io.Writer) { p.say("checkpoint %s is hidden", args[0]) })
			})
		}}
	c.Flags().BoolVar(&yes, "yes", false, "do it")
	c.Flags().BoolVar(&cascade, "cascade", false, "with the checkpoints and forks that hang on it")
	return c
}

// fixCascade is what to do about a checkpoint on which others hang.
const fixCascade = "add --cascade --yes to hide those too, or hide them first"

func (p *program) sayDependents(d client.Dependents) {
	for _, n := range d.Children {
		p.say("a child hangs on it: %s %s", n.Hash.Short(), oneLine(n.Title, 72))
	}
	for _, s := range d.Forked {
		p.say("a session was forked from it: %s %s", s.ID, oneLine(s.Title, 72))
	}
	for _, s := range d.Mounted {
		p.say("a session holds it mounted, and will need another mount or none: %s %s", s.ID, oneLine(s.Title, 72))
	}
}
