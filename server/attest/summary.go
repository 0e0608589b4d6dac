package attest

import (
	"errors"
	"fmt"
	"time"
)

// Result is the result of a statement.
type Result string

// The results of the predicate.
const (
	// Passed says that the gate ruled pass.
	Passed Result = "PASSED"
	// Warned says that the gate ruled block, over flips alone, and that somebody answers for each of them.
	Warned Result = "WARNED"
	// Failed says that the release may not go out.
	Failed Result = "FAILED"
)

// The rulings, as a statement writes them.
const (
	rulingPass        = "PASS"
	rulingBlock       = "BLOCK"
	rulingUnconfirmed = "BASELINE_UNCONFIRMED"
)

// Summary is what an attestation says.
type Summary struct {
	Result Result `json:"result"`
	// Subject is what was released.
	Subject Subject `json:"subject"`
	// Release, Set, Version and ReplayID name the decision. Never empty.
	Release  string `json:"release"`
	Set      string `json:"set"`
	Version  uint64 `json:"version"`
	ReplayID string `json:"replay_id"`
	// Checksum is that of the version: "sha256:" and 64 hexadecimal digits.
	Checksum string `json:"checksum"`
	// Ruling is "PASS", "BLOCK" or "BASELINE_UNCONFIRMED".
	Ruling string `json:"ruling"`
	// Text is the last line of the report.
	Text string `json:"summary"`
	// Causes are why it is no pass, most severe first; empty for a ruling of "PASS".
	Causes []Cause `json:"causes,omitempty"`
	// Expected, Confirmed, Excused, Evaluated and Flipped count fixtures as the decision does.
	Expected  uint64 `json:"expected"`
	Confirmed uint64 `json:"confirmed"`
	Excused   uint64 `json:"excused,omitempty"`
	Evaluated uint64 `json:"evaluated"`
	Flipped   uint64 `json:"flipped"`
	// Failed and Warned are fixture ids, in the order in which they were found, each at most 1,000: those that block, and
	// those that a policy tolerates or a waiver names.
	Failed []string `json:"failed_tests,omitempty"`
	Warned []string `json:"warned_tests,omitempty"`
	// Waivers are what a result of Warned rests on; empty for the others.
	Waivers []Waiver `json:"waivers,omitempty"`
	// DecidedAt is when the ruling was recorded.
	DecidedAt time.Time `json:"decided_at"`
	// ExpiresAt is from when on it is no evidence any more: by the policy, or since a waiver ends. Zero for never.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// KeyID is the id of the key that signed it; empty before it is signed.
	KeyID string `json:"key_id"`
}

// Cause is one reason for a ruling.
type Cause struct {
	Code    string `json:"code"`
	Count   uint64 `json:"count"`
	Message string `json:"message"`
}

// Waiver is what somebody answers for.
type Waiver struct {
	ID        string    `json:"waiver_id"`
	Reason    string    `json:"reason"`
	GrantedBy string    `json:"granted_by"`
	ExpiresAt time.Time `json:"expires_at"`
	// Flips is how many fixtures it names.
	Flips uint64 `json:"flips"`
}

// Passes says whether the release may go out at an instant, by this attestation: nil, or why it may not. A pass by waiver
// counts only with allowWaiver.
func (s *Summary) Passes(at time.Time, allowWaiver bool) error {
	switch {
	case s.Result != Passed && s.Result != Warned:
		return errors.New(s.Text)
	case !s.ExpiresAt.IsZero() && !at.Before(s.ExpiresAt):
		return fmt.Errorf("it has been no evidence since %s", s.ExpiresAt.Format(time.RFC3339))
	case s.Result == Warned && !allowWaiver:
		return errors.New("it passes by waiver alone")
	}
	return nil
}

// check refuses what is incomplete or contradicts itself: result, ruling, causes, counts and waivers must tell one story.
func (s *Summary) check() error {
	if err := s.Subject.check(); err != nil {
		return err
	}
	switch {
	case s.Release == "" || s.Set == "" || s.Version == 0 || s.ReplayID == "" || s.Text == "":
		return errors.New("release, set, version, replay or summary is missing")
	case !sha256Form.MatchString(s.Checksum):
		return fmt.Errorf("the checksum %q is not sha256: and 64 hexadecimal digits", s.Checksum)
	case s.DecidedAt.IsZero():
		return errors.New("it does not say when it was decided")
	}
	switch s.Result {
	case Passed:
		if s.Ruling != rulingPass || len(s.Causes)+len(s.Failed)+len(s.Waivers) > 0 {
			return fmt.Errorf("%s with the ruling %s, %d causes, %d failed tests and %d waivers contradicts itself", s.Result, s.Ruling, len(s.Causes), len(s.Failed), len(s.Waivers))
		}
	case Warned:
		if s.Ruling != rulingBlock || len(s.Failed) > 0 || len(s.Waivers) == 0 {
			return fmt.Errorf("%s with the ruling %s, %d failed tests and %d waivers contradicts itself", s.Result, s.Ruling, len(s.Failed), len(s.Waivers))
		}
		return errors.Join(s.waived(), s.complete())
	case Failed:
		if s.Ruling != rulingBlock && s.Ruling != rulingUnconfirmed || len(s.Causes) == 0 || len(s.Waivers) > 0 {
			return fmt.Errorf("%s with the ruling %s, %d causes and %d waivers contradicts itself", s.Result, s.Ruling, len(s.Causes), len(s.Waivers))
		}
		return nil
	default:
		return fmt.Errorf("the result %q is none of %s, %s and %s", s.Result, Passed, Warned, Failed)
	}
	return s.complete()
}

// complete refuses a pass that does not rest on every fixture, and on one at least.
func (s *Summary) complete() error {
	if s.Confirmed == 0 || s.Confirmed+s.Excused != s.Expected || s.Evaluated != s.Expected {
		return fmt.Errorf("%s with %d of %d fixtures confirmed and %d tried contradicts itself", s.Result, s.Confirmed, s.Expected, s.Evaluated)
	}
	return nil
}

// waived refuses a pass by waiver over anything but flips that each waiver names, and one that does not end.
func (s *Summary) waived() error {
	flips := uint64(0)
	for _, c := range s.Causes {
		switch c.Code {
		case codeFlip:
			flips += c.Count
		case codeBoundExceeded:
		default:
			return fmt.Errorf("%s blocks, and no waiver covers that", c.Code)
		}
	}
	if len(s.Causes) == 0 {
		return errors.New("a waiver without a cause to block waives nothing")
	}
	for _, w := range s.Waivers {
		switch {
		case w.ID == "" || w.GrantedBy == "" || w.Reason == "":
			return fmt.Errorf("waiver %q does not say who granted it, and why", w.ID)
		case w.ExpiresAt.IsZero() || s.ExpiresAt.IsZero() || s.ExpiresAt.After(w.ExpiresAt):
			return fmt.Errorf("waiver %s ends before the attestation does", w.ID)
		case w.Flips == 0 || w.Flips < flips:
			return fmt.Errorf("waiver %s names %d flips, and %d block", w.ID, w.Flips, flips)
		}
	}
	return nil
}

// The codes of findings that a waiver can cover; replayer/gate has them all.
const (
	codeFlip          = "FLIP"
	codeBoundExceeded = "BOUND_EXCEEDED"
)
