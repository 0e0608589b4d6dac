package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/retrial-dev/retrial/clients/adopt"
)

// adoption is what the flags of `stubs adopt` say.
type adoption struct {
	into, format, mapFile, fixtureFrom string
	options                            adopt.Options
	dryRun                             bool
}

func (a *app) adoptStubsCommand() *cobra.Command {
	var o adoption
	cmd := &cobra.Command{
		Use:   "adopt SOURCE --owner OWNER",
		Short: "Make recordings of the answers that other tools have recorded, and count those that would fail",
		Long: strings.TrimSpace(`
Adopt finds the model calls in a file, or in all files below a directory, and adds them to a set as recordings: prompts
below prompts/, values below stubs/bodies/, declarations with hashes and ages in stubs/manifest.json. The source is not
changed, and no recording that is there is replaced: adopting again adds what is new.

Formats, of which auto takes for each file the one that fits:
  json       NAME.json with its prompt in NAME.md, .txt or .prompt beside it; or objects with "prompt" or "messages",
             and "response", "output" or "answer"
  vcr        cassettes of go-vcr, VCR (Ruby) and VCR.py: POST to …/chat/completions and /embeddings; calls of the
             Responses API and of completions without messages cannot be recorded anew, and are named
  promptfoo  the JSON output of an evaluation

An age counts from the instant that the source has: recorded_at, the response's Date header or its "created", promptfoo's
timestamp; as RFC 3339 or HTTP write it, or as seconds since 1970, or milliseconds where they can be nothing else. One that
is there and cannot be read, such as one without a zone, is a reason to skip. Where there is none it is that of the file, and
a warning says so.

A recording belongs to a call of a fixture: by --map, a JSON object {"ID": {"fixture_id": …, "call": …}}; by --fixture-var,
a variable or member beside the answer; or by --fixture-from. What belongs to no fixture of the set is named, and not
added; --dry-run shows the ids for a map, and writes nothing.

Text that looks like customer data is refused, with its field. Headers are never copied.

It ends with how many would fail "retrial stubs verify" today. Exit status 5 says that something was refused, or that
nothing was found to adopt.`),
		Example: strings.Trim(`
  retrial stubs adopt testdata/cassettes --into my-set --owner ada --fixture-from '(f-[0-9]+)\.yaml$' --call classify
  retrial stubs adopt results.json --into my-set --owner ada --fixture-var case --call judge --max-age-days 30`, "\n"),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.adopt(args[0], o, cmd.Flags().Changed("max-age-days"))
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.into, "into", ".", "directory of the set")
	f.StringVar(&o.format, "format", string(adopt.Auto), "auto, json, vcr or promptfoo")
	f.StringVar(&o.options.Owner, "owner", "", "who answers for the recordings (mandatory)")
	f.IntVar(&o.options.MaxAgeDays, "max-age-days", 14, "how many days each may stand in for the model; 0 for ever")
	f.StringVar(&o.options.Model, "model", "", "the model, where a source names none")
	f.StringVar(&o.mapFile, "map", "", "file that says whose each recording is")
	f.StringVar(&o.options.FixtureVar, "fixture-var", "", "variable or member that has the fixture's id")
	f.StringVar(&o.fixtureFrom, "fixture-from", "", `regular expression over the file's name, with a group for the fixture's id, and perhaps one (?P<call>…)`)
	f.StringVar(&o.options.Call, "call", "", "name of the call; {n} in it is the position in the file")
	f.BoolVar(&o.dryRun, "dry-run", false, "say what would be done, and write nothing")
	return cmd
}

// complete reads what the flags name.
func (o *adoption) complete() (err error) {
	if strings.TrimSpace(o.options.Owner) == "" {
		return errors.New("say who answers for the recordings: --owner")
	}
	if o.options.MaxAgeDays < 0 {
		return fmt.Errorf("--max-age-days: %d is less than 0", o.options.MaxAgeDays)
	}
	if o.fixtureFrom != "" {
		if o.options.FixtureFrom, err = regexp.Compile(o.fixtureFrom); err != nil {
			return fmt.Errorf("--fixture-from: %w", err)
		}
		if o.options.FixtureFrom.NumSubexp() == 0 {
			return errors.New("--fixture-from: it needs a group, in parentheses, for the fixture's id")
		}
	}
	if o.mapFile == "" {
		return nil
	}
	src, err := os.ReadFile(o.mapFile)
	if err != nil {
		return fmt.Errorf("--map: %w", err)
	}
	o.options.Map, err = adopt.ReadMap(src)
	if err != nil {
		return fmt.Errorf("--map: %s: %w", o.mapFile, err)
	}
	return nil
}

func (a *app) adopt(source string, o adoption, ageSaid bool) error {
	if err := o.complete(); err != nil {
		return usage(err)
	}
	if err := apart(source, o.into); err != nil {
		return usage(err)
	}
	found, err := adopt.Read(source, adopt.Format(o.format))
	if err != nil {
		return usage(err)
	}
	o.options.Now = time.Now()
	plan, err := adopt.NewPlan(o.into, found, o.options)
	if err != nil {
		return err
	}
	if !o.dryRun {
		if err := plan.Write(); err != nil {
			return err
		}
	}
	if err := a.printPlan(plan, o, ageSaid); err != nil {
		return err
	}
	switch {
	case len(plan.Refused) > 0:
		return &exit{exitInvalid, fmt.Errorf("%d answers look like customer data, and were refused: make the prompt up, or leave them out", len(plan.Refused))}
	case len(plan.Adopted)+len(plan.Already)+len(plan.Kept) == 0:
		return &exit{exitInvalid, errors.New("nothing was found to adopt")}
	}
	return nil
}

// apart refuses a source that has the set in it, or lies among what is written: it would be read as its own source.
func apart(source, set string) error {
	s, err := filepath.Abs(source)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(set)
	if err != nil {
		return err
	}
	inside := func(file, of string) bool {
		rel, err := filepath.Rel(of, file)
		return err == nil && filepath.IsLocal(rel)
	}
	if inside(dir, s) || inside(s, filepath.Join(dir, "stubs")) || inside(s, filepath.Join(dir, "prompts")) {
		return fmt.Errorf("the source %s and the set %s lie within each other: name the folder of the cassettes alone", source, set)
	}
	return nil
}
