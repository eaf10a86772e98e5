package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

func (p *program) jobCommand() *cobra.Command {
	return group("job", "Background work", "  dhruva job list --state dead\n  dhruva job retry JOB", p.jobList(), p.repeatable(p.jobRetry()))
}

func (p *program) jobList() *cobra.Command {
	var g paging
	var f client.JobFilter
	var state string
	c := &cobra.Command{Use: "list", Short: "List background work", Example: "  dhruva job list --state dead", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f.Page, f.State = g.page(), dhruva.JobState(state)
			return p.with(c.Context(), func(api *client.Client) error {
				l, err := api.Jobs(c.Context(), f)
				if err != nil {
					return err
				}
				return printList(p, l, "ID KIND STATE ATTEMPTS PROGRESS AT ERROR", func(j client.Job) []string {
					return []string{string(j.ID), j.Kind, string(j.State), fmt.Sprint(j.Attempts), progress(j), when(j.UpdatedAt), oneLine(j.Error, 80)}
				})
			})
		}}
	g.flags(c)
	c.Flags().StringVarP(&f.Space, "space", "s", "", "only of this space")
	c.Flags().StringVar(&f.Kind, "kind", "", "only of this kind")
	c.Flags().StringVar(&state, "state", "", "only queued, leased, done or dead")
	return c
}

func progress(j client.Job) string {
	if j.Total == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", j.Done, j.Total)
}

func (p *program) jobRetry() *cobra.Command {
	return &cobra.Command{Use: "retry JOB", Short: "Try a job again that was given up", Example: "  dhruva job retry JOB", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				j, err := api.RetryJob(c.Context(), dhruva.JobID(args[0]))
				if errors.Is(err, dhruva.ErrNotFound) {
					err = withFix(err, "`dhruva job list` shows what is there")
				}
				if err != nil {
					return err
				}
				return p.print(j, func(io.Writer) { p.say("job %s is %s", j.ID, j.State) })
			})
		}}
}
