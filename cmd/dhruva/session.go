package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

func (p *program) sessionCommand() *cobra.Command {
	return group("session", "Sessions: conversations and their turns", `  dhruva session create --space work
  dhruva session send SESSION "What did we decide?" --provider echo
  dhruva session preview SESSION "What did we decide?"`,
		p.sessionList(), p.making(p.repeatable(p.sessionCreate())), p.sessionShow(), p.sessionTurns(), p.repeatable(p.sessionSend()), p.sessionPreview(),
		p.repeatable(p.sessionTip()), p.repeatable(p.sessionTitle()), p.repeatable(p.sessionAttach()), p.repeatable(p.sessionDelete()))
}

func (p *program) sessionList() *cobra.Command {
	var g paging
	var space, kind string
	c := &cobra.Command{Use: "list", Short: "List the sessions of a space, last used first", Example: "  dhruva session list --space work", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				l, err := api.Sessions(c.Context(), space, client.SessionFilter{Kind: dhruva.SessionKind(kind), Page: g.page()})
				if err != nil {
					return err
				}
				return printList(p, l, "ID TURNS MOUNT UPDATED TITLE", func(s client.Session) []string {
					return []string{string(s.ID), fmt.Sprint(s.LastSeq), mountOf(s), when(s.UpdatedAt), s.Title}
				})
			})
		}}
	g.flags(c)
	spaceFlag(c, &space)
	c.Flags().StringVar(&kind, "kind", "", "only chat, proxy or notes")
	return c
}

// spaceFlag is the same everywhere.
func spaceFlag(c *cobra.Command, space *string) {
	c.Flags().StringVarP(space, "space", "s", "", "id or name of the space (default: the key's own, else the one named default)")
}

func mountOf(s client.Session) string {
	if s.Mount == nil {
		return "-"
	}
	return s.Mount.Checkpoint.Short()
}

func (p *program) printSession(ctx context.Context, api *client.Client, s client.Session) error {
	return p.print(s, func(w io.Writer) {
		space := "FRESH (no space)"
		if s.SpaceID != nil {
			space = spaceWords(ctx, api, *s.SpaceID)
		}
		fmt.Fprintf(w, "session %s\ntitle   %s\nspace   %s\nbranch  %s\nturns   %d\n", s.ID, oneLine(s.Title, 200), space, oneLine(s.Branch, 200), s.LastSeq)
		if s.Mount != nil {
			fmt.Fprintf(w, "mounted %s, depth %d, turns after %d\n", s.Mount.Checkpoint.Short(), s.Mount.Depth, s.Mount.Base)
		}
		if !s.ForkedFrom.IsZero() {
			fmt.Fprintf(w, "forked  %s\n", s.ForkedFrom.Short())
		}
	})
}

// spaceWords is a space's name and id; its id alone to a key that may not look.
func spaceWords(ctx context.Context, api *client.Client, id dhruva.SpaceID) string {
	s, err := api.Space(ctx, string(id))
	if err != nil {
		return string(id)
	}
	return fmt.Sprintf("%s (%s)", oneLine(s.Name, 200), id)
}

// oneSession is a command that answers with a session.
func (p *program) oneSession(c *cobra.Command, f func(*client.Client) (client.Session, error)) error {
	return p.with(c.Context(), func(api *client.Client) error {
		s, err := f(api)
		if err != nil {
			return err
		}
		return p.printSession(c.Context(), api, s)
	})
}

func (p *program) sessionCreate() *cobra.Command {
	var in client.SessionInput
	var space string
	var fresh bool
	c := &cobra.Command{Use: "create", Short: "Start a session", Args: cobra.NoArgs,
		Example: "  dhruva session create --space work --title \"release plan\"\n  dhruva session create --fresh",
		RunE: func(c *cobra.Command, _ []string) error {
			if fresh && space != "" {
				return withFix(usage("a FRESH session is in no space"), "give either --space or --fresh")
			}
			return p.oneSession(c, func(api *client.Client) (client.Session, error) {
				name := or(space, ownSpace)
				if fresh {
					name = ""
				}
				s, err := api.CreateSession(c.Context(), name, in)
				if err == nil {
					p.say("next: dhruva session send %s \"…\" (with --provider echo where none is configured)", s.ID)
				}
				return s, err
			})
		}}
	spaceFlag(c, &space)
	c.Flags().BoolVar(&fresh, "fresh", false, "in no space")
	c.Flags().StringVar(&in.Title, "title", "", "title")
	c.Flags().StringVar(&in.Provider, "provider", "", "provider of its sends")
	c.Flags().StringVar(&in.Model, "model", "", "model of its sends")
	return c
}

// ownSpace is how the API's paths name the key's own space.
const ownSpace = "-"

func (p *program) sessionShow() *cobra.Command {
	return &cobra.Command{Use: "show SESSION", Short: "Show a session", Example: "  dhruva session show SESSION", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.oneSession(c, func(api *client.Client) (client.Session, error) {
				return api.Session(c.Context(), dhruva.SessionID(args[0]))
			})
		}}
}

