package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

func (p *program) recallCommand() *cobra.Command {
	var space string
	var tokens bool
	var in client.RecallInput
	c := &cobra.Command{Use: "recall QUERY", Short: "Search a space for evidence", Args: cobra.ExactArgs(1),
		Example: "  dhruva recall --space work \"when do we ship?\"\n  dhruva recall --space work --as-of 4f2a91c \"which database?\" --json",
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if in.Query, err = p.text(args[0]); err != nil {
				return err
			}
			return p.with(c.Context(), func(api *client.Client) error {
				r, err := api.Recall(c.Context(), space, in)
				if err != nil {
					return err
				}
				return p.printBare(r, func(w io.Writer) { p.printRecall(w, r, tokens) }, func(w io.Writer) {
					for _, e := range r.Evidence {
						fmt.Fprintln(w, e.Token)
					}
				})
			})
		}}
	spaceFlag(c, &space)
	c.Flags().IntVarP(&in.TopK, "top-k", "k", 0, "at most this many pieces of evidence (default 8, at most 50)")
	c.Flags().StringVar(&in.AsOf, "as-of", "", "what could be known at this checkpoint")
	c.Flags().BoolVar(&tokens, "tokens", false, "also print each piece's token, for dhruva read (-q prints nothing else)")
	return c
}

func (p *program) printRecall(w io.Writer, r client.Recall, tokens bool) {
	for n, e := range r.Evidence {
		fmt.Fprintf(w, "%d. %s\n   %s · %s · trust %.2f · score %.2f", n+1, oneLine(e.Snippet, 400), e.Role, when(e.Time), e.Trust, e.Score)
		for _, y := range reasons(e.Why) {
			fmt.Fprintf(w, " · %s", y)
		}
		fmt.Fprintln(w)
		if tokens {
			fmt.Fprintf(w, "   token %s\n", e.Token)
		}
	}
	p.say("%s (%s) · %s searched · receipt %s", r.Status, r.Reason, count(r.Searched, "source"), r.Receipt)
}

func (p *program) readCommand() *cobra.Command {
	return &cobra.Command{Use: "read TOKEN...", Short: "Read exact spans by their tokens", Example: "  dhruva read TOKEN", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				r, err := api.Read(c.Context(), args)
				if err != nil {
					return err
				}
				missing := 0
				err = p.print(r, func(w io.Writer) {
					for _, x := range r.Results {
						if x.Status == "ok" {
							fmt.Fprintln(w, plain(x.Text))
						}
					}
				})
				for _, x := range r.Results {
					if x.Status != "ok" {
						missing++
					}
				}
				return firstError(err, readOutcome(missing, len(r.Results)))
			})
		}}
}

// readOutcome: nothing found is an error of its own, some missing is partial.
func readOutcome(missing, all int) error {
	switch missing {
	case 0:
		return nil
	case all:
		return withFix(fmt.Errorf("%w: no span for these tokens", dhruva.ErrNotFound), "recall again: tokens end with what they point to")
	}
	return withFix(fmt.Errorf("%w: %d of %d tokens found nothing", errPartial, missing, all), "recall again: tokens end with what they point to")
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *program) rememberCommand() *cobra.Command {
	var space string
	var in client.RememberInput
	var source string
	c := &cobra.Command{Use: "remember TEXT", Short: "Store a text outside a conversation", Args: cobra.ExactArgs(1),
		Example: "  dhruva remember --space work \"We ship on Fridays.\"\n  dhruva remember --space work - < notes.txt",
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if in.Text, err = p.text(args[0]); err != nil {
				return err
			}
			in.SourceID = dhruva.SourceID(source)
			in.Authority = or(in.Authority, p.authority())
			return p.with(c.Context(), func(api *client.Client) error {
				r, err := api.Remember(c.Context(), space, in)
				if err != nil {
					return err
				}
				if r.State == dhruva.SourceHeld {
					p.say("held until a person releases it (%s): dhruva source release %s%s", r.HeldFor, r.Source, inSpace(space))
				}
				p.sayRedacted(r.Redactions)
				return p.print(r, func(w io.Writer) { fmt.Fprintln(w, r.Source) })
			})
		}}
	spaceFlag(c, &space)
	c.Flags().StringVar(&source, "source-id", "", "an id of your own")
	c.Flags().StringVar(&in.Authority, "authority", "", "user, or assistant for what a model says (default: user with this machine's own key, else assistant)")
	return c
}

