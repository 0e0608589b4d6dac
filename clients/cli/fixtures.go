package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/retrial-dev/retrial/clients/cli/setdir"
	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

func (a *app) fixturesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "fixtures",
		Aliases: []string{"fixture"},
		Short:   "Check, publish and read fixture sets",
		Args:    cobra.NoArgs,
		RunE:    noCommand,
	}
	cmd.AddCommand(a.lintCommand(), a.checksumCommand(), a.pushCommand(), a.listCommand(), a.logCommand(), a.showCommand(), a.diffCommand(), a.whyCommand(), a.tagCommand(), a.approveCommand(), a.verifyCommand())
	return cmd
}

func directory(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}

func (a *app) lintCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "lint [DIRECTORY]",
		Short: "Check a set's files: fixtures, stubs, policy, allowlist, checksum",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			set, err := setdir.Load(directory(args))
			if err != nil {
				return err
			}
			if err := set.CheckChecksum(); err != nil {
				return err
			}
			if a.json {
				return a.printValue(map[string]any{"set": set.Config.Set, "fixtures": set.Len(), "hermetic": set.Tally.Hermetic, "checksum": set.Checksum, "counts": counts(set.Tally), "warnings": set.Warnings})
			}
			for _, w := range set.Warnings {
				fmt.Fprintln(a.stderr, newPaint(a.stderr).yellow("warning: ")+w)
			}
			if a.quiet {
				return nil
			}
			fmt.Fprintf(a.stdout, "%s: %d fixtures, %d of them hermetic\n%s\n\n", set.Config.Set, set.Len(), set.Tally.Hermetic, set.Checksum)
			t := newTable(a.stdout)
			t.row("COUNT", "VERDICT", "REASON CODE")
			for _, c := range set.Tally.Counts() {
				t.row(fmt.Sprint(c.Count), c.Verdict, c.ReasonCode)
			}
			t.flush()
			return nil
		},
	}
}

type count struct {
	Verdict    string `json:"verdict"`
	ReasonCode string `json:"reason_code"`
	Count      uint64 `json:"count"`
}

func counts(t fixture.Tally) []count {
	var out []count
	for _, c := range t.Counts() {
		out = append(out, count(c))
	}
	return out
}

// printValue prints a value that is no message of the contract as one line of JSON.
func (a *app) printValue(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s\n", b)
	return err
}

func (a *app) checksumCommand() *cobra.Command {
	var update bool
	cmd := &cobra.Command{
		Use:   "checksum [DIRECTORY]",
		Short: "Print the checksum of a set's files, or write it into retrial.yaml",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			set, err := setdir.Load(directory(args))
			if err != nil {
				return err
			}
			if update {
				if err := set.WriteChecksum(); err != nil {
					return err
				}
			}
			if a.json {
				return a.printValue(map[string]any{"set": set.Config.Set, "checksum": set.Checksum, "fixtures": set.Len()})
			}
			_, err = fmt.Fprintln(a.stdout, set.Checksum)
			return err
		},
	}
	cmd.Flags().BoolVar(&update, "update", false, "write it into retrial.yaml, for a reviewer to see")
	return cmd
}

func tagVersion(ctx context.Context, conn *connection, set string, n uint64, tag string) (*fixturev1.Version, error) {
	res, err := fixturev1.NewFixtureServiceClient(conn).TagVersion(ctx, &fixturev1.TagVersionRequest{Set: set, Version: n, Tag: tag})
	return res.GetVersion(), err
}

func (a *app) tagCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "tag SET VERSION TAG",
		Short: "Give a version a name; tags do not move",
		Args:  cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := parseVersion(args[1])
			if err != nil {
				return err
			}
			return a.reading(cmd.Context(), func(conn *connection) error {
				v, err := tagVersion(cmd.Context(), conn, args[0], n, args[2])
				if err != nil {
					return err
				}
				if a.json {
					return printJSON(a.stdout, v)
				}
				_, err = fmt.Fprintf(a.stdout, "%s version %d is tagged %s\n", v.GetSet(), v.GetNumber(), strings.Join(v.GetTags(), ", "))
				return err
			})
		},
	}
}

// reading connects for a command that needs what is there already.
func (a *app) reading(ctx context.Context, fn func(*connection) error) error {
	if err := a.needStore(); err != nil {
		return err
	}
	return a.with(ctx, nil, fn)
}

func parseVersion(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n == 0 {
		return 0, usage(fmt.Errorf("%q is no version number", s))
	}
	return n, nil
}

// storePath gives the store's file for messages.
func (a *app) storePath() string { return filepath.Clean(a.store) }
