package attest_test

import (
	"testing"
	"time"

	"github.com/retrial-dev/retrial/server/attest"
)

// A pass ends with its evidence and its waiver, and a waiver counts only where it is allowed to.
func TestPasses(t *testing.T) {
	end := decided.Add(time.Hour)
	for _, tt := range []struct {
		name        string
		summary     attest.Summary
		at          time.Time
		allow, want bool
	}{
		{"pass", attest.Summary{Result: attest.Passed}, decided, false, true},
		{"pass in time", attest.Summary{Result: attest.Passed, ExpiresAt: end}, end.Add(-1), false, true},
		{"pass too late", attest.Summary{Result: attest.Passed, ExpiresAt: end}, end, true, false},
		{"waived, not allowed", attest.Summary{Result: attest.Warned, ExpiresAt: end}, decided, false, false},
		{"waived, allowed", attest.Summary{Result: attest.Warned, ExpiresAt: end}, decided, true, true},
		{"waived, too late", attest.Summary{Result: attest.Warned, ExpiresAt: end}, end, true, false},
		{"block", attest.Summary{Result: attest.Failed, Text: "blocked"}, decided, true, false},
		{"nothing", attest.Summary{Text: "nothing"}, decided, true, false},
	} {
		if err := tt.summary.Passes(tt.at, tt.allow); (err == nil) != tt.want {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
}
