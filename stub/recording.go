package stub

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

type recordingDocument struct {
	Model        string `json:"model"`
	PromptSHA256 string `json:"prompt_sha256"`
	RecordedAt   string `json:"recorded_at"`
	MaxAgeDays   *int   `json:"max_age_days"`
	Owner        string `json:"owner"`
}

// maxAgeDays bounds an age: a hundred years.
const maxAgeDays = 36_500

// readRecording reads a recording. All its members are mandatory: an age that was forgotten is not one without end.
func readRecording(doc []byte) (*Recording, error) {
	if err := fixture.OnlyMembers(doc, "model", "prompt_sha256", "recorded_at", "max_age_days", "owner"); err != nil {
		return nil, err
	}
	var d recordingDocument
	if err := json.Unmarshal(doc, &d); err != nil {
		return nil, err
	}
	at, err := time.Parse(time.RFC3339, d.RecordedAt)
	if err != nil {
		return nil, fmt.Errorf("recorded_at: %.80q is not an instant such as 2026-02-14T09:12:00Z", d.RecordedAt)
	}
	switch sum, err := hex.DecodeString(d.PromptSHA256); {
	case d.Model == "":
		return nil, errors.New("model: missing")
	case d.Owner == "":
		return nil, errors.New("owner: missing")
	case err != nil || len(sum) != 32:
		return nil, errors.New("prompt_sha256: expected 64 hexadecimal digits")
	case d.MaxAgeDays == nil:
		return nil, errors.New("max_age_days: missing; 0 says that it never goes stale")
	case *d.MaxAgeDays < 0 || *d.MaxAgeDays > maxAgeDays:
		return nil, fmt.Errorf("max_age_days: %d is not between 0 and %d", *d.MaxAgeDays, maxAgeDays)
	}
	return &Recording{Model: d.Model, PromptSHA256: d.PromptSHA256, RecordedAt: at.UTC(), MaxAgeDays: *d.MaxAgeDays, Owner: d.Owner}, nil
}
