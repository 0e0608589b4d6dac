package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/retrial-dev/retrial/server/checkerhost/sandbox"
)

// levelFlag is a flag that takes the name of a sandbox.
type levelFlag struct{ to *string }

// String implements pflag.Value.
func (l levelFlag) String() string { return *l.to }

// Type implements pflag.Value.
func (levelFlag) Type() string { return "LEVEL" }

// Set implements pflag.Value.
func (l levelFlag) Set(name string) error {
	_, err := sandbox.ParseLevel(name)
	*l.to = name
	return err
}

// sandboxFlags adds --sandbox and --read to a command that starts checkers.
func sandboxFlags(cmd *cobra.Command, to *string, read *[]string) {
	cmd.Flags().StringArrayVar(read, "read", nil, "a file or directory that a checker that is a command may read in the sandbox strict (repeatable)")
	cmd.Flags().Var(levelFlag{to}, "sandbox", strings.Join([]string{"what is kept from a checker that is a command: strict (no network, no files but its own, limits)",
		"network, off, or auto, the strongest in which it starts (default: its configuration's, or auto)"}, ", "))
	_ = cmd.RegisterFlagCompletionFunc("sandbox", cobra.FixedCompletions(append(sandbox.Levels(), "auto"), cobra.ShellCompDirectiveNoFileComp))
}
