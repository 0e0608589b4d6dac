package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
)

func (a *app) gateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gate",
		Short: "Ask whether a release may go out, and read past decisions",
		Args:  cobra.NoArgs,
		RunE:  noCommand,
	}
	cmd.AddCommand(a.statusCommand(), a.decisionsCommand(), a.waiveCommand(), a.waiversCommand(), a.revokeCommand(), a.attestCommand(), a.verifyAttestationCommand())
	return cmd
}

func (a *app) statusCommand() *cobra.Command {
	req := &gatev1.GetGateStatusRequest{}
	var asOf string
	var patience time.Duration
	cmd := &cobra.Command{
		Use:   "status --release RELEASE",
		Short: "Say whether a release may go out: PASS, BLOCK, or UNKNOWN where there is no evidence",
		Long: strings.TrimSpace(`
Status answers from recorded decisions. Only PASS exits 0: a release that was never tried, whose replay did not end,
or that was tried on another version than the newest is UNKNOWN. Of several sets every one must pass.

With --server the answer is held against the server's log: its signed checkpoint must extend the one that was seen
last, and have every decision that the answer rests on. What was seen last is kept below the user's configuration
directory, a file for each server.

` + exitHelp),
		Example: strings.Trim(`
  retrial gate status --release v2 --server 10.0.0.7:7433 --ca ca.pem
  retrial gate status --release v2 --server 10.0.0.7:7433 --ca ca.pem --wait 10m
  retrial gate status --release v2 --as-of 2026-03-01T12:00:00Z`, "\n"),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if req.GetRelease() == "" {
				return usage(errors.New("say which release: --release"))
			}
			if asOf != "" {
				at, err := time.Parse(time.RFC3339, asOf)
				if err != nil {
					return usage(fmt.Errorf("--as-of: %w", err))
				}
				req.AsOf = timestamppb.New(at)
			}
			if patience < 0 || patience > 0 && asOf != "" {
				return usage(errors.New("--wait is for what comes, and takes a positive time; --as-of is for what was"))
			}
			if err := a.needStore(); err != nil {
				return &exit{exitBlocked, fmt.Errorf("UNKNOWN: %w", err)}
			}
			return a.with(cmd.Context(), nil, func(conn *connection) error { return a.status(cmd.Context(), conn, req, patience) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&req.Release, "release", "", "the release (mandatory)")
	f.StringArrayVar(&req.Sets, "set", nil, "a set (repeatable; default: those that the server requires, or else all that there are)")
	f.StringVar(&asOf, "as-of", "", "answer for an instant that is past, such as 2026-03-01T12:00:00Z")
	f.DurationVar(&patience, "wait", 0, "while it is UNKNOWN, wait this long for a ruling")
	return cmd
}

func (a *app) status(ctx context.Context, conn *connection, req *gatev1.GetGateStatusRequest, patience time.Duration) error {
	var seen *pinned
	if a.server != "" { // what was seen before the question is what the answer must extend
		var err error
		if seen, err = a.pinOf(a.server); err != nil {
			return err
		}
	}
	res, err := a.standing(ctx, conn, req, patience)
	if s := statusIn(err); s != nil && s.Code() == codes.InvalidArgument {
		return usage(err) // it is the question that is wrong
	}
	if err == nil && seen != nil {
		err = seen.check(ctx, conn, req, res)
	}
	if err != nil {
		return err
	}
	switch {
	case a.json:
		if err := printJSON(a.stdout, res); err != nil {
			return err
		}
	case a.quiet:
		fmt.Fprintln(a.stdout, statusWord(res.GetStatus()))
	default:
		a.printStatus(res)
	}
	return standingExit(res)
}

// standing asks once, or watches until there is a ruling or patience is over.
func (a *app) standing(ctx context.Context, conn *connection, req *gatev1.GetGateStatusRequest, patience time.Duration) (*gatev1.GetGateStatusResponse, error) {
	client := gatev1.NewGateServiceClient(conn)
	if patience == 0 {
		return client.GetGateStatus(ctx, req)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer time.AfterFunc(patience, func() { cancel(errImpatient) }).Stop()
	stream, err := client.WatchGate(ctx, &gatev1.WatchGateRequest{Release: req.GetRelease(), Sets: req.GetSets()})
	if err != nil {
		return nil, err
	}
	var last *gatev1.GetGateStatusResponse
	for {
		change, err := stream.Recv()
		if err != nil {
			if last != nil && errors.Is(context.Cause(ctx), errImpatient) {
				return last, nil
			}
			return nil, err
		}
		if last = change.GetCurrent(); last.GetStatus() != gatev1.Status_STATUS_UNKNOWN {
			return last, nil
		}
		if !a.quiet && !a.json {
			fmt.Fprintf(a.stderr, "waiting: %s\n", waitingFor(last))
		}
	}
}

var errImpatient = errors.New("there was no ruling in time")

// waitingFor says why there is no ruling yet.
func waitingFor(res *gatev1.GetGateStatusResponse) string {
	all := res.GetCauses()
	for _, s := range res.GetSets() {
		if s.GetStatus() == gatev1.Status_STATUS_UNKNOWN {
			all = append(all, s.GetCauses()...)
		}
	}
	var out []string
	for _, c := range all {
		out = append(out, c.GetMessage())
	}
	return strings.Join(out, "; ")
}

// standingExit gives the exit status of a standing.
func standingExit(res *gatev1.GetGateStatusResponse) error {
	if res.GetStatus() == gatev1.Status_STATUS_PASS {
		return nil
	}
	for _, s := range res.GetSets() {
		if s.GetStatus() == gatev1.Status_STATUS_BLOCK && s.GetDecision().GetRuling() == gatev1.Ruling_RULING_BASELINE_UNCONFIRMED {
			return &exit{status: exitUnconfirmed}
		}
	}
	return &exit{status: exitBlocked}
}

func (a *app) printStatus(res *gatev1.GetGateStatusResponse) {
	p := newPaint(a.stdout)
	fmt.Fprintf(a.stdout, "%s  release %s\n", p.status(res.GetStatus()), res.GetRelease())
	printCauses(a.stdout, res.GetCauses())
	for _, s := range res.GetSets() {
		waived := ""
		if len(s.GetWaivers()) > 0 && s.GetStatus() == gatev1.Status_STATUS_PASS {
			waived = p.yellow(", by a waiver")
		}
		fmt.Fprintf(a.stdout, "%s  set %s%s\n", p.status(s.GetStatus()), s.GetSet(), waived)
		printCauses(a.stdout, s.GetCauses())
		for _, w := range s.GetWaivers() {
			fmt.Fprintf(a.stdout, "  waiver %s: %d flips, granted by %s until %s: %s\n", w.GetWaiverId(), len(w.GetFlips()), w.GetGrantedBy(), when(w.GetExpiresAt().AsTime()), w.GetReason())
		}
		d := s.GetDecision()
		if d == nil {
			continue
		}
		last := ""
		if s.GetStatus() == gatev1.Status_STATUS_UNKNOWN {
			last = "the last ruling, which does not hold for it: "
		}
		fmt.Fprintf(a.stdout, "  %s%s\n  replay %s of %s (%s ago), version %d, %s\n", last, d.GetSummary(), d.GetReplayId(), when(d.GetDecidedAt().AsTime()), s.GetAge().AsDuration().Round(time.Second), d.GetVersion(), d.GetChecksum())
		if s.GetEvidenceExpiresAt() != nil {
			fmt.Fprintf(a.stdout, "  it counts until %s\n", when(s.GetEvidenceExpiresAt().AsTime()))
		}
	}
}

// status paints the word for a standing.
func (p paint) status(s gatev1.Status) string {
	switch s {
	case gatev1.Status_STATUS_PASS:
		return p.green(statusWord(s))
	case gatev1.Status_STATUS_BLOCK:
		return p.red(statusWord(s))
	}
	return p.yellow(statusWord(s))
}

func statusWord(s gatev1.Status) string { return strings.TrimPrefix(s.String(), "STATUS_") }

func printCauses(w io.Writer, causes []*gatev1.Cause) {
	for _, c := range causes {
		fmt.Fprintf(w, "  %s: %s\n", c.GetCode(), c.GetMessage())
	}
}

func (a *app) decisionsCommand() *cobra.Command {
	req := &gatev1.ListDecisionsRequest{}
	limit := 0
	cmd := &cobra.Command{
		Use:   "log",
		Short: "List past decisions, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.reading(cmd.Context(), func(conn *connection) error { return a.decisions(cmd.Context(), conn, req, limit) })
		},
	}
	cmd.Flags().StringVar(&req.Release, "release", "", "only of this release")
	cmd.Flags().StringVar(&req.Set, "set", "", "only of this set")
	cmd.Flags().IntVarP(&limit, "limit", "n", 50, "at most this many; 0 for all")
	return cmd
}

func (a *app) decisions(ctx context.Context, conn *connection, req *gatev1.ListDecisionsRequest, limit int) error {
	t := newTable(a.stdout)
	a.head(t, "STARTED", "RELEASE", "SET", "VERSION", "RULING", "SUMMARY", "REPLAY")
	defer t.flush()
	all := rows(ctx, gatev1.NewGateServiceClient(conn).ListDecisions, req, &req.PageToken, (*gatev1.ListDecisionsResponse).GetDecisions)
	return list(a, limit, all, func(d *gatev1.Decision) {
		ruling := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(d.GetRuling().String(), "RULING_")), "_", " ")
		if d.GetRuling() == gatev1.Ruling_RULING_UNSPECIFIED {
			ruling = "none"
		}
		t.row(when(d.GetStartedAt().AsTime()), cmp.Or(d.GetRelease(), "-"), d.GetSet(), fmt.Sprint(d.GetVersion()), ruling, d.GetSummary(), d.GetReplayId())
	})
}
