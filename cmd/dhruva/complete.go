package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

// completeTime is how long a shell waits for what can be completed.
const completeTime = 2 * time.Second

const completeExample = `  source <(dhruva completion bash)                                    this shell
  dhruva completion zsh >"${fpath[1]}/_dhruva"                        every zsh
  dhruva completion fish >~/.config/fish/completions/dhruva.fish      every fish
  dhruva completion powershell | Out-String | Invoke-Expression       PowerShell`

// completion shows cobra's command, and completes what the API knows.
func (p *program) completion(root *cobra.Command) {
	root.SetOut(p.stdout) // cobra remembers it here
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Short, c.Example = "Print the completion script of a shell", completeExample
			for _, shell := range c.Commands() {
				shell.Example = "  dhruva completion " + shell.Name()
			}
		}
	}
	p.completes(root)
}

// completes gives a command, and those below it, the completion of its arguments
// and flags, by what their usage calls them.
func (p *program) completes(c *cobra.Command) {
	for _, sub := range c.Commands() {
		p.completes(sub)
	}
	if words := strings.Fields(c.Use)[1:]; len(words) > 0 && c.ValidArgsFunction == nil && c.Name() != "completion" {
		c.ValidArgsFunction = func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) >= len(words) {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return p.complete(c, args, strings.Trim(words[len(args)], "[]"))
		}
	}
	for flag, noun := range map[string]string{"space": "SPACE", "branch": "BRANCH", "session": "SESSION", "parent": "CHECKPOINT", "since": "CHECKPOINT"} {
		if c.Flags().Lookup(flag) != nil {
			_ = c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
				return p.complete(c, args, noun)
			}) // it fails only for a flag that has one
		}
	}
}

// finder lists what can stand for a noun in a space, each with a word about it
// behind a tab.
type finder func(ctx context.Context, c *client.Client, space string) []string

func finderOf(noun string) finder {
	switch noun {
	case "SESSION":
		return sessionNames
	case "CHECKPOINT", "OTHER", "REF":
		return checkpointNames
	case "BRANCH", "FROM", "INTO":
		return branchNames
	}
	return nil
}

// complete asks the API. What goes wrong completes nothing, and says nothing; what
// takes too long is not waited for, since the process ends then.
func (p *program) complete(c *cobra.Command, args []string, noun string) ([]string, cobra.ShellCompDirective) {
	find := finderOf(noun)
	if find == nil && noun != "SPACE" {
		return nil, cobra.ShellCompDirectiveDefault
	}
	ctx, cancel := context.WithTimeout(c.Context(), completeTime)
	defer cancel()
	quiet := *p
	quiet.stderr, quiet.stdout, quiet.makes, quiet.flags.call = io.Discard, io.Discard, false, ""
	found := make(chan []string, 1)
	go func() {
		var out []string
		_ = quiet.with(ctx, func(api *client.Client) error { // completes nothing
			out = names(ctx, api, find, spaceOf(c, args))
			return nil
		})
		found <- out
	}()
	select {
	case out := <-found:
		return out, cobra.ShellCompDirectiveNoFileComp
	case <-ctx.Done():
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// spaceOf is the space that a half-written command names, "" when none.
func spaceOf(c *cobra.Command, args []string) string {
	for i, word := range strings.Fields(c.Use)[1:] {
		if word == "SPACE" && i < len(args) {
			return args[i]
		}
	}
	if f := c.Flags().Lookup("space"); f != nil {
		return f.Value.String()
	}
	return ""
}

// completeSpaces is in how many spaces is looked when none is named.
const completeSpaces = 20

func names(ctx context.Context, api *client.Client, find finder, space string) (out []string) {
	if find != nil && space != "" {
		return find(ctx, api, space)
	}
	l, err := api.Spaces(ctx, dhruva.Page{})
	if err != nil {
		return nil
	}
	for n, s := range l.Items {
		switch {
		case find == nil:
			out = append(out, described(s.Name, s.Description))
		case n < completeSpaces:
			out = append(out, find(ctx, api, string(s.ID))...)
		}
	}
	return out
}

func described(name, about string) string { return oneLine(name, 200) + "\t" + oneLine(about, 60) }

func sessionNames(ctx context.Context, api *client.Client, space string) []string {
	l, _ := api.Sessions(ctx, space, client.SessionFilter{}) // no session is completed then
	return completions(l.Items, func(s client.Session) string { return described(string(s.ID), s.Title) })
}

func checkpointNames(ctx context.Context, api *client.Client, space string) []string {
	l, _ := api.Lineage(ctx, space, client.LineageFilter{}) // no checkpoint is completed then
	return completions(l.Items, func(n client.LineageNode) string { return described(n.Hash.Short(), n.Title) })
}

func branchNames(ctx context.Context, api *client.Client, space string) []string {
	l, _ := api.Branches(ctx, space) // no branch is completed then
	return completions(l.Items, func(b client.Branch) string { return described(b.Name, b.Disposition) })
}

func completions[T any](items []T, name func(T) string) (out []string) {
	for _, i := range items {
		out = append(out, name(i))
	}
	return out
}
