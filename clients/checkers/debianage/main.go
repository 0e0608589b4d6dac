// Command debianage is the checker debian-age as a program of its own. Retrial also carries it: the command
// [retrial, checker, debian-age] runs the same rule.
package main

import (
	"os"

	"github.com/retrial-dev/retrial/clients/checkers/debianage/rules"
	"github.com/retrial-dev/retrial/clients/retrial"
)

func main() { os.Exit(retrial.Serve(rules.Checker{})) }
