package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/retrial-dev/retrial/fixturestore"
)

// pagesTimeout bounds the check of the pages, which can hang over a damaged file.
const pagesTimeout = 10 * time.Minute

// checkPagesCommand is the child process of `fixtures verify`.
func (a *app) checkPagesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check-pages FILE", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return fixturestore.CheckPages(args[0], func(err error) { fmt.Fprintln(a.stdout, err) })
		},
	}
}

// checkPages has a process of its own read the pages of the file: it can crash over them, and then that says it.
func (a *app) checkPages(ctx context.Context) (damaged int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, pagesTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "check-pages", a.store)
	cmd.Args[0] = "retrial"
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	for line := range strings.Lines(string(out)) {
		damaged++
		fmt.Fprint(a.stderr, line)
	}
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed) && failed.ExitCode() > 0 && failed.ExitCode() <= exitInvalid && !strings.Contains(stderr.String(), "goroutine "):
		return damaged, &exit{failed.ExitCode(), errors.New(strings.TrimPrefix(strings.TrimSpace(stderr.String()), "retrial: "))}
	case err != nil:
		return damaged, &exit{exitInvalid, fmt.Errorf("%s is damaged: reading its pages ended with %w", a.storePath(), err)}
	}
	return damaged, nil
}
