package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
)

// verifyCommand checks the whole store. Where the store is a file here, bbolt's own check runs in a child process.
func (a *app) verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Read the whole store, recompute every hash, and name what is damaged",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.needStore(); err != nil {
				return err
			}
			damaged := 0
			if a.server == "" {
				n, err := a.checkPages(cmd.Context())
				if err != nil {
					return err
				}
				damaged += n
			}
			return a.with(cmd.Context(), nil, func(conn *connection) error { return a.verify(cmd.Context(), conn, damaged) })
		},
	}
}

func (a *app) verify(ctx context.Context, conn *connection, damaged int) error {
	stream, err := fixturev1.NewFixtureServiceClient(conn).VerifyStore(ctx, &fixturev1.VerifyStoreRequest{})
	if err != nil {
		return err
	}
	var sum *fixturev1.VerifySummary
	for {
		step, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if a.json {
			if err := printJSON(a.stdout, step); err != nil {
				return err
			}
		}
		if d := step.GetDamage(); d != nil && !a.json {
			fmt.Fprintln(a.stdout, newPaint(a.stdout).red("damaged: ")+d.GetMessage())
		}
		sum = step.GetSummary()
	}
	if sum == nil {
		return &exit{exitUndecided, errors.New("the check ended without a summary")}
	}
	damaged += int(sum.GetDamaged())
	if !a.json {
		fmt.Fprintf(a.stdout, "%d sets, %d versions, %d fixtures, %d decisions, %d waivers, %d log entries read; %d damaged\n", sum.GetSets(), sum.GetVersions(), sum.GetFixtures(), sum.GetDecisions(), sum.GetWaivers(), sum.GetLogEntries(), damaged)
	}
	if damaged > 0 {
		return &exit{exitInvalid, fmt.Errorf("the store is damaged in %d places", damaged)}
	}
	return nil
}
