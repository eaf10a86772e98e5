package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// program is what every command has at hand.
type program struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	env    func(string) string
	flags  globalFlags
	// makes: the command may begin an installation where there is none.
	makes bool
	// stays: the command runs until it is ended, and works in the background
	// meanwhile where no server does.
	stays bool
	// keyFile is the file the key was read from; "" when it was given.
	keyFile string
	// asked is the server the command talks to, "" when that is this process; named:
	// somebody gave its address.
	asked string
	named bool
	// replayed tells whether the call was answered from an earlier one; nil: it could
	// not be.
	replayed func() bool
	// reloaded, when not nil, is told of every reload of the providers.
	reloaded func(error)
}

// globalFlags are those of every command.
type globalFlags struct {
	json  bool
	quiet bool
	data  string
	url   string
	key   string
	// call is the idempotency key of a command that changes something.
	call string
}

// run is the program as a function: nothing in it reads or changes the process
// besides its arguments.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env func(string) string) int {
	p := &program{stdin: stdin, stdout: stdout, stderr: stderr, env: env}
	root := p.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	command, err := root.ExecuteContextC(ctx)
	if err != nil && ctx.Err() != nil {
		err = interruption(ctx.Err(), err)
	}
	if err != nil { // --json counts also where the flags could not be read
		complain(stderr, err, command.CommandPath(), p.flags.json || slices.Contains(args, "--json"))
	}
	return exitCode(err)
}

// interruption is why a command ended that was interrupted, with what it said is to
// be done.
func interruption(why, err error) error {
	var f *fixed
	if errors.As(err, &f) && errors.Is(f, context.Canceled) {
		return withFix(why, "%s", f.fix)
	}
	return why
}

// interruptible ends its context with the first SIGINT or SIGTERM; a second
// one ends the process, as it would have without us.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

const rootExample = `  dhruva try                                    a demo: no keys, no network
  dhruva serve                                  serve on 127.0.0.1:7373
  dhruva space create work
  dhruva remember --space work "We ship on Fridays."
  dhruva recall --space work "when do we ship?"
  dhruva session send SESSION "When do we ship?" --provider echo
  dhruva log work                               the checkpoints of a space`

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use: "dhruva", Short: "Steady memory for AI work", Example: rootExample,
		SilenceErrors: true, SilenceUsage: true, Version: version(),
		Args: cobra.ArbitraryArgs, // needsVerb judges them
		RunE: needsVerb, SuggestionsMinimumDistance: 2,
	}
	f := root.PersistentFlags()
	f.BoolVar(&p.flags.json, "json", false, "print one JSON value")
	f.BoolVarP(&p.flags.quiet, "quiet", "q", false, "print only ids, hashes, tokens or the bare fact, no talk")
	f.StringVar(&p.flags.data, "data", "", "data directory (DHRUVA_DATA; default $XDG_DATA_HOME/dhruva)")
	f.StringVar(&p.flags.url, "url", "", "server to talk to (DHRUVA_URL; default: the one that serves the data directory)")
	f.StringVar(&p.flags.key, "key", "", "Dhruva key (better: DHRUVA_KEY; default DIR/admin.key)")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return withFix(usage("%v", err), "see `%s --help`", c.CommandPath())
	})
	root.AddCommand(p.backupCommand(), p.restoreCommand(), p.migrateCommand())
	root.SetUsageTemplate(usageTemplate)
	root.SetHelpTemplate(helpTemplate)
	root.AddCommand(p.serveCommand(), p.tryCommand(), p.making(p.mcpCommand()),
		p.spaceCommand(), p.sessionCommand(), p.checkpointCommand(), p.logCommand(), p.showCommand(), p.repeatable(p.forkCommand()), p.repeatable(p.mountCommand()), p.verifyCommand(),
		p.diffCommand(), p.repeatable(p.mergeCommand()), p.repeatable(p.revertCommand()), p.blameCommand(), p.reflogCommand(), p.repeatable(p.undoCommand()), p.repeatable(p.redoCommand()), p.branchCommand(),
		p.stateCommand(), p.claimCommand(), p.worktreeCommand(), p.metricsCommand(),
		p.recallCommand(), p.readCommand(), p.making(p.repeatable(p.rememberCommand())), p.sourceCommand(), p.receiptCommand(),
		p.keyCommand(), p.jobCommand(), p.importCommand(), p.doctorCommand(), p.benchCommand(), p.manCommand(), p.versionCommand())
	p.completion(root)
	helpKnows(root)
	asUsage(root)
	return root
}

// asUsage makes wrong arguments faults of the command line, with their fix.
func asUsage(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return withFix(usage("%v", err), "usage: %s", c.UseLine())
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		asUsage(sub)
	}
}

// needsVerb answers a group without a verb, or with one it does not know.
func needsVerb(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	fix := fmt.Sprintf("see `%s --help`", c.CommandPath())
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		fix = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return withFix(usage("unknown command %q for %q", args[0], c.CommandPath()), "%s", fix)
}

// helpKnows makes help about what is no command a fault of the command line, as
// the command itself is.
func helpKnows(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.Run, c.RunE = nil, func(_ *cobra.Command, args []string) error {
				about, rest, err := root.Find(args)
				if err != nil || len(rest) > 0 && about.HasSubCommands() {
					return needsVerb(about, rest)
				}
				about.InitDefaultHelpFlag()
				return about.Help()
			}
		}
	}
}

// making marks a command that may begin an installation where there is none.
// The others refuse: a mistyped directory must not become one.
func (p *program) making(c *cobra.Command) *cobra.Command {
	do := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		p.makes = true
		return do(c, args)
	}
	return c
}

// repeatable gives a command that changes something its --idempotency-key.
func (p *program) repeatable(c *cobra.Command) *cobra.Command {
	c.Flags().StringVar(&p.flags.call, "idempotency-key", "", "name of this call: repeated under the same one, for 24 hours, it is done once")
	return c
}

// group is a noun whose verbs follow.
func group(use, short, example string, verbs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Example: example, Args: cobra.ArbitraryArgs, RunE: needsVerb, SuggestionsMinimumDistance: 2}
	c.AddCommand(verbs...)
	return c
}

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Example: "  dhruva version --json", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				Version string `json:"version"`
				Go      string `json:"go"`
			}{version(), goVersion()}
			return p.printBare(v, func(w io.Writer) { fmt.Fprintf(w, "dhruva %s (%s)\n", v.Version, v.Go) },
				func(w io.Writer) { fmt.Fprintln(w, v.Version) })
		},
	}
}

// version is the module's version, with the commit for a build from source.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "dev"
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				v += "+" + s.Value[:12]
			}
		}
	}
	return v
}

func goVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.GoVersion
	}
	return "unknown"
}

const usageTemplate = `Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]

Commands:{{range .Commands}}{{if (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Flags of every command:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}
`

const helpTemplate = `{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}

{{end}}{{if .HasExample}}Examples:
{{.Example}}

{{end}}{{.UsageString}}`
