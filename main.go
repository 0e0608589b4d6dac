// Retrial tries past decisions again before a changed checker is released.
package main

import (
	"os"

	"github.com/retrial-dev/retrial/clients/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr)) }
