package setdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

// declared reads the files of one declaration. What is wrong with them is a problem, and keeps the other rules from nothing: the stub
// then has no value, or no prompt, to hold against its digest. It is nil where a path must not be followed.
func (s *Set) declared(d Declaration, files map[string]bool, out *declarations) (*stub.Stub, error) {
	if !s.followed(d, files, out) {
		return nil, nil
	}
	value, err := s.value(d, out)
	if err != nil {
		return nil, err
	}
	prompt, err := s.prompt(d, out)
	if err != nil {
		return nil, err
	}
	recording := d.recording()
	if prompt != nil {
		recording["prompt"] = *prompt
	}
	if value == nil {
		value = []byte("null")
		delete(recording, "body_sha256")
	}
	doc, err := json.Marshal(map[string]any{"fixture_id": d.FixtureID, "call": d.Call, "value": json.RawMessage(value), "recording": recording})
	if err != nil {
		return nil, err
	}
	return stub.Decode(doc)
}

// followed says whether the paths of a declaration may be followed, and notes its files as declared. Where one may not, that is a
// problem.
func (s *Set) followed(d Declaration, files map[string]bool, out *declarations) bool {
	followed := true
	for _, f := range []struct{ what, path, below, file string }{
		{"body", d.Body, stubsDir + "/" + bodiesDir, bodyFile(s.Dir, d.Body)}, {"prompt", d.Prompt, promptsDir, promptFile(s.Dir, d.Prompt)},
	} {
		if !plain(f.path) || f.what == "body" && !strings.HasPrefix(f.path, bodiesDir+"/") {
			out.add(stub.PathEscapes, d.ID, d.Owner, "the %s %.120q does not lie below %s/, or not in plain words: a path is relative to %s/, with slashes and without dots", f.what, f.path, f.below, strings.TrimSuffix(f.below, "/"+bodiesDir))
			followed = false
			continue
		}
		files[f.file] = true
	}
	if !followed {
		return false
	}
	for _, path := range []string{stubsDir + "/" + d.Body, promptsDir + "/" + d.Prompt} {
		if link := linked(s.Dir, path); link != "" {
			out.add(stub.PathEscapes, d.ID, d.Owner, "%s is a link: the files of a recording lie in the set's directory themselves", link)
			return false
		}
	}
	return true
}

// value reads a body. It is nil where there is none that could be held against its digest.
func (s *Set) value(d Declaration, out *declarations) ([]byte, error) {
	src, err := regular(bodyFile(s.Dir, d.Body))
	if errors.Is(err, fs.ErrNotExist) {
		out.add(stub.BodyMissing, d.ID, d.Owner, "there is no file %s/%s: record it anew, or take the recording out of the manifest", stubsDir, d.Body)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	value, err := fixture.Canonicalize(nil, src)
	if err != nil {
		out.add(stub.BodyChanged, d.ID, d.Owner, "%s/%s is no JSON, and so not what %s gave: put it back, or record it anew (%v)", stubsDir, d.Body, d.Model, err)
		return nil, nil
	}
	return value, nil
}

// prompt reads a prompt. It is nil where there is none that could be held against its digest.
func (s *Set) prompt(d Declaration, out *declarations) (*string, error) {
	src, err := regular(promptFile(s.Dir, d.Prompt))
	if errors.Is(err, fs.ErrNotExist) {
		out.add(stub.PromptMissing, d.ID, d.Owner, "there is no file %s/%s: put the prompt back, or take the recording out of the manifest", promptsDir, d.Prompt)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(src) {
		return nil, fmt.Errorf("prompt: %s is no UTF-8", d.Prompt)
	}
	text := string(src)
	return &text, nil
}

// recording gives the declaration as it stands in a stub's document, but for the prompt.
func (d Declaration) recording() map[string]any {
	out := map[string]any{
		"id": d.ID, "model": d.Model, "prompt_sha256": d.PromptSHA256, "body_sha256": d.BodySHA256,
		"recorded_at": d.RecordedAt, "owner": d.Owner,
	}
	if d.MaxAgeDays != nil {
		out["max_age_days"] = *d.MaxAgeDays
	}
	if d.VerifiedAt != "" {
		out["verified_at"] = d.VerifiedAt
	}
	if d.Compare != nil {
		out["compare"] = d.Compare
	}
	return out
}

// maxRecordedBytes bounds a body and a prompt.
const maxRecordedBytes = 16 << 20

// regular reads a file that is neither a link nor a device, nor too large.
func regular(file string) ([]byte, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", file)
	}
	if info.Size() > maxRecordedBytes {
		return nil, fmt.Errorf("%s has %d bytes, over the limit of %d", file, info.Size(), maxRecordedBytes)
	}
	return os.ReadFile(file)
}

// orphans names the files that no recording declares.
func (s *Set) orphans(files map[string]bool, out *declarations) error {
	for _, dir := range []string{filepath.Join(s.Dir, stubsDir, bodiesDir), filepath.Join(s.Dir, promptsDir)} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) && path == dir {
				return nil
			}
			if err != nil || d.IsDir() || files[path] {
				return err
			}
			rel, err := filepath.Rel(s.Dir, path)
			if err == nil {
				out.add(stub.Orphan, filepath.ToSlash(rel), "", "no recording declares this file: declare it, or remove it")
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
