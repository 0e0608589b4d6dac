// Command cedar-1.9.2 is the checker cedar over version 1.9.2 of cedar-go: its go.mod says which.
package main

import (
	"os"

	"github.com/retrial-dev/retrial/examples/cedar/checker"
)

func main() { os.Exit(checker.Serve()) }
