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

// A required set by a name that no set can have is an error of the configuration: every release would stay UNKNOWN for ever.
func TestRequiredSetIsANameOfASet(t *testing.T) {
	t.Parallel()
	for name, fit := range map[string]bool{"memory-promotion": true, "": false, "memory promotion": false, "memory@3": false, ".memory": false} {
		err := Config{RequiredSets: []string{"notes", name}}.Validate()
		if (err == nil) != fit || err != nil && (fixture.CodeOf(err) != fixture.CodeInvalid || !strings.Contains(err.Error(), "configuration: field required_sets: ")) {
			t.Errorf("%q: got %v", name, err)
		}
	}
}
