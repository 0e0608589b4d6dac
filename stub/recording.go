package stub

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

type recordingDocument struct {
	Model        string `json:"model"`
	PromptSHA256 string `json:"prompt_sha256"`
	RecordedAt   string `json:"recorded_at"`
	MaxAgeDays   int    `json:"max_age_days"`
	Owner        string `json:"owner"`
}

func readRecording(doc []byte) (*Recording, error) {
	if doc[0] != '{' {
		return nil, fmt.Errorf("expected an object, found %.40s", doc)
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.DisallowUnknownFields()
	var d recordingDocument
	if err := dec.Decode(&d); err != nil {
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
	case d.MaxAgeDays < 0 || d.MaxAgeDays > 36500:
		return nil, fmt.Errorf("max_age_days: %d is not between 0 and 36500", d.MaxAgeDays)
	}
	return &Recording{Model: d.Model, PromptSHA256: d.PromptSHA256, RecordedAt: at.UTC(), MaxAgeDays: d.MaxAgeDays, Owner: d.Owner}, nil
}
