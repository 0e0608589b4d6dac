package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
)

func (a *app) whyCommand() *cobra.Command {
	req := &fixturev1.ExplainRowRequest{}
	cmd := &cobra.Command{
		Use:   "why ROW",
		Short: "Say what became of a row of the log: its fixtures, their versions, and the replays that tried them",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.SourceRowId = args[0]
			return a.reading(cmd.Context(), func(conn *connection) error { return a.why(cmd.Context(), conn, req) })
		},
	}
	cmd.Flags().StringVar(&req.Set, "set", "", "only in this set")
	return cmd
}

func (a *app) why(ctx context.Context, conn *connection, req *fixturev1.ExplainRowRequest) error {
	res, err := fixturev1.NewFixtureServiceClient(conn).ExplainRow(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		return printJSON(a.stdout, res)
	}
	p := newPaint(a.stdout)
	for _, f := range res.GetFixtures() {
		fmt.Fprintf(a.stdout, "%s of set %s\n", p.bold(f.GetFixtureId()), f.GetSet())
		for _, e := range f.GetHistory() {
			change := strings.ToLower(strings.TrimPrefix(e.GetChange().String(), "ROW_CHANGE_"))
			fmt.Fprintf(a.stdout, "  version %d, %s, %s %s: %s, by %s: %s\n", e.GetVersion(), when(e.GetCommittedAt().AsTime()), change,
				e.GetFixture().GetGroup(), pair(e.GetFixture().GetVerdict(), e.GetFixture().GetReasonCode()), e.GetAuthor(), e.GetReason())
		}
		for _, r := range f.GetReplays() {
			a.printRowReplay(r)
		}
		if more := f.GetReplayCount() - uint64(len(f.GetReplays())); more > 0 {
			fmt.Fprintf(a.stdout, "  and %d older replays\n", more)
		}
	}
	return nil
}

func (a *app) printRowReplay(r *fixturev1.RowReplay) {
	ruling := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(r.GetRuling().String(), "RULING_")), "_", " ")
	if r.GetRuling() == gatev1.Ruling_RULING_UNSPECIFIED {
		ruling = "no decision"
	}
	fmt.Fprintf(a.stdout, "  replay %s, %s, version %d, release %s: %s", r.GetReplayId(), when(r.GetStartedAt().AsTime()), r.GetVersion(), cmp.Or(r.GetRelease(), "-"), ruling)
	for _, f := range r.GetFindings() {
		fmt.Fprintf(a.stdout, "; %s", f.GetCode())
		if f.GetNew() != nil {
			fmt.Fprintf(a.stdout, " %s -> %s", pair(f.GetOld().GetVerdict(), f.GetOld().GetReasonCode()), pair(f.GetNew().GetVerdict(), f.GetNew().GetReasonCode()))
		}
	}
	fmt.Fprintln(a.stdout)
}
