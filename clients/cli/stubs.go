package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/retrial-dev/retrial/clients/cli/setdir"
)

func (a *app) stubsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stubs",
		Short: "Look after recorded answers: verify them, record them anew, adopt those that exist",
		Args:  cobra.NoArgs,
		RunE:  noCommand,
	}
	cmd.AddCommand(a.verifyStubsCommand())
	cmd.AddCommand(a.recordStubsCommand())
	cmd.AddCommand(a.adoptStubsCommand())
	return cmd
}

func (a *app) verifyStubsCommand() *cobra.Command {
	var at string
	cmd := &cobra.Command{
		Use:   "verify [DIRECTORY]",
		Short: "Say which recorded answers are stale, edited, without their prompt, or declared by nobody",
		Long: strings.TrimSpace(`
Verify looks at every recording of a set: those that stubs/manifest.json declares, with their bodies below stubs/bodies/
and their prompts below prompts/, and those within stub documents. It reports everything that is wrong at once. It asks
no model, reads no key and opens no network: it is fit for a hook before a push.

A set that passes has recordings that are not stale. That its model is any good, it does not say.

Exit status 0 says that there were recordings and nothing is wrong with them, 5 that something is, or that there is none.`),
		Example: strings.Trim(`
  retrial stubs verify my-set
  retrial stubs verify my-set --at 2026-12-24T00:00:00Z`, "\n"),
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			now := time.Now()
			if at != "" {
				var err error
				if now, err = time.Parse(time.RFC3339, at); err != nil {
					return usage(fmt.Errorf("--at: %w", err))
				}
			}
			return a.verifyStubs(directory(args), now)
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "look at them as of this instant, such as 2026-12-24T00:00:00Z (default: now)")
	return cmd
}

func (a *app) verifyStubs(dir string, now time.Time) error {
	found, err := setdir.VerifyRecordings(dir, now)
	if err != nil {
		return err
	}
	switch {
	case a.json:
		if err := a.printValue(found); err != nil {
			return err
		}
	default:
		p := newPaint(a.stdout)
		for _, problem := range found.Problems {
			fmt.Fprintf(a.stdout, "%s  %s\n", p.red(string(problem.Kind)), problem)
		}
		if found.Written > 0 && !a.quiet {
			fmt.Fprintf(a.stdout, "%d stubs were written by hand and have no origin: they never go stale, and nobody can record them anew\n", found.Written)
		}
		fmt.Fprintf(a.stdout, "checked %d recordings, %d problems\n", found.Checked, len(found.Problems))
	}
	switch {
	case len(found.Problems) > 0:
		return &exit{status: exitInvalid}
	case found.Checked == 0:
		return &exit{exitInvalid, errors.New("there is no recording in it: nothing was shown")}
	}
	return nil
}
