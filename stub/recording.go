package stub

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Recording is a value's origin (S1).
type Recording struct {
	// ID names it among those of its set; empty for one that is named by its fixture and call.
	ID string
	// Model is the model that gave the value.
	Model string
	// Prompt is what the model was asked, as its file has it; nil where it was not kept.
	Prompt []byte
	// PromptSHA256 is the digest of the prompt, as 64 hexadecimal digits in lower case.
	PromptSHA256 string
	// BodySHA256 is the digest of the value in canonical form, in the same form; empty where it was not kept.
	BodySHA256 string
	// RecordedAt is when the model gave the value, VerifiedAt when it last gave the same again; zero if it never did (S7).
	RecordedAt, VerifiedAt time.Time
	// MaxAgeDays is how many days it may stand in for the model, from the later of the two; 0 for ever.
	MaxAgeDays int
	// Owner answers for it.
	Owner string
	// Compare says what is drift when it is recorded anew.
	Compare Compare
}

// How the answers of a model are compared (S11).
const (
	// Equal: as JSON values, to the letter.
	Equal = "equal"
	// Schema: an answer that keeps the schema is as good as any other.
	Schema = "schema"
	// Rubric: the fields that are named are equal, the others vary freely.
	Rubric = "rubric"
)

// Compare says when two answers are the same for a set's purposes.
type Compare struct {
	// Kind is Equal, Schema or Rubric; empty for Equal.
	Kind string
	// Schema is a JSON Schema, for Schema.
	Schema []byte
	// Fields are paths such as "verdict" or "scores.total", for Rubric.
	Fields []string
}

// ExpiresAt is the first instant at which the recording is over its age (S3); ok is false if it never is.
func (r *Recording) ExpiresAt() (at time.Time, ok bool) {
	if r == nil || r.MaxAgeDays == 0 {
		return time.Time{}, false
	}
	from := r.RecordedAt
	if r.VerifiedAt.After(from) {
		from = r.VerifiedAt
	}
	return from.Add(time.Duration(r.MaxAgeDays) * 24 * time.Hour), true
}

// recordingDocument is a recording in a stub's document.
type recordingDocument struct {
	ID           string           `json:"id"`
	Model        string           `json:"model"`
	Prompt       *string          `json:"prompt"`
	PromptSHA256 string           `json:"prompt_sha256"`
	BodySHA256   string           `json:"body_sha256"`
	RecordedAt   string           `json:"recorded_at"`
	VerifiedAt   string           `json:"verified_at"`
	MaxAgeDays   *int             `json:"max_age_days"`
	Owner        string           `json:"owner"`
	Compare      *compareDocument `json:"compare"`
}

type compareDocument struct {
	Kind   string          `json:"kind"`
	Schema json.RawMessage `json:"schema"`
	Fields []string        `json:"fields"`
}

// maxAgeDays bounds an age: a hundred years.
const maxAgeDays = 36_500

// readRecording reads a recording. Its model, prompt_sha256, recorded_at, max_age_days and owner are mandatory: an age that was
// forgotten is not one without end.
func readRecording(doc []byte) (*Recording, error) {
	if err := fixture.OnlyMembers(doc, "id", "model", "prompt", "prompt_sha256", "body_sha256", "recorded_at", "verified_at", "max_age_days", "owner", "compare"); err != nil {
		return nil, err
	}
	var d recordingDocument
	if err := json.Unmarshal(doc, &d); err != nil {
		return nil, err
	}
	r := &Recording{ID: d.ID, Model: d.Model, PromptSHA256: d.PromptSHA256, BodySHA256: d.BodySHA256, Owner: d.Owner}
	var err error
	if r.RecordedAt, err = instant("recorded_at", d.RecordedAt); err != nil {
		return nil, err
	}
	if d.VerifiedAt != "" {
		if r.VerifiedAt, err = instant("verified_at", d.VerifiedAt); err != nil {
			return nil, err
		}
	}
	if d.Prompt != nil {
		r.Prompt = []byte(*d.Prompt)
	}
	switch {
	case d.Model == "":
		return nil, errors.New("model: missing")
	case d.Owner == "":
		return nil, errors.New("owner: missing")
	case !isSHA256(d.PromptSHA256):
		return nil, errors.New("prompt_sha256: expected 64 hexadecimal digits in lower case")
	case d.BodySHA256 != "" && !isSHA256(d.BodySHA256):
		return nil, errors.New("body_sha256: expected 64 hexadecimal digits in lower case")
	case d.MaxAgeDays == nil:
		return nil, errors.New("max_age_days: missing; 0 says that it never goes stale")
	case *d.MaxAgeDays < 0 || *d.MaxAgeDays > maxAgeDays:
		return nil, fmt.Errorf("max_age_days: %d is not between 0 and %d", *d.MaxAgeDays, maxAgeDays)
	case !r.VerifiedAt.IsZero() && r.VerifiedAt.Before(r.RecordedAt):
		return nil, errors.New("verified_at: before recorded_at")
	}
	if d.ID != "" {
		if err := fixture.CheckName(d.ID, fixture.MaxIDBytes); err != nil {
			return nil, fmt.Errorf("id: %w", err)
		}
	}
	r.MaxAgeDays = *d.MaxAgeDays
	if d.Compare != nil {
		member, _ := fixture.Lookup(doc, "compare")
		if r.Compare, err = readCompare(member, *d.Compare); err != nil {
			return nil, fmt.Errorf("compare: %w", err)
		}
	}
	return r, nil
}

func instant(field, text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("%s: %.80q is not an instant such as 2026-02-14T09:12:00Z", field, text)
	}
	if at = at.UTC(); at.Year() < 1 || at.Year() > 9999 { // its zone leads out of what can be written
		return at, fmt.Errorf("%s: %.80q lies outside the years 1 to 9999", field, text)
	}
	return at, nil
}

func isSHA256(s string) bool {
	sum, err := hex.DecodeString(s)
	return err == nil && len(sum) == 32 && strings.ToLower(s) == s
}

func readCompare(doc []byte, d compareDocument) (Compare, error) {
	c := Compare{Kind: d.Kind, Schema: d.Schema, Fields: d.Fields}
	if err := fixture.OnlyMembers(doc, "kind", "schema", "fields"); err != nil {
		return c, err
	}
	switch {
	case d.Kind != Equal && d.Kind != Schema && d.Kind != Rubric:
		return c, fmt.Errorf("kind: %.40q is none of equal, schema, rubric", d.Kind)
	case (d.Kind == Schema) != (d.Schema != nil):
		return c, errors.New("schema: it belongs to the kind schema, and the kind schema needs one")
	case (d.Kind == Rubric) != (len(d.Fields) > 0):
		return c, errors.New("fields: they belong to the kind rubric, and the kind rubric needs at least one")
	}
	return c, nil
}
