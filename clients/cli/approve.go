package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
)

func (a *app) approveCommand() *cobra.Command {
	req := &fixturev1.ApproveVersionRequest{}
	cmd := &cobra.Command{
		Use:   "approve SET@VERSION --checksum SHA256 --reason WHY",
		Short: "Approve a version that weakens the gate; until then no release passes on it",
		Long: `A version that changes an expectation, the policy or the allowlist, or removes or rewrites more fixtures than the policy lets
one person do, takes the approval of somebody who is not its author. Look first: ` + "`retrial fixtures diff` and `retrial fixtures log`.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.server == "" {
				return usage(errors.New("an approval needs a server that knows its callers: --server"))
			}
			var err error
			if req.Set, req.Version, err = parseSetVersion(args[0]); err != nil {
				return err
			}
			if req.GetChecksum() == "" || req.GetReason() == "" {
				return usage(errors.New("say what was looked at, and why it is right: --checksum, --reason"))
			}
			return a.with(cmd.Context(), nil, func(conn *connection) error {
				res, err := fixturev1.NewFixtureServiceClient(conn).ApproveVersion(cmd.Context(), req)
				if err != nil {
					return err
				}
				v := res.GetVersion()
				if a.json {
					return printJSON(a.stdout, v)
				}
				fmt.Fprintf(a.stdout, "version %d of %s is approved by %s\n", v.GetNumber(), v.GetSet(), v.GetApproval().GetApprovedBy())
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&req.Checksum, "checksum", "", "the version's checksum, as it was looked at")
	cmd.Flags().StringVar(&req.Reason, "reason", "", "why it is right")
	return cmd
}