func (p *program) sessionTurns() *cobra.Command {
	var after int64
	var limit int
	c := &cobra.Command{Use: "turns SESSION", Short: "Show a session's turns in order", Example: "  dhruva session turns SESSION -n 20", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				l, err := api.Turns(c.Context(), dhruva.SessionID(args[0]), after, limit)
				if err != nil {
					return err
				}
				defer p.more(l.Next)
				if p.flags.json || p.flags.quiet || len(l.Items) == 0 {
					return p.print(l, func(io.Writer) {})
				}
				v, err := conversationOf(c.Context(), api, dhruva.SessionID(args[0]), after, l)
				if err != nil {
					return err
				}
				return p.print(l, func(w io.Writer) { v.printTurns(w, l.Items) })
			})
		}}
	c.Flags().Int64Var(&after, "after", 0, "only turns after this sequence number")
	c.Flags().IntVarP(&limit, "limit", "n", 0, "at most this many (default 100)")
	return c
}

func printTurns(w io.Writer, turns []client.Turn) {
	for _, t := range turns {
		printTurn(w, t, "")
	}
}

// printTurn writes a turn, with who answered and a mark behind its time.
func printTurn(w io.Writer, t client.Turn, mark string) {
	by := or(oneLine(t.Speaker, 60), string(t.Role))
	if model := oneLine(t.Provider+" "+t.Model, 100); t.Role == dhruva.RoleAssistant && model != "" {
		by += " (" + model + ")"
	}
	fmt.Fprintf(w, "#%d %s  %s%s\n%s\n\n", t.Seq, by, when(t.CreatedAt), mark, indent(plain(t.Content)))
}

// conversation is what tells how turns of a session stand to each other: what is
// mounted, and the turns of its path with the numbers of their versions.
type conversation struct {
	mount    *client.Mount
	versions map[int64][]int64
	after    int64 // the turn before the page
	last     bool  // nothing follows the page
}

// conversationOf asks for the path as far as the page goes: of the turns of a
// page no more are on it than there are.
func conversationOf(ctx context.Context, api *client.Client, id dhruva.SessionID, after int64, page client.List[client.Turn]) (conversation, error) {
	v := conversation{versions: map[int64][]int64{}, after: after, last: page.Next == ""}
	s, err := api.Session(ctx, id)
	if err != nil {
		return v, err
	}
	v.mount = s.Mount
	path, err := api.Path(ctx, id, page.Items[len(page.Items)-1].Seq+1, len(page.Items))
	for _, t := range path.Items {
		v.versions[t.Seq] = t.Versions
	}
	return v, err
}

func (v conversation) printTurns(w io.Writer, turns []client.Turn) {
	before := v.after
	for _, t := range turns {
		if v.mount != nil && before <= v.mount.Base && t.Seq > v.mount.Base {
			v.printBoundary(w)
		}
		printTurn(w, t, v.mark(t.Seq))
		before = t.Seq
	}
	if v.mount != nil && v.last && before <= v.mount.Base {
		v.printBoundary(w)
	}
}

func (v conversation) printBoundary(w io.Writer) {
	fmt.Fprintf(w, "--- %s is mounted: prompts hold no turn from above this line ---\n\n", v.mount.Checkpoint.Short())
}

// mark tells whether a turn was left aside, and which other versions it has.
func (v conversation) mark(seq int64) string {
	versions, on := v.versions[seq]
	if !on {
		return "  (left aside)"
	}
	var others []string
	for _, n := range versions {
		if n != seq {
			others = append(others, fmt.Sprintf("#%d", n))
		}
	}
	if len(others) == 0 {
		return ""
	}
	return "  (other versions: " + strings.Join(others, ", ") + ")"
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n    ")
}

// sendFlags are shared by send and preview.
func sendFlags(c *cobra.Command, in *client.SendInput) {
	f := c.Flags()
	f.StringVar(&in.Provider, "provider", "", "provider (default: the session's, else the configured one)")
	f.StringVar(&in.Model, "model", "", "model")
	f.StringVar(&in.History, "history", "", "none or session")
	f.StringVar(&in.Memory, "memory", "", "off or recall")
	f.IntVar(&in.Depth, "depth", 0, "checkpoints shown: 1 or 3")
}

func (p *program) sessionSend() *cobra.Command {
	var in client.SendInput
	c := &cobra.Command{Use: "send SESSION [MESSAGE]", Short: "Ask a model in a session", Args: cobra.RangeArgs(1, 2),
		Example: "  dhruva session send SESSION \"Hello\" --provider echo      no key, no network: it answers with what it was told\n  dhruva session send SESSION - --provider echo < question.txt\n" +
			"  dhruva session send SESSION \"Hello there\" --edit 1     another version of message 1\n  dhruva session send SESSION --regenerate 2               another version of answer 2",
		RunE: func(c *cobra.Command, args []string) (err error) {
			if (in.Regenerate > 0) == (len(args) == 2) {
				return withFix(usage("give a message, or --regenerate"), "usage: %s", c.UseLine())
			}
			if len(args) == 2 {
				in.Message, err = p.text(args[1])
			}
			if err != nil {
				return err
			}
			return p.with(c.Context(), func(api *client.Client) error { return p.send(c, api, dhruva.SessionID(args[0]), in) })
		}}
	sendFlags(c, &in)
	c.Flags().Int64Var(&in.Edit, "edit", 0, "number of the message that this one is another version of")
	c.Flags().Int64Var(&in.Regenerate, "regenerate", 0, "number of the answer of which another version is asked for")
	return c
}

