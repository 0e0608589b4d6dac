package attest

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
)

// Subject is what was released, by digest.
type Subject struct {
	// Algorithm is a name of in-toto's digest sets: "sha256", or "gitCommit" for a commit.
	Algorithm string
	// Digest is lower-case hexadecimal: 64 digits, or 40 for a commit of a repository that uses SHA-1.
	Digest string
}

// String gives "algorithm:digest".
func (s Subject) String() string { return s.Algorithm + ":" + s.Digest }

// MarshalText implements encoding.TextMarshaler with String.
func (s Subject) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

var (
	sha256Form = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	commitForm = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)
)

func (s Subject) check() error {
	switch {
	case s.Algorithm == "sha256" && sha256Form.MatchString(s.String()):
		return nil
	case s.Algorithm == "gitCommit" && commitForm.MatchString(s.Digest):
		return nil
	}
	return fmt.Errorf("the subject %q is neither a SHA-256 nor a git commit", s)
}

// subjectOf gives what a decision is about: the artifact of its evidence, or else the release, if that is a digest or a
// commit by its full name. A statement about nothing verifies nothing.
func subjectOf(d *gatev1.Decision) (Subject, error) {
	artifact, release := d.GetEvidence().GetArtifactDigest(), d.GetRelease()
	switch {
	case sha256Form.MatchString(artifact):
		return fromSHA256(artifact), nil
	case artifact != "":
		return Subject{}, fmt.Errorf("the artifact digest %q is not sha256: and 64 lower-case hexadecimal digits", artifact)
	case release == "":
		return Subject{}, errors.New("the replay was for no release")
	case sha256Form.MatchString(release):
		return fromSHA256(release), nil
	case commitForm.MatchString(release):
		return Subject{Algorithm: "gitCommit", Digest: release}, nil
	}
	return Subject{}, fmt.Errorf("the replay named no artifact digest, and the release %q is neither a digest (sha256:…) nor a git commit by its full name: a statement about nothing verifies nothing", release)
}

func fromSHA256(s string) Subject {
	return Subject{Algorithm: "sha256", Digest: strings.TrimPrefix(s, "sha256:")}
}
