package server

import (
	"testing"
	"time"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// A name belongs to whoever brought its first instance: who could join it by a copied description would decide.
func TestOneNameIsOneCallers(t *testing.T) {
	l := newInstances(8, nil)
	add := func(by string) error {
		return l.attach(newInstance("run-1", by, &checkerv1.DescribeResponse{Name: "c", Version: "1", BuildDigest: "d"}, time.Time{}))
	}
	if err := add("ci"); err != nil {
		t.Fatal(err)
	}
	if err := add("ci"); err != nil {
		t.Fatal(err)
	}
	if err := add("mallory"); fixture.CodeOf(err) != fixture.CodeDenied {
		t.Errorf("got %v", err)
	}
}