// send streams the reply for people, and waits for the whole for programs.
func (p *program) send(c *cobra.Command, api *client.Client, id dhruva.SessionID, in client.SendInput) error {
	if p.flags.json {
		r, err := api.Send(c.Context(), id, in)
		if err != nil {
			return err
		}
		p.sayRedacted(r.Redactions)
		return p.print(r, nil)
	}
	r, err := api.SendStream(c.Context(), id, in, func(s string) error {
		_, err := io.WriteString(p.stdout, plain(s))
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(p.stdout)
	p.say("%s · %s · %d cut · %s of evidence · about %d tokens · receipt %s", r.Badge, count(len(r.TurnIDs), "turn"), r.Cut, count(len(r.Evidence), "piece"), r.Tokens, r.ReceiptID)
	p.sayRedacted(r.Redactions)
	return nil
}

func (p *program) sessionPreview() *cobra.Command {
	var in client.SendInput
	c := &cobra.Command{Use: "preview SESSION MESSAGE", Short: "Show the exact prompt a send would make", Args: cobra.ExactArgs(2),
		Example: "  dhruva session preview SESSION \"What did we decide?\" --provider echo",
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if in.Message, err = p.text(args[1]); err != nil {
				return err
			}
			return p.with(c.Context(), func(api *client.Client) error {
				r, err := api.Preview(c.Context(), dhruva.SessionID(args[0]), in)
				if err != nil {
					return err
				}
				p.say("%s · %s · %d cut · about %d tokens", r.Badge, count(len(r.TurnIDs), "turn"), r.Cut, r.Tokens)
				return p.print(r, func(w io.Writer) { fmt.Fprintln(w, plain(r.Prompt)) })
			})
		}}
	sendFlags(c, &in)
	return c
}

// maxText bounds a text given on standard input.
const maxText = 16 << 20

// text is an argument, or standard input for "-".
func (p *program) text(arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	b, err := io.ReadAll(io.LimitReader(p.stdin, maxText+1))
	if err != nil {
		return "", fmt.Errorf("standard input: %w", err)
	}
	if len(b) > maxText {
		return "", fmt.Errorf("%w: standard input is longer than %d bytes", dhruva.ErrTooLarge, maxText)
	}
	return string(b), nil
}

func (p *program) sessionTitle() *cobra.Command {
	var model bool
	c := &cobra.Command{Use: "title SESSION [TITLE]", Short: "Name a session, or have a model name it", Args: cobra.RangeArgs(1, 2),
		Example: "  dhruva session title SESSION \"release plan\"\n  dhruva session title SESSION --by-model",
		RunE: func(c *cobra.Command, args []string) error {
			if model == (len(args) == 2) {
				return withFix(usage("give a title, or --by-model"), "usage: %s", c.UseLine())
			}
			return p.oneSession(c, func(api *client.Client) (client.Session, error) {
				return api.SetTitle(c.Context(), dhruva.SessionID(args[0]), strings.Join(args[1:], ""))
			})
		}}
	c.Flags().BoolVar(&model, "by-model", false, "let the model for background work name it")
	return c
}

func (p *program) sessionTip() *cobra.Command {
	return &cobra.Command{Use: "tip SESSION TURN", Short: "Go on from another version of a turn", Example: "  dhruva session tip SESSION 4", Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			seq, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil || seq < 1 {
				return withFix(usage("%q is no number of a turn", args[1]), "`dhruva session turns %s` shows them", args[0])
			}
			return p.oneSession(c, func(api *client.Client) (client.Session, error) {
				return api.SelectTip(c.Context(), dhruva.SessionID(args[0]), seq)
			})
		}}
}

func (p *program) sessionAttach() *cobra.Command {
	return &cobra.Command{Use: "attach SESSION SPACE", Short: "Move a FRESH session into a space", Example: "  dhruva session attach SESSION work", Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return p.oneSession(c, func(api *client.Client) (client.Session, error) {
				return api.Attach(c.Context(), dhruva.SessionID(args[0]), args[1])
			})
		}}
}

func (p *program) sessionDelete() *cobra.Command {
	var yes bool
	c := &cobra.Command{Use: "delete SESSION", Short: "Hide a session; its turns are not erased", Example: "  dhruva session delete SESSION --yes", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !yes {
				return needsYes("this hides the session")
			}
			return p.with(c.Context(), func(api *client.Client) error {
				err := api.DeleteSession(c.Context(), dhruva.SessionID(args[0]))
				if errors.Is(err, dhruva.ErrNotFound) {
					return gone("session", args[0], "dhruva session list --space SPACE")
				}
				if err != nil {
					return err
				}
				return p.print(deleted{args[0], true}, func(io.Writer) { p.say("session %s is hidden", args[0]) })
			})
		}}
	c.Flags().BoolVar(&yes, "yes", false, "do it")
	return c
}
