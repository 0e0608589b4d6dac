package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/retrial-dev/retrial/clients/cli/setdir"
	"github.com/retrial-dev/retrial/clients/retrial"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/replayer/gate"
	"github.com/retrial-dev/retrial/server"
)

// runFlags are the flags of `retrial run`.
type runFlags struct {
	set                  string
	baseline, candidate  string
	baselineParams       []string
	candidateParams      []string
	policy               string
	release              string
	artifact             string
	key                  string
	detach               bool
	filter               string
	sandbox              string
	read                 []string
	author               string
	keepGoing, derived   bool
	caseTimeout, timeout time.Duration
	baselineGiven        bool
	candidateGiven       bool
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [DIRECTORY]",
		Short: "Replay a fixture set against the baseline and the candidate, and rule",
		Long: strings.TrimSpace(`
Run tries every fixture of a set against the checker as released (the baseline, which must confirm every one) and
as proposed (the candidate), shows what flips, and rules.

The set is that of a directory with a retrial.yaml (default: the current one), which also names the two checkers;
flags override it. With --server, the set must have been pushed to that server.

A checker is given as a command ("./checker --strict"), as an address that the server can reach ("unix:/run/c.sock",
"127.0.0.1:9000"), or with --server by its name in the registry: a single word without a slash. A command always runs
here; a server asks it over a stream that this process opens, under a name that its configuration (attach_allow) must
admit: run- and letters.

` + exitHelp),
		Example: strings.Trim(`
  retrial run examples/promotion
  retrial run examples/promotion --candidate-param max_age_days=30
  retrial run . --candidate ./bin/checker-new --release "$(git rev-parse HEAD)"
  retrial run --server 127.0.0.1:7433 --set memory-promotion --baseline stable --candidate next --release v2`, "\n"),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.baselineGiven, f.candidateGiven = cmd.Flags().Changed("baseline"), cmd.Flags().Changed("candidate")
			dir := "."
			for _, name := range []string{"release", "fixtures", "set", "policy", "artifact", "idempotency-key"} {
				if fl := cmd.Flags().Lookup(name); fl.Changed && fl.Value.String() == "" {
					return usage(fmt.Errorf("--%s is empty: a variable that is not set?", name))
				}
			}
			if a.server == "" && (f.detach || f.key != "") {
				return usage(errors.New("--detach and --idempotency-key are for a server: --server"))
			}
			if a.server != "" && f.author != "" {
				return usage(errors.New("--author is for the store in this process: a run commits nothing to a server"))
			}
			switch {
			case len(args) == 1 && f.set != "":
				return usage(errors.New("a directory and --set exclude each other"))
			case len(args) == 1:
				dir = args[0]
			}
			err := a.run(cmd.Context(), dir, f)
			if err != nil && cmd.Context().Err() != nil && err.Error() != "" {
				err = &exit{exitBlocked, errors.New("release blocked: the run was cancelled")} // wherever it was
				if f.detach {
					err = &exit{exitUndecided, errors.New("no decision here: the run goes on; `retrial replays list` and `retrial replays watch` find it")}
				}
			}
			return err
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.set, "set", "", "a set of the server, with its version: NAME or NAME@VERSION; needs no directory")
	fl.StringVar(&f.baseline, "baseline", "", "the checker as released: a command, an address, or a registered name")
	fl.StringVar(&f.candidate, "candidate", "", "the checker as proposed: a command, an address, or a registered name")
	fl.StringArrayVar(&f.baselineParams, "baseline-param", nil, "a parameter of the baseline, NAME=VALUE (repeatable)")
	fl.StringArrayVar(&f.candidateParams, "candidate-param", nil, "a parameter of the candidate, NAME=VALUE (repeatable)")
	fl.StringVar(&f.policy, "policy", "", "rule by this policy: full, allowlist, or bounded:CLASS=N,… (default: the set's own)")
	fl.StringVar(&f.release, "release", "", "the release that is tried: any string, such as a commit; the command gate status answers for it")
	fl.StringVar(&f.artifact, "artifact", "", "what is released: a file, or its digest as sha256:…; an attestation is about it")
	fl.StringVar(&f.key, "idempotency-key", "", "with --server: a key of your own for this run; the same key again shows the same run instead of a second one")
	fl.BoolVar(&f.detach, "detach", false, "with --server: let the run go on if this process goes away; the command replays watch finds it again")
	fl.StringVar(&f.filter, "fixtures", "", "try only the fixtures whose ids match this glob; no evidence for a release")
	sandboxFlags(cmd, &f.sandbox, &f.read)
	fl.StringVar(&f.author, "author", "", "who commits the set to the store in this process (default: $RETRIAL_AUTHOR, or the user's name)")
	fl.BoolVar(&f.keepGoing, "keep-going", false, "try the candidate even if the baseline is not confirmed")
	fl.BoolVar(&f.derived, "derived", false, "try the fixtures of the group \"derived\" as well; they never gate")
	fl.DurationVar(&f.caseTimeout, "case-timeout", 30*time.Second, "how long a checker may leave every case unanswered")
	fl.DurationVar(&f.timeout, "timeout", 30*time.Minute, "how long the whole run may take")
	_ = cmd.RegisterFlagCompletionFunc("policy", cobra.FixedCompletions([]string{"full", "allowlist", "bounded:"}, cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) run(ctx context.Context, dir string, f runFlags) error {
	req, err := f.request()
	if err != nil {
		return usage(err)
	}
	if f.set != "" {
		return a.runStored(ctx, f, req)
	}
	config, err := setdir.ReadConfig(dir)
	if err != nil {
		return usage(err)
	}
	checkers, err := a.checkersOf(dir, config, f, req)
	if err != nil {
		return usage(err)
	}
	// The files are read while the checkers start.
	type loaded struct {
		set *setdir.Set
		err error
	}
	load := make(chan loaded, 1)
	go func() {
		set, err := setdir.LoadWith(dir, config)
		if err == nil {
			err = set.CheckChecksum()
		}
		load <- loaded{set, err}
	}()
	return a.with(ctx, checkers, func(conn *connection) error {
		l := <-load
		if l.err != nil {
			return l.err
		}
		v, err := a.publish(ctx, conn, l.set, f)
		if err != nil {
			return err
		}
		req.Set, req.Version, req.Checksum = v.GetSet(), v.GetNumber(), l.set.Checksum
		return a.replay(ctx, conn, req)
	})
}

// runStored runs over a set that the store has.
func (a *app) runStored(ctx context.Context, f runFlags, req *replayv1.ReplayRequest) error {
	var err error
	if req.Set = f.set; strings.Contains(f.set, "@") {
		if req.Set, req.Version, err = parseSetVersion(f.set); err != nil {
			return err
		}
	}
	if !f.baselineGiven || !f.candidateGiven {
		return usage(errors.New("--set needs --baseline and --candidate"))
	}
	checkers, err := a.checkersOf(".", setdir.Config{}, f, req)
	if err != nil {
		return usage(err)
	}
	if err := a.needStore(); err != nil {
		return err
	}
	return a.with(ctx, checkers, func(conn *connection) error { return a.replay(ctx, conn, req) })
}

// parseSetVersion reads NAME@VERSION.
func parseSetVersion(s string) (set string, n uint64, err error) {
	set, version, _ := strings.Cut(s, "@")
	if n, err = parseVersion(version); err != nil {
		return "", 0, usage(fmt.Errorf("%s: expected NAME@VERSION: %w", s, err))
	}
	return set, n, nil
}

// request gives the part of the request that the flags alone decide.
func (f runFlags) request() (*replayv1.ReplayRequest, error) {
	if f.release != "" && f.filter != "" {
		return nil, errors.New("--release and --fixtures exclude each other: a run over some of the fixtures is no evidence for a release")
	}
	if f.caseTimeout <= 0 || f.timeout <= 0 {
		return nil, errors.New("a timeout is more than nothing")
	}
	req := &replayv1.ReplayRequest{
		Release: f.release, Filter: f.filter, KeepGoing: f.keepGoing, IncludeDerived: f.derived,
		CaseTimeout: durationpb.New(f.caseTimeout), RunTimeout: durationpb.New(f.timeout), IdempotencyKey: f.key, Detach: f.detach,
	}
	if f.artifact != "" {
		digest, err := digestOf(f.artifact)
		if err != nil {
			return nil, fmt.Errorf("--artifact: %w", err)
		}
		req.ArtifactDigest = digest
	}
	if f.policy != "" {
		p, err := gate.ParsePolicy(f.policy)
		if err != nil {
			return nil, fmt.Errorf("--policy: %w", err)
		}
		req.Policy = server.PolicyToProto(p)
	}
	return req, nil
}

// replay runs a replay and prints it.
func (a *app) replay(ctx context.Context, conn *connection, req *replayv1.ReplayRequest) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := retrial.StartReplay(ctx, conn, req)
	if err != nil {
		return err
	}
	err = a.follow(r)
	if s := statusIn(err); s != nil && s.Code() == codes.InvalidArgument {
		return &exit{exitUsage, err} // it is the request that is wrong: the set was accepted before
	}
	return err
}

// follow prints a replay as it goes on, and ends as its decision says.
func (a *app) follow(r *retrial.Replay) error {
	out := a.report()
	for event := range r.Events() {
		if err := out.event(event); err != nil {
			return err
		}
	}
	if err := out.close(); err != nil {
		return err
	}
	d, err := r.Decision()
	if err != nil {
		return err
	}
	return rulingExit(d)
}

// rulingExit gives the exit status of a decision.
func rulingExit(d *gatev1.Decision) error {
	switch {
	case d.GetRuling() == gatev1.Ruling_RULING_PASS:
		return nil
	case d.GetRuling() == gatev1.Ruling_RULING_BASELINE_UNCONFIRMED:
		return &exit{status: exitUnconfirmed}
	default:
		return &exit{status: exitBlocked}
	}
}
