package cli_test

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary be the programs that scripts call.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"retrial": retrialMain, "whimsical": whimsicalMain})
}
