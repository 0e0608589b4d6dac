package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	debianage "github.com/retrial-dev/retrial/clients/checkers/debianage/rules"
	promotion "github.com/retrial-dev/retrial/clients/checkers/promotion/rules"
	"github.com/retrial-dev/retrial/clients/retrial"
)

// referenceCheckers are carried in this program, so that the examples run where there is no Go toolchain. They are
// started as processes of their own, like any other checker.
var referenceCheckers = map[string]retrial.Checker{
	"debian-age": debianage.Checker{},
	"promotion":  promotion.Checker{},
}

func (a *app) checkerCommand() *cobra.Command {
	names := slices.Sorted(maps.Keys(referenceCheckers))
	return &cobra.Command{
		Use: "checker NAME", Short: "Be one of the reference checkers: " + strings.Join(names, ", "), Hidden: true,
		Args: cobra.ExactArgs(1), ValidArgs: names,
		RunE: func(_ *cobra.Command, args []string) error {
			c, ok := referenceCheckers[args[0]]
			if !ok {
				return usage(fmt.Errorf("there is no reference checker %q; there are %s", args[0], strings.Join(names, ", ")))
			}
			if status := retrial.Serve(c); status != 0 {
				return &exit{status: status}
			}
			return nil
		},
	}
}
