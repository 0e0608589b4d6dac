package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/replayer/gate"
)

func (a *app) waiveCommand() *cobra.Command {
	req := &gatev1.GrantWaiverRequest{}
	var named []string
	var all int
	var lasts time.Duration
	cmd := &cobra.Command{
		Use:   "waive --release RELEASE --set SET --reason WHY --for 24h (--flip FIXTURE… | --all-flips N)",
		Short: "Let a blocked release out over its flips, and answer for it",
		Long: strings.TrimSpace(`
Waive grants a waiver for one release over exactly the flips that block it: each is named, or their number is. It takes
an approver, who cannot submit runs, and stands wherever the decision is shown. Nothing but flips can be waived.`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case a.server == "":
				return usage(errors.New("a waiver needs a server that knows its callers: --server"))
			case req.GetRelease() == "" || req.GetSet() == "" || req.GetReason() == "" || lasts <= 0:
				return usage(errors.New("say what, why and for how long: --release, --set, --reason, --for"))
			case (len(named) == 0) == (all == 0):
				return usage(errors.New("name each flip with --flip, or say how many there are with --all-flips"))
			}
			return a.with(cmd.Context(), nil, func(conn *connection) error {
				req.ExpiresAt = timestamppb.New(time.Now().Add(lasts))
				return a.waive(cmd.Context(), conn, req, named, all)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&req.Release, "release", "", "the release")
	f.StringVar(&req.Set, "set", "", "the set")
	f.StringVar(&req.Reason, "reason", "", "why it may go out all the same")
	f.DurationVar(&lasts, "for", 0, "how long it lasts, such as 24h; at most 720h")
	f.StringArrayVar(&named, "flip", nil, "the fixture of a flip (repeatable)")
	f.IntVar(&all, "all-flips", 0, "all flips, of which there are this many")
	return cmd
}

func (a *app) waive(ctx context.Context, conn *connection, req *gatev1.GrantWaiverRequest, named []string, all int) error {
	client := gatev1.NewGateServiceClient(conn)
	res, err := client.GetGateStatus(ctx, &gatev1.GetGateStatusRequest{Release: req.GetRelease(), Sets: []string{req.GetSet()}})
	if err != nil {
		return err
	}
	for _, s := range res.GetSets() {
		if s.GetSet() != req.GetSet() {
			continue
		}
		req.ReplayId = s.GetDecision().GetReplayId()
		for _, f := range s.GetDecision().GetFindings() {
			if f.GetCode() == string(gate.Flip) && f.GetAllowedBy() == "" && (all > 0 || slices.Contains(named, f.GetSubject())) {
				req.Flips = append(req.Flips, &gatev1.WaivedFlip{FixtureId: f.GetSubject(), NewVerdict: f.GetNew().GetVerdict(), NewReasonCode: f.GetNew().GetReasonCode()})
			}
		}
	}
	if want := max(all, len(named)); len(req.GetFlips()) != want {
		return usage(fmt.Errorf("the newest decision has %d of the %d flips that are meant: see `retrial gate status`", len(req.GetFlips()), want))
	}
	granted, err := client.GrantWaiver(ctx, req)
	if err != nil {
		return err
	}
	return a.printWaiver(granted.GetWaiver())
}

func (a *app) printWaiver(w *gatev1.Waiver) error {
	if a.json {
		return printJSON(a.stdout, w)
	}
	fmt.Fprintf(a.stdout, "waiver %s: release %s, set %s, %d flips, until %s\n", w.GetWaiverId(), w.GetRelease(), w.GetSet(), len(w.GetFlips()), when(w.GetExpiresAt().AsTime()))
	return nil
}

func (a *app) revokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke WAIVER",
		Short: "End a waiver at once",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), nil, func(conn *connection) error {
				res, err := gatev1.NewGateServiceClient(conn).RevokeWaiver(cmd.Context(), &gatev1.RevokeWaiverRequest{WaiverId: args[0]})
				if err != nil {
					return err
				}
				return a.printWaiver(res.GetWaiver())
			})
		},
	}
}

func (a *app) waiversCommand() *cobra.Command {
	req := &gatev1.ListWaiversRequest{}
	cmd := &cobra.Command{
		Use:   "waivers",
		Short: "List waivers, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.reading(cmd.Context(), func(conn *connection) error { return a.waivers(cmd.Context(), conn, req) })
		},
	}
	cmd.Flags().StringVar(&req.Release, "release", "", "only for this release")
	cmd.Flags().StringVar(&req.Set, "set", "", "only for this set")
	return cmd
}

func (a *app) waivers(ctx context.Context, conn *connection, req *gatev1.ListWaiversRequest) error {
	t := newTable(a.stdout)
	a.head(t, "WAIVER", "RELEASE", "SET", "FLIPS", "GRANTED BY", "UNTIL", "REVOKED BY", "REASON")
	defer t.flush()
	all := rows(ctx, gatev1.NewGateServiceClient(conn).ListWaivers, req, &req.PageToken, (*gatev1.ListWaiversResponse).GetWaivers)
	return list(a, 0, all, func(w *gatev1.Waiver) {
		t.row(w.GetWaiverId(), w.GetRelease(), w.GetSet(), fmt.Sprint(len(w.GetFlips())), w.GetGrantedBy(), when(w.GetExpiresAt().AsTime()), w.GetRevokedBy(), w.GetReason())
	})
}
