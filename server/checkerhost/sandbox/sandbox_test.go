package sandbox

import "testing"

func TestParseLevel(t *testing.T) {
	for _, l := range []Level{Auto, Off, Network, Strict} {
		if got, err := ParseLevel(l.String()); err != nil || got != l {
			t.Errorf("%s is read as %s, %v", l, got, err)
		}
	}
	for _, name := range []string{"", "Strict", "level 4", "all"} {
		if got, err := ParseLevel(name); err == nil {
			t.Errorf("%q is read as %s", name, got)
		}
	}
}
