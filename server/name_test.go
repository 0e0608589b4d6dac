package server

import (
	"strings"
	"testing"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// A set's name has 1 to 128 characters of a few kinds, the first a letter or a digit.
func TestSetNames(t *testing.T) {
	t.Parallel()
	for name, fit := range map[string]bool{
		"a": true, "0.b_c-D": true, strings.Repeat("x", 128): true,
		"": false, strings.Repeat("x", 129): false, ".a": false, "a b": false, "a\n": false, "ä": false,
	} {
		if err := CheckSetName("set", name); (err == nil) != fit || err != nil && fixture.CodeOf(err) != fixture.CodeInvalid {
			t.Errorf("%q: got %v", name, err)
		}
	}
}
