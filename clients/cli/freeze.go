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

	"github.com/spf13/cobra"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"

	"github.com/retrial-dev/retrial/clients/cli/setdir"
	"github.com/retrial-dev/retrial/clients/retrial"
	"github.com/retrial-dev/retrial/replayer"
	"github.com/retrial-dev/retrial/replayer/gate"
)

func (a *app) freezeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "freeze",
		Short: "Prove that a baseline does not reproduce a fixture each time, and quarantine the fixture",
		Args:  cobra.NoArgs,
		RunE:  noCommand,
	}
	cmd.AddCommand(a.probeCommand())
	return cmd
}

// probeFlags are the flags of `retrial freeze probe`.
type probeFlags struct {
	run                    runFlags
	runs                   uint32
	owner, reason, expires string
	recheck                uint32
	dryRun                 bool
}

func (a *app) probeCommand() *cobra.Command {
	f := probeFlags{run: runFlags{caseTimeout: 30 * time.Second, timeout: 30 * time.Minute}}
	cmd := &cobra.Command{
		Use:   "probe DIRECTORY FIXTURE…",
		Short: "Ask the baseline alone many times, and freeze the fixtures that it does not reproduce each time",
		Long: strings.TrimSpace(`
Probe asks the baseline of a set, and nobody else, for each fixture many times, each time in a process of its own, and
writes what it saw into quarantine.json: evidence that is bound to this build of the baseline and to the fixture as it
stands. A fixture that the baseline always reproduces needs no freeze, and one that it never does is no whim: neither is
frozen.

A freeze excuses the baseline alone: the candidate has to decide the fixture as it was recorded. It ends at --expires, within
90 days, and after --recheck-after-runs replays, 1 to 1,000, it is to be proven anew. Replays are counted in the store that
they are recorded in: where each job has a store of its own the end alone counts. A set has 40 freezes at most. Its policy
must say admit_freezes: true.

Exit status 0 says that every fixture was frozen, 1 that one was not.`),
		Example: `  retrial freeze probe my-set f-00104 --owner @queue --reason "rounds at random, see #41" --expires 2026-12-31T00:00:00Z`,
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.run.baselineGiven = cmd.Flags().Changed("baseline")
			return a.probe(cmd.Context(), args[0], args[1:], f)
		},
	}
	fl := cmd.Flags()
	fl.Uint32Var(&f.runs, "runs", 20, fmt.Sprintf("how often the baseline is asked; at least %d", gate.MinProbeRuns))
	fl.StringVar(&f.owner, "owner", "", "who answers for the freeze (mandatory)")
	fl.StringVar(&f.reason, "reason", "", "why it is frozen rather than mended (mandatory)")
	fl.StringVar(&f.expires, "expires", "", "the instant from which on it excuses nothing, such as 2026-12-31T00:00:00Z (mandatory)")
	fl.Uint32Var(&f.recheck, "recheck-after-runs", 50, "how many replays it may see before it must be proven anew")
	fl.BoolVar(&f.dryRun, "dry-run", false, "say what would be frozen, and write nothing")
	fl.StringVar(&f.run.baseline, "baseline", "", "the checker as released: a command or an address (default: the set's)")
	fl.StringArrayVar(&f.run.baselineParams, "baseline-param", nil, "a parameter of the baseline, NAME=VALUE (repeatable)")
	fl.StringVar(&f.run.author, "author", "", "who proves it (default: $RETRIAL_AUTHOR, or the user's name)")
	sandboxFlags(cmd, &f.run.sandbox, &f.run.read)
	return cmd
}

func (a *app) probe(ctx context.Context, dir string, ids []string, f probeFlags) error {
	now := time.Now().UTC().Truncate(time.Second)
	expires, err := time.Parse(time.RFC3339, f.expires)
	switch {
	case a.server != "":
		return usage(errors.New("a probe asks the baseline here: --server is not for it"))
	case f.owner == "" || f.reason == "" || f.expires == "":
		return usage(errors.New("--owner, --reason and --expires are needed: a freeze has somebody who answers for it, and an end"))
	case err != nil:
		return usage(fmt.Errorf("--expires: %w", err))
	case f.runs < gate.MinProbeRuns:
		return usage(fmt.Errorf("--runs: %d are fewer than %d", f.runs, gate.MinProbeRuns))
	}
	author, err := authorOf(f.run.author)
	if err != nil {
		return err
	}
	set, err := setdir.Load(dir)
	if err != nil {
		return err
	}
	if !set.Beside.Policy.AdmitFreezes {
		return usage(fmt.Errorf("the policy of %s does not admit freezes: say admit_freezes: true in its %s first, in a change that somebody sees", dir, setdir.ConfigFile))
	}
	list := set.Beside.Freezes
	set.Beside.Freezes = nil // what is frozen already is looked at anew
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	for _, id := range ids {
		if _, ok := set.Digest(id); !ok {
			return usage(fmt.Errorf("%s has no fixture %q", dir, id))
		}
	}
	seen, err := a.askBaseline(ctx, dir, set, ids, f)
	if err != nil {
		return err
	}
	steady := 0
	for _, s := range seen {
		z := gate.Freeze{FixtureID: s.ID, Reason: f.reason, Owner: f.owner, OpenedAt: now, ExpiresAt: expires.UTC(), RecheckAfterRuns: f.recheck,
			Evidence: gate.FreezeEvidence{Baseline: s.baseline, Fixture: s.fixture, Runs: f.runs, Failures: s.Failures, RecordedAt: now, RecordedBy: author}}
		if s.Failures == 0 || s.Failures == f.runs {
			steady++
			continue
		}
		if i := slices.IndexFunc(list, func(old gate.Freeze) bool { return old.FixtureID == s.ID }); i >= 0 {
			z.OpenedAt = list[i].OpenedAt
			list = slices.Delete(list, i, i+1)
		}
		list = append(list, z)
	}
	slices.SortFunc(list, func(a, b gate.Freeze) int { return strings.Compare(a.FixtureID, b.FixtureID) })
	if err := gate.ValidateFreezes(list, set.Beside.Policy); err != nil {
		return usage(err)
	}
	if err := a.tellProbe(seen, f.runs); err != nil {
		return err
	}
	if steady < len(seen) && !f.dryRun {
		if err := setdir.WriteQuarantine(dir, list); err != nil {
			return err
		}
	}
	if steady > 0 {
		return &exit{status: exitBlocked}
	}
	return nil
}