// authority is who says what is remembered: the owner of this machine, unless
// a key was given, which may be a program's.
func (p *program) authority() string {
	if or(p.flags.key, p.env("DHRUVA_KEY")) == "" {
		return "user"
	}
	return ""
}

func (p *program) sourceCommand() *cobra.Command {
	return group("source", "Sources: captured texts", `  dhruva source list --space work
  dhruva source show SOURCE --space work
  dhruva source release SOURCE --space work`, p.sourceList(), p.sourceShow(), p.repeatable(p.sourceRelease()))
}

func (p *program) sourceList() *cobra.Command {
	var g paging
	var space, state, class string
	c := &cobra.Command{Use: "list", Short: "List the sources of a space", Example: "  dhruva source list --space work --state held", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				l, err := api.Sources(c.Context(), space, client.SourceFilter{State: dhruva.SourceState(state), Class: dhruva.SourceClass(class), Page: g.page()})
				if err != nil {
					return err
				}
				return printList(p, l, "ID CLASS STATE SAID TEXT", func(s client.Source) []string {
					return []string{string(s.ID), string(s.Class), string(s.State), when(s.Time), s.Text}
				})
			})
		}}
	g.flags(c)
	spaceFlag(c, &space)
	c.Flags().StringVar(&state, "state", "", "only ready, held or purge_pending")
	c.Flags().StringVar(&class, "class", "", "only user_committed, user_typed, observed, imported, assistant_visible, derived or external")
	return c
}

func (p *program) sourceShow() *cobra.Command {
	var space string
	c := &cobra.Command{Use: "show SOURCE", Short: "Show a source and what said it", Example: "  dhruva source show SOURCE --space work", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				s, err := api.Source(c.Context(), space, dhruva.SourceID(args[0]))
				if err != nil {
					return err
				}
				return p.print(s, func(w io.Writer) {
					fmt.Fprintf(w, "source %s\nclass  %s (trust %.2f), %s\nsaid   %s by %s\n\n%s\n\n", s.ID, s.Class, s.Trust, s.State, when(s.Time), s.Role, indent(plain(s.Text)))
					for _, r := range s.References {
						if r.Session != "" {
							fmt.Fprintf(w, "in session %s, turn %d\n", r.Session, r.Seq)
						} else {
							fmt.Fprintf(w, "in checkpoint %s\n", r.Checkpoint.Short())
						}
					}
				})
			})
		}}
	spaceFlag(c, &space)
	return c
}

func (p *program) sourceRelease() *cobra.Command {
	var space string
	c := &cobra.Command{Use: "release [SPACE] SOURCE", Short: "Let a held text be recalled, after you have looked at it", Args: cobra.RangeArgs(1, 2),
		Example: "  dhruva source list --state held --space work\n  dhruva source release SOURCE --space work\n  dhruva source release work SOURCE",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 2 {
				if space != "" {
					return withFix(usage("the space is given twice"), "give it before the source, or with --space")
				}
				space, args = args[0], args[1:]
			}
			return p.with(c.Context(), func(api *client.Client) error {
				s, err := api.Release(c.Context(), space, dhruva.SourceID(args[0]))
				if errors.Is(err, dhruva.ErrNotFound) {
					err = withFix(err, "`dhruva source list --state held%s` shows what is held", inSpace(space))
				}
				if err != nil {
					return err
				}
				return p.print(s, func(io.Writer) { p.say("source %s is %s", s.ID, s.State) })
			})
		}}
	spaceFlag(c, &space)
	return c
}

