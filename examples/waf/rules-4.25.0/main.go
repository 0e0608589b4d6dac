// Command rules-4.25.0 is the checker coraza-crs over version 4.25.0 of the OWASP Core Rule Set.
package main

import (
	"os"

	coreruleset "github.com/corazawaf/coraza-coreruleset/v4"

	"github.com/retrial-dev/retrial/examples/waf/checker"
)

// version is that of the module in go.mod.
const version = "4.25.0"

func main() { os.Exit(checker.Serve(version, coreruleset.FS)) }
