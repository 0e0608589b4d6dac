package setdir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retrial-dev/retrial/internal/durable"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// ManifestFile declares the recordings of a set, below its stubs.
const ManifestFile = "manifest.json"

// bodiesDir has the recorded values, below the stubs.
const bodiesDir = "bodies"

// Manifest is stubs/manifest.json: {"schema": 1, "recordings": [...]}.
type Manifest struct {
	Schema     int           `json:"schema"`
	Recordings []Declaration `json:"recordings"`
}

// Declaration declares one recording (S1). All but VerifiedAt and Compare are mandatory.
type Declaration struct {
	// ID names the recording among those of the set.
	ID string `json:"id"`
	// FixtureID and Call say which model call it stands in for.
	FixtureID string `json:"fixture_id"`
	Call      string `json:"call"`
	// Body is the file of the value, relative to stubs/ and below bodies/; Prompt that of the prompt, relative to prompts/.
	Body   string `json:"body"`
	Prompt string `json:"prompt"`
	// BodySHA256 is over the value in canonical form, PromptSHA256 over the bytes of the prompt's file.
	BodySHA256   string `json:"body_sha256"`
	PromptSHA256 string `json:"prompt_sha256"`
	Model        string `json:"model"`
	RecordedAt   string `json:"recorded_at"`
	VerifiedAt   string `json:"verified_at,omitempty"`
	MaxAgeDays   *int   `json:"max_age_days"`
	Owner        string `json:"owner"`
	// Compare is {"kind": "equal"}, {"kind": "schema", "schema": {…}} or {"kind": "rubric", "fields": […]}; without it equal.
	Compare json.RawMessage `json:"compare,omitempty"`
}

var declared = []string{"id", "fixture_id", "call", "body", "prompt", "body_sha256", "prompt_sha256", "model", "recorded_at", "verified_at", "max_age_days", "owner", "compare"}

// ReadManifest reads the manifest of a set's directory; nil where there is none. CodeInvalid for one that is malformed. What it
// declares is not looked at: VerifyRecordings does.
func ReadManifest(dir string) (*Manifest, error) {
	file := filepath.Join(dir, stubsDir, ManifestFile)
	doc, list, err := readList(file, `{"schema": 1, "recordings": […]}`, "recordings", "schema")
	if err != nil || list == nil {
		return nil, err
	}
	refuse := func(err error) (*Manifest, error) {
		return nil, fixture.NewError(fixture.CodeInvalid, "", file, err)
	}
	var errs []error
	i := 0
	for raw := range fixture.Items(list) {
		i++
		if err := fixture.OnlyMembers(raw, declared...); err != nil {
			errs = append(errs, fmt.Errorf("recording %d: %w", i, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return refuse(err)
	}
	var m Manifest
	if err := json.Unmarshal(doc, &m); err != nil {
		return refuse(err)
	}
	if m.Schema != fixture.SchemaVersion {
		return refuse(fmt.Errorf("schema %d is unknown; this release reads schema %d", m.Schema, fixture.SchemaVersion))
	}
	return &m, nil
}

// Write writes the manifest of a set's directory: sorted by id, in the form of S8.
func (m *Manifest) Write(dir string) error {
	sorted := *m
	sorted.Recordings = slices.SortedFunc(slices.Values(m.Recordings), func(a, b Declaration) int { return strings.Compare(a.ID, b.ID) })
	src, err := json.Marshal(sorted)
	if err != nil {
		return err
	}
	return WriteJSON(filepath.Join(dir, stubsDir, ManifestFile), src)
}

// WriteJSON replaces a file by a JSON document as Text gives it.
func WriteJSON(file string, src []byte) error {
	text, err := Text(src)
	if err != nil {
		return fixture.NewError(fixture.CodeInvalid, "write", file, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return err
	}
	return durable.ReplaceFile(file, text)
}

// Text gives a JSON document as a person reviews it (S8): keys sorted, two spaces, a line feed at the end. Numbers keep their literal.
func Text(src []byte) ([]byte, error) {
	doc, err := fixture.Canonicalize(nil, src)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, doc, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