// inSpace is the flag of a space in a command that is shown.
func inSpace(space string) string {
	if space == "" {
		return ""
	}
	return " --space " + space
}

func (p *program) receiptCommand() *cobra.Command {
	return group("receipt", "Receipts: what was done for each request", "  dhruva receipt list --space work\n  dhruva receipt show RECEIPT --json", p.receiptList(), p.receiptShow())
}

func (p *program) receiptList() *cobra.Command {
	var g paging
	var f client.ReceiptFilter
	var session string
	c := &cobra.Command{Use: "list", Short: "List receipts, newest first", Example: "  dhruva receipt list --kind send", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f.Page, f.Session = g.page(), dhruva.SessionID(session)
			return p.with(c.Context(), func(api *client.Client) error {
				l, err := api.Receipts(c.Context(), f)
				if err != nil {
					return err
				}
				return printList(p, l, "ID KIND STATE MEMORY AT", func(r client.Receipt) []string {
					return []string{string(r.ID), r.Kind, r.State, string(r.Memory), when(r.CreatedAt)}
				})
			})
		}}
	g.flags(c)
	c.Flags().StringVarP(&f.Space, "space", "s", "", "only of this space")
	c.Flags().StringVar(&session, "session", "", "only of this session")
	c.Flags().StringVar(&f.Kind, "kind", "", "only proxy, send, recall, remember, key_create, key_revoke, space_delete or release")
	return c
}

func (p *program) receiptShow() *cobra.Command {
	return &cobra.Command{Use: "show RECEIPT", Short: "Show a receipt", Example: "  dhruva receipt show RECEIPT", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				r, err := api.Receipt(c.Context(), dhruva.ReceiptID(args[0]))
				if err != nil {
					return err
				}
				return p.print(r, func(w io.Writer) { printReceipt(w, r) })
			})
		}}
}

// printContext says which state a model was given.
func printContext(w io.Writer, c dhruva.ContextUsed) {
	fmt.Fprintf(w, "context  %s, %s after #%d, %d cut, about %d tokens\n", c.Mode, count(len(c.Turns), "turn"), c.Base, c.Cut, c.Tokens)
	for _, h := range c.Checkpoints {
		fmt.Fprintf(w, "  checkpoint %s\n", h.Short())
	}
	for _, id := range c.Evidence {
		fmt.Fprintf(w, "  evidence   %s\n", id)
	}
}

func printReceipt(w io.Writer, r client.Receipt) {
	fmt.Fprintf(w, "receipt  %s\nkind     %s over %s, %s\nat       %s\n", r.ID, r.Kind, r.Path, r.State, when(r.CreatedAt))
	if r.Subject != "" {
		fmt.Fprintf(w, "of       %s\n", oneLine(r.Subject, 100))
	}
	if r.Provider != "" {
		fmt.Fprintf(w, "provider %s, model %s\n", oneLine(r.Provider, 60), oneLine(r.Model, 100))
	}
	if r.Memory != "" {
		fmt.Fprintf(w, "memory   %s (%s), %s of evidence\n", r.Memory, r.Recall.Reason, count(r.Recall.Evidence, "piece"))
	}
	if r.Recall.Note != "" {
		fmt.Fprintf(w, "note     %s\n", oneLine(r.Recall.Note, 400))
	}
	for _, id := range r.Recall.Sources {
		fmt.Fprintf(w, "evidence %s\n", id)
	}
	for _, e := range r.Edits {
		fmt.Fprintf(w, "edit     %s at byte %d: %d bytes stand where %d stood\n", e.Kind, e.Offset, e.Len, e.Cut)
	}
	if r.Context != nil {
		printContext(w, *r.Context)
	}
	if r.Redactions > 0 {
		fmt.Fprintf(w, "redacted %d, in what was stored\n", r.Redactions)
	}
	fmt.Fprintf(w, "tokens   %d asked, %d sent on, %d recalled (estimated)\n", r.Tokens.Original, r.Tokens.Forwarded, r.Tokens.Recalled)
}
