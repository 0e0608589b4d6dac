// Command promotion is a reference checker: it decides whether a claim is promoted into long-term memory or dropped.
// Retrial launches it, or it listens at an address; package rules says how it decides.
package main

import (
	"os"

	"github.com/retrial-dev/retrial/clients/checkers/promotion/rules"
	"github.com/retrial-dev/retrial/clients/retrial"
)

func main() { os.Exit(retrial.Serve(rules.Checker{})) }
