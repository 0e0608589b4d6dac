package stub

import (
	"fmt"
	"time"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Kind says what is wrong with a recording. Those that only files can have are found where files are read.
type Kind string

// The kinds (S2).
const (
	BodyMissing   Kind = "BODY_MISSING"   // the manifest declares a body, and there is no such file
	PromptMissing Kind = "PROMPT_MISSING" // the manifest declares a prompt, and there is no such file
	PromptChanged Kind = "PROMPT_CHANGED" // the prompt is not the one that was answered
	BodyChanged   Kind = "BODY_CHANGED"   // the value is not the one that the model gave
	OverAge       Kind = "OVER_AGE"       // it is older than it may be (S3)
	FromTheFuture Kind = "FROM_THE_FUTURE"
	Orphan        Kind = "ORPHAN" // a file that no recording declares
	DeclaredTwice Kind = "DECLARED_TWICE"
	PathEscapes   Kind = "PATH_ESCAPES"  // a path leads out of its directory
	CustomerData  Kind = "CUSTOMER_DATA" // it has text that looks like data of a customer, or like a secret (S12)
)

// Kinds lists every kind.
func Kinds() []Kind {
	return []Kind{BodyMissing, PromptMissing, PromptChanged, BodyChanged, OverAge, FromTheFuture, Orphan, DeclaredTwice, PathEscapes, CustomerData}
}

// Dated says whether the kind depends on the instant that it is looked at. What is not dated is wrong for good.
func (k Kind) Dated() bool { return k == OverAge || k == FromTheFuture }

// Problem is one thing that is wrong.
type Problem struct {
	Kind Kind `json:"kind"`
	// Subject is the recording's id, or the path of a file that belongs to none.
	Subject string `json:"subject"`
	// Owner answers for it; empty for a file that belongs to nobody.
	Owner string `json:"owner,omitempty"`
	// Message says what is wrong, and what is to be done about it: each cause has an answer of its own (S4).
	Message string `json:"message"`
}

// String gives one line.
func (p Problem) String() string {
	s := fmt.Sprintf("%s: %s", p.Subject, p.Message)
	if p.Owner != "" {
		s += "; owner " + p.Owner
	}
	return s
}

// Problems gives what is wrong with the stub's recording at an instant, in the order of the kinds; nothing for a stub that was
// written by hand. It is the one implementation of these rules: for files, for a commit, and in the preflight of a replay.
func (s *Stub) Problems(now time.Time) (out []Problem) {
	r := s.Recording
	if r == nil {
		return nil
	}
	add := func(k Kind, format string, args ...any) {
		out = append(out, Problem{Kind: k, Subject: s.RecordingID(), Owner: r.Owner, Message: fmt.Sprintf(format, args...)})
	}
	if r.Prompt != nil && fixture.DigestOf(r.Prompt).String() != r.PromptSHA256 {
		add(PromptChanged, "the prompt has changed since it was answered: record it anew, on purpose")
	}
	if r.BodySHA256 != "" && fixture.DigestOf(s.Value).String() != r.BodySHA256 {
		add(BodyChanged, "the value is not what %s gave: put it back, or record it anew", r.Model)
	}
	if at, ok := r.ExpiresAt(); ok && fixture.Expired(at, now) {
		add(OverAge, "it went over its age of %d days at %s: refresh it, or raise max_age_days and say why", r.MaxAgeDays, at.Format(time.RFC3339))
	}
	for _, at := range []time.Time{r.RecordedAt, r.VerifiedAt} {
		if at.After(now) {
			add(FromTheFuture, "it is said to have been made at %s, and that is in the future: one of the clocks is wrong", at.Format(time.RFC3339))
			break
		}
	}
	return out
}

// RecordingID names the stub's recording: by its own id, or by its fixture and call.
func (s *Stub) RecordingID() string {
	if s.Recording != nil && s.Recording.ID != "" {
		return s.Recording.ID
	}
	return s.FixtureID + "." + s.Call
}