// probed is what was seen of the baseline over one fixture.
type probed struct {
	ID                string `json:"fixture_id"`
	Failures          uint32 `json:"failures"`
	Last              string `json:"last_failure,omitempty"`
	baseline, fixture string
}

// askBaseline runs the baseline against itself, in a store that is thrown away: the runs are no runs of the set.
func (a *app) askBaseline(ctx context.Context, dir string, set *setdir.Set, ids []string, f probeFlags) (seen []probed, err error) {
	store, err := os.MkdirTemp("", "retrial-probe-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(store)) }()
	alone := *a
	alone.store = filepath.Join(store, "retrial.db")
	config := set.Config
	config.Candidate = config.Baseline
	f.run.candidate, f.run.candidateGiven, f.run.candidateParams = f.run.baseline, f.run.baselineGiven, f.run.baselineParams
	req, err := f.run.request()
	if err != nil {
		return nil, usage(err)
	}
	checkers, err := alone.checkersOf(dir, config, f.run, req)
	if err != nil {
		return nil, usage(err)
	}
	err = alone.with(ctx, checkers, func(conn *connection) error {
		v, err := alone.publish(ctx, conn, set, f.run)
		if err != nil {
			return err
		}
		req.Set, req.Version, req.Checksum = v.GetSet(), v.GetNumber(), set.Checksum
		p := a.progress()
		defer p.clear()
		for i, id := range ids {
			digest, _ := set.Digest(id) // it is there
			one := probed{ID: id, fixture: "sha256:" + digest.String()}
			for run := range f.runs {
				p.show("baseline is asked:", uint64(i)*uint64(f.runs)+uint64(run), uint64(len(ids))*uint64(f.runs))
				if err := one.ask(ctx, conn, req); err != nil {
					return err
				}
			}
			seen = append(seen, one)
		}
		return nil
	})
	return seen, err
}

// globs are the characters that mean something else in a filter.
var globs = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`)

// ask asks the baseline once, and counts whether it reproduces the fixture.
func (s *probed) ask(ctx context.Context, conn *connection, req *replayv1.ReplayRequest) error {
	req.Filter = globs.Replace(s.ID)
	r, err := retrial.StartReplay(ctx, conn, req)
	if err != nil {
		return err
	}
	for range r.Events() {
	}
	d, err := r.Decision()
	if err != nil {
		return err
	}
	b := d.GetBaseline()
	asked := replayer.Description{Name: b.GetName(), Version: b.GetVersion(), BuildDigest: b.GetBuildDigest(), ConfigurationVersion: b.GetConfigurationVersion(), Parameters: b.GetParameters()}.Digest()
	switch {
	case asked == "":
		return &exit{exitUndecided, fmt.Errorf("the baseline %s %s does not say which build it is: evidence could be about any", b.GetName(), b.GetVersion())}
	case s.baseline != "" && s.baseline != asked:
		return &exit{exitUndecided, fmt.Errorf("the baseline %s %s has become another while it was asked", b.GetName(), b.GetVersion())}
	}
	s.baseline = asked
	i := slices.IndexFunc(d.GetFindings(), func(f *gatev1.Finding) bool {
		return f.GetSubject() == s.ID && (f.GetCode() == string(gate.BaselineMismatch) || f.GetCode() == string(gate.CheckerError))
	})
	switch {
	case d.GetExpected() == 1 && d.GetConfirmed() == 1:
	case i >= 0:
		f := d.GetFindings()[i]
		s.Failures++
		s.Last = f.GetMessage()
		if n := f.GetNew(); n.GetVerdict() != "" {
			s.Last = fmt.Sprintf("%s/%s", n.GetVerdict(), n.GetReasonCode())
		}
	default: // it showed nothing: a checker that crashed, a recording that is stale
		return &exit{exitUndecided, fmt.Errorf("fixture %s: %s", s.ID, d.GetSummary())}
	}
	return nil
}

func (a *app) tellProbe(seen []probed, runs uint32) error {
	t := newTable(a.stdout)
	a.head(t, "FIXTURE", "RUNS", "FAILED", "LAST FAILURE", "SO IT IS")
	defer t.flush()
	for _, s := range seen {
		so := "frozen"
		switch s.Failures {
		case 0:
			so = "not frozen: the baseline reproduces it each time"
		case runs:
			so = "not frozen: the baseline never reproduces it; mend it, or record the fixture anew"
		}
		if a.json {
			if err := a.printValue(struct {
				probed
				Runs uint32 `json:"runs"`
				So   string `json:"so"`
			}{s, runs, so}); err != nil {
				return err
			}
			continue
		}
		t.row(s.ID, fmt.Sprint(runs), fmt.Sprint(s.Failures), s.Last, so)
	}
	return nil
}
