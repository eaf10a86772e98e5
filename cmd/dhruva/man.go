package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dhruva-memory/dhruva"
)

func (p *program) manCommand() *cobra.Command {
	return &cobra.Command{Use: "man DIR", Short: "Write the man pages of all commands into a directory", Args: cobra.ExactArgs(1),
		Example: "  dhruva man ~/.local/share/man/man1",
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return withFix(fmt.Errorf("%w: %w", dhruva.ErrInvalid, err), "give a directory that can be written")
			}
			var written []string
			err := eachCommand(c.Root(), func(c *cobra.Command) error {
				name := filepath.Join(args[0], manName(c)+".1")
				written = append(written, name)
				return os.WriteFile(name, manPage(c), 0o644)
			})
			if err != nil {
				return withFix(fmt.Errorf("man pages: %w", err), "give a directory that can be written")
			}
			p.say("%s in %s", count(len(written), "man page"), args[0])
			return p.print(map[string][]string{"files": written}, func(w io.Writer) {
				for _, name := range written {
					fmt.Fprintln(w, name)
				}
			})
		}}
}

// eachCommand walks the commands that help shows.
func eachCommand(c *cobra.Command, fn func(*cobra.Command) error) error {
	if err := fn(c); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if err := eachCommand(sub, fn); err != nil {
			return err
		}
	}
	return nil
}

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage is the man page of a command, in the macros of man(7). It holds no date,
// so that the same program writes the same pages.
func manPage(c *cobra.Command) []byte {
	var b bytes.Buffer
	c.InitDefaultHelpFlag()
	fmt.Fprintf(&b, ".TH \"%s\" 1 \"\" \"%s\" \"Dhruva\"\n.nh\n.ad l\n", roff(strings.ToUpper(manName(c))), roff("dhruva "+version()))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(manName(c)), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n")
	for _, line := range strings.Split(or(c.Long, c.Short+"."), "\n") {
		fmt.Fprintf(&b, "%s\n.br\n", roff(line))
	}
	manFlags(&b, "OPTIONS", c.NonInheritedFlags())
	manFlags(&b, "OPTIONS OF EVERY COMMAND", c.InheritedFlags())
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n.nf\n")
		for _, line := range strings.Split(c.Example, "\n") {
			fmt.Fprintf(&b, "%s\n", roff(line))
		}
		b.WriteString(".fi\n")
	}
	var also []string
	if c.HasParent() {
		also = append(also, manName(c.Parent()))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			also = append(also, manName(sub))
		}
	}
	b.WriteString(".SH SEE ALSO\n")
	for i, name := range also {
		comma := ","
		if i == len(also)-1 {
			comma = ""
		}
		fmt.Fprintf(&b, ".BR %s (1)%s\n", roff(name), comma)
	}
	return b.Bytes()
}

func manFlags(w io.Writer, head string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(w, ".SH %s\n", head)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		kind, usage := pflag.UnquoteUsage(f)
		fmt.Fprintf(w, ".TP\n\\fB%s\\fR %s\n%s\n", roff(name), roff(kind), roff(usage))
	})
}

// roff escapes a line: what would be a macro, a hyphen or an escape is text, and
// what is not ASCII has its number, since not every reader knows UTF-8.
func roff(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case i == 0 && (r == '.' || r == '\''):
			b.WriteString(`\&` + string(r))
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '"':
			b.WriteString(`\(dq`)
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
