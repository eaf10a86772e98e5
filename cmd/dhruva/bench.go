package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/internal/recallbench"
)

func (p *program) benchCommand() *cobra.Command {
	return group("bench", "Measure", "  dhruva bench recall --data DIR", p.benchRecall())
}

func (p *program) benchRecall() *cobra.Command {
	return &cobra.Command{Use: "recall", Short: "Measure recall on conversations with known answers", Args: cobra.NoArgs,
		Long:    "Reads turns.jsonl.gz and queries.jsonl.gz from the directory given with --data; nothing of the installation is touched.",
		Example: "  dhruva bench recall --data ./locomo --json",
		RunE: func(c *cobra.Command, _ []string) error {
			if p.flags.data == "" {
				return withFix(usage("no data to measure on"), "give the directory with turns.jsonl.gz and queries.jsonl.gz to --data")
			}
			r, err := recallbench.Run(c.Context(), p.flags.data, recallbench.Options{Binary: "dhruva " + version()})
			if errors.Is(err, fs.ErrNotExist) {
				return withFix(fmt.Errorf("%w: %w", dhruva.ErrInvalid, err), "give the directory with turns.jsonl.gz and queries.jsonl.gz to --data")
			}
			if err != nil {
				return err
			}
			if p.flags.json {
				return p.print(r, nil)
			}
			return r.WriteTable(p.stdout)
		}}
}
