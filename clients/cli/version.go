package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/retrial-dev/retrial/server/wire"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			version, revision := buildVersion()
			if a.json {
				return a.printValue(map[string]any{"version": version, "revision": revision, "go": runtime.Version(), "checker_contract": wire.ContractVersion})
			}
			_, err := fmt.Fprintf(a.stdout, "retrial %s %s, %s %s/%s, checker contract %d\n", version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH, wire.ContractVersion)
			return err
		},
	}
}

// buildVersion gives what the Go tool built into the program.
func buildVersion() (version, revision string) {
	version, revision = "(unknown)", "(no revision)"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version, revision
	}
	version = info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			revision = s.Value
		}
	}
	return version, revision
}
