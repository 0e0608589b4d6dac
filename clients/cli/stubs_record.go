package cli

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/retrial-dev/retrial/clients/recorder"
)

// recordFlags are the flags of `retrial stubs record`.
type recordFlags struct {
	recorder   string
	env        []string
	parallel   int
	repeat     int
	stale      bool
	timeout    time.Duration
	runsPerDay float64
	yes        bool
	restart    bool
	log        string
}

func (a *app) recordStubsCommand() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record [DIRECTORY] [ID…]",
		Short: "Ask the model again for what is recorded, and say what has drifted",
		Long: strings.TrimSpace(`
Record asks the model for each recording that stubs/manifest.json declares, or for those that are named, and compares the
answer with the recorded one, as the recording's "compare" says: equal, by a JSON Schema, or by the fields of a rubric.

An answer that is as it was refreshes verified_at. One that is not is drift: its body and its line of the manifest are
rewritten, to be reviewed in the working tree. Nothing is committed. A recording whose prompt has changed, that is new, or
whose body was lost or edited, is written as well and listed apart. --repeat N asks N times, reports how much the answers
vary, and writes nothing.

The model is that of an OpenAI-compatible endpoint (` + recorder.BaseURLVariable + `, ` + recorder.KeyVariable + `), or behind a recorder, a program that
serves RecorderService. There is no flag for a key. A prompt's file that is a JSON object with "messages" or "input" is the
body of the request; any other is the text of one user's message.

What it will cost in tokens is printed before the first call, and asked about: on a terminal, or else by --yes. A call that
meets a limit, a fault of the server or a broken connection is tried at most twice more; an answer that breaks its schema is
an answer, and is not asked for again. Every attempt is a line of the log. A run that was interrupted is gone on with by the
same command, within a day.

It does not run on a pull request, where code of others could read the key, and nothing makes it. Run it on a schedule.

Exit status:
  0  every answer is as it was recorded
  1  all were recorded, and something has changed: look at the diff of the working tree
  2  usage, or refused: a pull request, nobody who says yes
  4  some could not be recorded; what was recorded is kept
  5  invalid manifest, prompt or configuration, or customer data in a prompt`),
		Example: strings.Trim(`
  retrial stubs record my-set
  retrial stubs record my-set triage-1 triage-2 --yes
  retrial stubs record my-set --stale --yes --runs-per-day 1
  retrial stubs record my-set --repeat 10
  retrial stubs record my-set --recorder './recorder --region eu' --env MODEL_TOKEN`, "\n"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if why := recorder.PullRequest(os.LookupEnv); why != "" {
				return usage(fmt.Errorf("refused: this runs on a pull request, where code of others could read the key: %s; record on a schedule, or by hand", why))
			}
			if err := f.check(args); err != nil {
				return usage(err)
			}
			var ids []string
			if len(args) > 1 {
				ids = args[1:]
			}
			return a.recordStubs(cmd.Context(), cmd.InOrStdin(), directory(args), ids, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.recorder, "recorder", "", "the command of a recorder (default: the endpoint of $"+recorder.BaseURLVariable+")")
	fl.StringArrayVar(&f.env, "env", nil, "a variable of this environment that the recorder gets; its value is kept out of every log (repeatable)")
	fl.IntVar(&f.parallel, "parallel", 4, "how many calls are under way at once")
	fl.IntVar(&f.repeat, "repeat", 1, "ask so many times, report the spread, and write nothing")
	fl.BoolVar(&f.stale, "stale", false, "only those with something wrong: over age, another prompt, without a body, new")
	fl.DurationVar(&f.timeout, "timeout", time.Minute, "how long one attempt may take")
	fl.Float64Var(&f.runsPerDay, "runs-per-day", 0, "how often a schedule runs this, for the arithmetic")
	fl.BoolVar(&f.yes, "yes", false, "go on without asking")
	fl.BoolVar(&f.restart, "restart", false, "ask for all again, also for what an interrupted run has done")
	fl.StringVar(&f.log, "log", "", "log of every attempt (default: .retrial/record.jsonl in the set's directory, which git ignores)")
	return cmd
}

// The limits of flags: what is beyond them is a slip.
const (
	maxParallel = 64
	maxRepeat   = 1000
)

func (f recordFlags) check(args []string) error {
	switch {
	case f.parallel < 1 || f.parallel > maxParallel:
		return fmt.Errorf("--parallel: %d is not between 1 and %d", f.parallel, maxParallel)
	case f.repeat < 1 || f.repeat > maxRepeat:
		return fmt.Errorf("--repeat: %d is not between 1 and %d", f.repeat, maxRepeat)
	case f.timeout <= 0:
		return errors.New("--timeout: it is more than nothing")
	case !(f.runsPerDay >= 0) || math.IsInf(f.runsPerDay, 0):
		return fmt.Errorf("--runs-per-day: %g is no number of runs", f.runsPerDay)
	case f.stale && len(args) > 1:
		return errors.New("--stale and ids exclude each other")
	case len(f.env) > 0 && f.recorder == "":
		return errors.New("--env is for a recorder: --recorder")
	}
	return nil
}
