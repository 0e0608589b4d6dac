package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"

	"github.com/retrial-dev/retrial/clients/retrial"
)

func (a *app) replaysCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "replays",
		Aliases: []string{"replay"},
		Short:   "List, watch and cancel replays",
		Args:    cobra.NoArgs,
		RunE:    noCommand,
	}
	cmd.AddCommand(a.listReplaysCommand(), a.watchCommand(), a.cancelCommand())
	return cmd
}

func (a *app) listReplaysCommand() *cobra.Command {
	req := &replayv1.ListReplaysRequest{}
	var state string
	limit := 0
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List replays, newest first, those that came to no decision as well",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if state != "" {
				n, ok := replayv1.State_value["STATE_"+strings.ToUpper(state)]
				if !ok || n == 0 {
					return usage(fmt.Errorf("--state %q is none of running, decided, failed, cut", state))
				}
				req.State = replayv1.State(n)
			}
			return a.reading(cmd.Context(), func(conn *connection) error { return a.listReplays(cmd.Context(), conn, req, limit) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&req.Release, "release", "", "only of this release")
	f.StringVar(&req.Set, "set", "", "only of this set")
	f.StringVar(&state, "state", "", "only in this state: running, decided, failed, cut")
	f.IntVarP(&limit, "limit", "n", 50, "at most this many; 0 for all")
	return cmd
}

func (a *app) listReplays(ctx context.Context, conn *connection, req *replayv1.ListReplaysRequest, limit int) error {
	t := newTable(a.stdout)
	a.head(t, "REPLAY", "STARTED", "STATE", "RELEASE", "SET", "VERSION", "BY", "SUMMARY")
	defer t.flush()
	all := rows(ctx, replayv1.NewReplayServiceClient(conn).ListReplays, req, &req.PageToken, (*replayv1.ListReplaysResponse).GetReplays)
	return list(a, limit, all, func(r *replayv1.ReplayRecord) {
		state := strings.ToLower(strings.TrimPrefix(r.GetState().String(), "STATE_"))
		t.row(r.GetReplayId(), when(r.GetStartedAt().AsTime()), state, cmp.Or(r.GetRelease(), "-"), r.GetSet(), fmt.Sprint(r.GetVersion()),
			cmp.Or(r.GetSubmittedBy(), "-"), cmp.Or(r.GetDecision().GetSummary(), r.GetFailure()))
	})
}

func (a *app) watchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "watch REPLAY",
		Short: "Show a replay that is under way, or one that has ended, as `retrial run` shows it",
		Long:  "Watch exits as `retrial run` does.\n\n" + exitHelp,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.reading(cmd.Context(), func(conn *connection) error { return a.watch(cmd.Context(), conn, args[0]) })
		},
	}
}

func (a *app) watch(ctx context.Context, conn *connection, id string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := retrial.WatchReplay(ctx, conn, id)
	if err != nil {
		return err
	}
	err = a.follow(r)
	if s := statusIn(err); s != nil && s.Code() == codes.FailedPrecondition {
		return &exit{exitUndecided, err} // it came to no decision
	}
	return err
}

func (a *app) cancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel REPLAY",
		Short: "End a replay that is under way; its release is then blocked",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.server == "" {
				return usage(errors.New("what is under way is under way on a server: --server"))
			}
			return a.with(cmd.Context(), nil, func(conn *connection) error {
				_, err := replayv1.NewReplayServiceClient(conn).CancelReplay(cmd.Context(), &replayv1.CancelReplayRequest{ReplayId: args[0]})
				return err
			})
		},
	}
}
