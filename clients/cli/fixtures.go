package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
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

func (a *app) pushCommand() *cobra.Command {
	var author, reason, removed, tag, changesFile string
	var changes []string
	cmd := &cobra.Command{
		Use:   "push [DIRECTORY]",
		Short: "Publish a directory as a new version of its set",
		Long: strings.TrimSpace(`
Push publishes what stands in a directory as a new version. A version never changes afterwards.

A fixture whose expected outcome or group changes needs a reason of its own: --change ID=REASON, or a file with a
JSON object of ids and reasons. Fixtures that are removed need one for all of them: --removed REASON.`),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			excuses, err := readChanges(changes, changesFile)
			if err != nil {
				return usage(err)
			}
			if strings.TrimSpace(reason) == "" {
				return usage(errors.New("a version says why it was made: give --reason"))
			}
			if author, err = authorOf(author); err != nil {
				return err
			}
			set, err := setdir.Load(directory(args))
			if err != nil {
				return err
			}
			if err := set.CheckChecksum(); err != nil {
				return err
			}
			return a.with(cmd.Context(), nil, func(conn *connection) error {
				p := a.progress()
				newest, err := findNewest(cmd.Context(), conn, set.Config.Set)
				if err != nil {
					return err
				}
				v, err := push(cmd.Context(), conn, set, newest, pushOptions{author, reason, excuses, removed, p})
				p.clear()
				if err != nil {
					return err
				}
				if tag != "" {
					if v, err = tagVersion(cmd.Context(), conn, v.GetSet(), v.GetNumber(), tag); err != nil {
						return err
					}
				}
				return a.printPushed(v)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&reason, "reason", "", "why this version is made (mandatory)")
	f.StringVar(&author, "author", "", "who makes it (default: $RETRIAL_AUTHOR, or the user's name)")
	f.StringArrayVar(&changes, "change", nil, "why the expectation of a fixture changes, ID=REASON (repeatable)")
	f.StringVar(&changesFile, "changes", "", "a JSON file with an object of fixture ids and reasons")
	f.StringVar(&removed, "removed", "", "why fixtures are removed")
	f.StringVar(&tag, "tag", "", "give the new version this tag")
	return cmd
}

func (a *app) printPushed(v *fixturev1.Version) error {
	if a.json {
		return printJSON(a.stdout, v)
	}
	c := v.GetChangeCounts()
	_, err := fmt.Fprintf(a.stdout, "%s version %d: %d fixtures, %d added, %d changed, %d removed\n%s\n", v.GetSet(), v.GetNumber(), v.GetFixtureCount(), c.GetAdded(), c.GetChanged(), c.GetRemoved(), v.GetChecksum())
	return err
}

// readChanges collects the reasons of changed expectations from flags and a file.
func readChanges(pairs []string, file string) (map[string]string, error) {
	out := map[string]string{}
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		doc, err := fixture.Canonicalize(nil, b) // a key that stands twice is an error
		if err == nil {
			err = json.Unmarshal(doc, &out)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: expected an object of fixture ids and reasons: %w", file, err)
		}
	}
	for _, p := range pairs {
		// An id may hold '=' as well; a reason is a sentence, and hardly begins with one.
		id, reason, ok := strings.Cut(p, "=")
		if !ok || id == "" || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("--change %q is not ID=REASON", p)
		}
		if _, twice := out[id]; twice {
			return nil, fmt.Errorf("--change: fixture %q has two reasons", id)
		}
		out[id] = reason
	}
	return out, nil
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
