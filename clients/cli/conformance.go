package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	shellquote "github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"

	"github.com/retrial-dev/retrial/clients/cli/setdir"
	"github.com/retrial-dev/retrial/clients/conformance"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server"
	"github.com/retrial-dev/retrial/server/checkerhost"
	"github.com/retrial-dev/retrial/stub"
)

type conformanceFlags struct {
	set, level, junit string
	params, read      []string
	all, list         bool
	patience          time.Duration
}

func (a *app) conformanceCommand() *cobra.Command {
	var f conformanceFlags
	cmd := &cobra.Command{
		Use:   "conformance CHECKER",
		Short: "Find out whether a checker keeps the plugin contract, in whatever language it is written",
		Long: strings.TrimSpace(`
Conformance asks a checker what a host asks, and what only a careless one would ask, and names every case that it does not
keep. The checker is a command ("./checker --strict") or an address ("unix:/run/c.sock"). Its cases stand in five levels:

  contract     it describes itself, and answers every case exactly once, whatever the batches
  declared     what it says about itself is so
  determinism  the same input gives the same answer, whatever is around it
  behaviour    it starts, stops and logs as a process should
  hermetic     without a network, files or other processes it answers alike

A level is reached if every case of it and of those before it passes; a case that cannot be observed, such as one about
the process of a checker that is only dialled, does not pass, and one of what the checker does not have, such as parameters,
counts neither way. With --set the checker is asked the fixtures of a set, which it should be able to decide; without,
made-up inputs, which show little. On Linux its clock is moved, and files that are not its own are kept from it (--read gives
it more). What no case sees: a clock or a file that is read and changes no answer.

Exit status 0 says that --level is reached, 1 that it is not.`),
		Example: strings.Trim(`
  retrial conformance ./checker --set examples/promotion
  retrial conformance unix:/run/c.sock --set my-set --level determinism
  retrial conformance ./checker --set my-set --junit report.xml`, "\n"),
		Args: func(_ *cobra.Command, args []string) error {
			if !f.list && len(args) != 1 {
				return errors.New("name one checker")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.list {
				return a.listCases()
			}
			if !slices.Contains(conformance.Levels(), conformance.Level(f.level)) {
				return usage(fmt.Errorf("--level %q is none of contract, declared, determinism, behaviour, hermetic", f.level))
			}
			return a.conformance(cmd.Context(), args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.set, "set", "", "directory of a set whose fixtures the checker can decide")
	fl.StringVar(&f.level, "level", string(conformance.Hermetic), "the level that it must reach")
	fl.StringVar(&f.junit, "junit", "", "write the cases to this file as JUnit XML as well; it fails where --level is not reached")
	fl.StringArrayVar(&f.params, "param", nil, "a parameter of the checker, NAME=VALUE (repeatable)")
	fl.StringArrayVar(&f.read, "read", nil, "a file or directory that the checker may read beside its own (repeatable)")
	fl.BoolVar(&f.all, "all", false, "show the cases that passed or do not apply as well")
	fl.BoolVar(&f.list, "list", false, "list the cases, and ask nobody")
	fl.DurationVar(&f.patience, "patience", 30*time.Second, "how long one case of the suite may take")
	_ = cmd.RegisterFlagCompletionFunc("level", cobra.FixedCompletions([]string{"contract", "declared", "determinism", "behaviour", "hermetic"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) listCases() error {
	all := conformance.Cases()
	t := newTable(a.stdout)
	a.head(t, "LEVEL", "CASE")
	defer t.flush()
	for _, level := range conformance.Levels() {
		for _, name := range all[level] {
			if a.json {
				if err := a.printValue(map[string]any{"level": level, "case": name}); err != nil {
					return err
				}
				continue
			}
			t.row(string(level), name)
		}
	}
	return nil
}

func (a *app) conformance(ctx context.Context, what string, f conformanceFlags) error {
	t := conformance.Target{Parameters: map[string]string{}, Patience: f.patience}
	if err := addParams(t.Parameters, f.params); err != nil {
		return usage(fmt.Errorf("--param: %w", err))
	}
	if addressForm.MatchString(what) {
		t.Address = what
	} else {
		argv, err := shellquote.Split(what)
		if err != nil || len(argv) == 0 {
			return usage(fmt.Errorf("%q is no command: %w", what, errors.Join(err, errors.New("it is empty"))))
		}
		t.Command = ownCommand(argv)
		t.Command.Read = f.read
	}
	if f.set != "" {
		samples, err := samplesOf(f.set)
		if err != nil {
			return err
		}
		t.Samples = samples
	}
	if f.junit != "" { // that of an earlier run would be read as this one's, where this one comes to nothing
		if err := os.Remove(f.junit); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	p := a.progress()
	t.Progress = func(done, of int, name string) { p.show("case "+name+",", uint64(done), uint64(of)) }
	report, err := conformance.Run(ctx, t)
	p.clear()
	if err != nil {
		return err
	}
	if f.junit != "" {
		if err := writeJUnit(f.junit, report, conformance.Level(f.level)); err != nil {
			return err
		}
	}
	switch {
	case a.json:
		err = report.WriteJSON(a.stdout)
	case a.quiet:
		_, err = fmt.Fprintln(a.stdout, report.Reached)
	default:
		err = report.WriteTable(a.stdout, f.all)
	}
	if err == nil && !report.AtLeast(conformance.Level(f.level)) {
		return &exit{status: exitBlocked}
	}
	return err
}

// ownCommand has the word "retrial" stand for this program, as in a set's configuration.
func ownCommand(argv []string) checkerhost.Command {
	c := checkerhost.Command{Argv: argv}
	if self, err := os.Executable(); err == nil && argv[0] == "retrial" {
		c.Argv, c.Arg0 = append([]string{self}, argv[1:]...), "retrial"
	}
	return c
}

// samplesOf gives the fixtures of a set as a checker is asked them.
func samplesOf(dir string) ([]conformance.Sample, error) {
	set, err := setdir.Load(dir)
	if err != nil {
		return nil, err
	}
	var out []conformance.Sample
	for e, err := range set.Entries() {
		if err != nil {
			return nil, err
		}
		f, err := fixture.Decode(e.Fixture)
		if err != nil {
			return nil, err
		}
		s := conformance.Sample{Name: f.ID, Input: f.AppendInput(nil)}
		for _, doc := range e.Stubs {
			one, err := stub.Decode(doc)
			if err != nil {
				return nil, err
			}
			s.Stubs = append(s.Stubs, &checkerv1.Stub{Call: one.Call, Value: one.Value})
		}
		out = append(out, s)
	}
	return out, nil
}

func writeJUnit(file string, report *conformance.Report, demanded conformance.Level) error {
	f, err := os.Create(filepath.Clean(file))
	if err != nil {
		return err
	}
	return errors.Join(report.WriteJUnit(f, demanded), f.Close())
}

// casePatience is how long a server lets a checker take over one case of the suite.
const casePatience = 10 * time.Second

// conforms is a server's Conformance.
func conforms(ctx context.Context, c server.Conformee) ([]string, error) {
	t := conformance.Target{Host: c.Host, Command: c.Command, UpTo: conformance.Level(c.Level), Patience: casePatience}
	for _, s := range c.Samples {
		t.Samples = append(t.Samples, conformance.Sample(s))
	}
	report, err := conformance.Run(ctx, t)
	if err != nil || report.AtLeast(t.UpTo) {
		return nil, err
	}
	var out []string
	for _, r := range report.Results {
		if r.Status == conformance.Failed || r.Status == conformance.Unobserved {
			out = append(out, fmt.Sprintf("%s (%s): %s", r.Case, r.Status, r.Message))
		}
	}
	if len(out) == 0 { // nothing of a level was seen
		out = append(out, fmt.Sprintf("it reaches %q", report.Reached))
	}
	return out, nil
}
