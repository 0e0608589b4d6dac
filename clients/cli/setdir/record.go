package setdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

// Recordable is a declared recording that can be made anew.
type Recordable struct {
	Declaration
	// Text has the bytes of the prompt's file.
	Text []byte
	// Value is the recorded value, canonical; nil where there is none, or where the body is not the one that was recorded: nothing
	// can be compared with what somebody edited.
	Value []byte
	// Recorded says that the declaration has a digest of a body, and so was recorded before.
	Recorded bool
	// PromptChanged says that the prompt is not the one that was answered.
	PromptChanged bool
	// Stale says that something is wrong with it that recording it anew would mend.
	Stale bool
	// Comparison says what is drift.
	Comparison stub.Compare
}

// Recordables reads the recordings that a set's manifest declares, sorted by id, with their prompts. A declaration that has never
// been recorded may lack its digests and recorded_at. Errors are CodeInvalid; all that is wrong is reported at once.
func Recordables(dir string, now time.Time) ([]Recordable, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, stubsDir, ManifestFile)
	if m == nil || len(m.Recordings) == 0 {
		return nil, fixture.NewError(fixture.CodeInvalid, "read recordings", file, errors.New("it declares no recording"))
	}
	s := &Set{Dir: dir}
	found := &declarations{}
	var out []Recordable
	var errs []error
	ids, calls, bodies := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i, d := range m.Recordings {
		refuse := func(err error) {
			errs = append(errs, fixture.NewError(fixture.CodeInvalid, "", fmt.Sprintf("%s: recording %d (%.80q)", file, i+1, d.ID), err))
		}
		call := d.FixtureID + "\x00" + d.Call
		if ids[d.ID] || calls[call] || bodies[d.Body] {
			refuse(errors.New("it is declared twice, by its id, its body, or its fixture and call"))
		}
		ids[d.ID], calls[call], bodies[d.Body] = true, true, true
		r, err := s.recordable(d, found, now)
		if err != nil {
			refuse(err)
			continue
		}
		out = append(out, r)
	}
	for _, p := range found.problems {
		errs = append(errs, fixture.NewError(fixture.CodeInvalid, "", file, errors.New(p.String())))
	}
	slices.SortFunc(out, func(a, b Recordable) int { return strings.Compare(a.ID, b.ID) })
	return out, errors.Join(errs...)
}

func (s *Set) recordable(d Declaration, found *declarations, now time.Time) (Recordable, error) {
	r := Recordable{Declaration: d, Recorded: d.BodySHA256 != ""}
	whole := d
	if whole.BodySHA256 == "" {
		whole.BodySHA256 = hexSum(nil) // for the rules on what is there
	}
	if err := whole.complete(); err != nil {
		return r, err
	}
	if r.Recorded && d.PromptSHA256 == "" {
		return r, errors.New("prompt_sha256: missing, and it was recorded: nobody knows what was answered")
	}
	if !s.followed(d, map[string]bool{}, found) {
		return r, nil // it is a problem, and ends the run
	}
	var err error
	if r.Text, err = regular(promptFile(s.Dir, d.Prompt)); err != nil {
		return r, fmt.Errorf("prompt: %w", err)
	}
	if !utf8.Valid(r.Text) || len(r.Text) == 0 {
		return r, fmt.Errorf("prompt: %s is empty, or no UTF-8", d.Prompt)
	}
	value := []byte("null")
	switch src, err := regular(bodyFile(s.Dir, d.Body)); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return r, fmt.Errorf("body: %w", err)
	default:
		if doc, err := fixture.Canonicalize(nil, src); err == nil && hexSum(doc) == d.BodySHA256 {
			r.Value, value = doc, doc
		}
	}
	if !r.Recorded {
		whole.PromptSHA256 = hexSum(r.Text)
	}
	if whole.RecordedAt == "" && !r.Recorded {
		whole.RecordedAt = now.UTC().Format(time.RFC3339)
	}
	recording := whole.recording()
	recording["prompt"] = string(r.Text)
	doc, err := json.Marshal(map[string]any{"fixture_id": d.FixtureID, "call": d.Call, "value": json.RawMessage(value), "recording": recording})
	if err != nil {
		return r, err
	}
	st, err := stub.Decode(doc)
	if err != nil {
		return r, err
	}
	if st.Recording.RecordedAt.After(now) {
		return r, fmt.Errorf("recorded_at: %s is in the future: one of the clocks is wrong", d.RecordedAt)
	}
	r.Comparison = st.Recording.Compare
	r.PromptChanged = r.Recorded && st.Recording.PromptSHA256 != hexSum(r.Text)
	r.Stale = r.Value == nil || r.PromptChanged || len(st.Problems(now)) > 0
	return r, nil
}

// Verified gives the declaration of an answer that was what was recorded (S7): only when that was last seen is another.
func (r *Recordable) Verified(now time.Time) Declaration {
	d := r.Declaration
	d.VerifiedAt = now.UTC().Format(time.RFC3339)
	if at, err := time.Parse(time.RFC3339, d.RecordedAt); err == nil && now.UTC().Truncate(time.Second).Before(at) {
		d.VerifiedAt = d.RecordedAt // within the second that it was recorded in
	}
	return d
}

// Answered gives the declaration of a new value, canonical, to the prompt that was read.
func (r *Recordable) Answered(value []byte, now time.Time) Declaration {
	d := r.Declaration
	d.BodySHA256, d.PromptSHA256 = hexSum(value), hexSum(r.Text)
	d.RecordedAt, d.VerifiedAt = now.UTC().Format(time.RFC3339), ""
	return d
}

// Keep writes one recording: its body where value is not nil, and then its declaration, each whole or not at all. What ends the
// process in between leaves a body that is not the one declared, which is named as such. The manifest is read again before: what
// others changed in it in the meantime stays, and a recording that they took out or asked another way is not written.
func (r *Recordable) Keep(dir string, d Declaration, value []byte) error {
	m, err := ReadManifest(dir)
	if err != nil {
		return err
	}
	at := -1
	if m != nil {
		at = slices.IndexFunc(m.Recordings, func(other Declaration) bool { return other.ID == d.ID })
	}
	if at < 0 || !same(m.Recordings[at], r.Declaration) {
		return fixture.NewError(fixture.CodeConflict, "keep recording", d.ID, errors.New("its declaration was changed while it was recorded"))
	}
	if text, err := os.ReadFile(promptFile(dir, d.Prompt)); err != nil || string(text) != string(r.Text) {
		return fixture.NewError(fixture.CodeConflict, "keep recording", d.ID, errors.New("its prompt was changed while it was recorded"))
	}
	if value != nil {
		if err := WriteJSON(bodyFile(dir, d.Body), value); err != nil {
			return err
		}
	}
	m.Recordings[at] = d
	return m.Write(dir)
}

// Digest is over all that a declaration says.
func (d Declaration) Digest() (string, error) {
	b, err := json.Marshal(d)
	return fixture.DigestOf(b).String(), err
}

func same(a, b Declaration) bool {
	x, errX := a.Digest()
	y, errY := b.Digest()
	return errX == nil && errY == nil && x == y
}

func hexSum(b []byte) string { return fixture.DigestOf(b).String() }
