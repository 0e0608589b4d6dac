package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
)

func (a *app) attestCommand() *cobra.Command {
	req := &gatev1.AttestDecisionRequest{}
	cmd := &cobra.Command{
		Use:   "attest --release RELEASE --set SET",
		Short: "Print a signed attestation of the newest decision, for `retrial gate verify`",
		Long: strings.TrimSpace(`
Attest prints an in-toto statement in a DSSE envelope that the server has signed. It is about the artifact that the run
named (--artifact), or about the release where that is a digest or a commit. A blocked release is attested as failed;
where there is no evidence there is nothing to attest.`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if req.GetRelease() == "" || req.GetSet() == "" {
				return usage(errors.New("say which: --release, --set"))
			}
			return a.reading(cmd.Context(), func(conn *connection) error {
				res, err := gatev1.NewGateServiceClient(conn).AttestDecision(cmd.Context(), req)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(a.stdout, "%s\n", res.GetEnvelope())
				return err
			})
		},
	}
	cmd.Flags().StringVar(&req.Release, "release", "", "the release")
	cmd.Flags().StringVar(&req.Set, "set", "", "the set")
	return cmd
}
