package fixturestore

import (
	"errors"
	"strings"
	"time"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Draft says what a commit is about to publish.
type Draft struct {
	// Set is the set's name. It is the caller's to validate; control characters are refused.
	Set string
	// Parent is the newest version of the set as the author knows it; 0 for a new set.
	Parent uint64
	// Author and Reason are mandatory.
	Author, Reason string
	Vocabulary     fixture.Vocabulary
	// Config is stored as it is. A commit that changes neither it nor any fixture is refused.
	Config []byte
	// Changes says why an expected outcome or a group changes, by fixture id (R18).
	Changes map[string]string
	// RemovalReason says why fixtures are removed.
	RemovalReason string
	// FourEyes has the version wait for an approval where it weakens the gate; nil demands none.
	FourEyes *FourEyes
	// At is the instant of the commit.
	At time.Time
}

func (d Draft) validate() error {
	var errs []error
	for field, value := range map[string]string{"set": d.Set, "author": d.Author} {
		if err := fixture.CheckName(value, 128); err != nil {
			errs = append(errs, &fixture.Error{Code: fixture.CodeInvalid, Op: "commit", Field: field, Err: err})
		}
	}
	if strings.TrimSpace(d.Reason) == "" {
		errs = append(errs, &fixture.Error{Code: fixture.CodeInvalid, Op: "commit", Field: "reason", Err: errors.New("missing: a version says why it was made")})
	}
	for id, reason := range d.Changes {
		if strings.TrimSpace(reason) == "" {
			errs = append(errs, &fixture.Error{Code: fixture.CodeInvalid, Op: "commit", Subject: id, Field: "changes", Err: errors.New("the reason is empty")})
		}
	}
	return errors.Join(append(errs, d.Vocabulary.Validate())...)
}
