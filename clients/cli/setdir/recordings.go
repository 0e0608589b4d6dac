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

	"github.com/retrial-dev/retrial/clients/customerdata"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

// Verified is what a look at the recordings of a directory found.
type Verified struct {
	// Checked counts the recordings that were looked at, Written the stubs that were written by hand and have no origin.
	Checked int `json:"checked"`
	Written int `json:"written_by_hand"`
	// Problems are all that was found, those of one recording together.
	Problems []stub.Problem `json:"problems"`
}

// VerifyRecordings looks at every recording of a set's directory at one instant: those of the manifest, and those that stand
// within stub documents. It reports everything that is wrong at once (S2, S3). The error is for what cannot be read at all.
func VerifyRecordings(dir string, now time.Time) (*Verified, error) {
	c, err := ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	s := &Set{Dir: dir, Config: c, stubs: map[string][]*stub.Stub{}}
	p := &problems{}
	s.readStubs(p)
	if err := p.err(); err != nil {
		return nil, err
	}
	out := &Verified{}
	for _, id := range sortedIDs(s.stubs) {
		for _, st := range s.stubs[id] {
			if st.Recording == nil {
				out.Written++
				continue
			}
			out.Checked++
			out.Problems = append(out.Problems, s.problemsOf(st, now)...)
		}
	}
	list, err := s.manifestStubs()
	if err != nil {
		return nil, err
	}
	out.Checked += list.declared
	out.Problems = append(out.Problems, list.problems...)
	for _, st := range list.stubs {
		out.Problems = append(out.Problems, s.problemsOf(st, now)...)
	}
	slices.SortStableFunc(out.Problems, func(a, b stub.Problem) int { return strings.Compare(a.Subject, b.Subject) })
	return out, nil
}

// problemsOf gives what is wrong with a recording, what it must not have in it included (S12).
func (s *Set) problemsOf(st *stub.Stub, now time.Time) []stub.Problem {
	out := st.Problems(now)
	if st.Recording == nil {
		return out
	}
	rules, err := s.Config.DataRules()
	if err != nil {
		return out // ReadConfig refuses such a configuration
	}
	for _, part := range []struct {
		name  string
		found []customerdata.Finding
	}{{"value", customerdata.InJSON(st.Value)}, {"prompt", customerdata.In(st.Recording.Prompt)}} {
		for _, f := range rules.Disallowed(part.found) {
			out = append(out, stub.Problem{Kind: stub.CustomerData, Subject: st.RecordingID(), Owner: st.Recording.Owner,
				Message: fmt.Sprintf("%s: %s: take it out, or have a rule of %s scrub or allow it", part.name, f, ConfigFile)})
		}
	}
	return out
}

func sortedIDs(m map[string][]*stub.Stub) []string {
	var ids []string
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// readRecordings adds the recordings of the manifest to the set's stubs. What is wrong with them for good is an error; what is only
// stale is the gate's to say.
func (s *Set) readRecordings(p *problems) {
	list, err := s.manifestStubs()
	if err != nil {
		p.add(err)
		return
	}
	found := list.problems
	for _, st := range list.stubs {
		s.stubs[st.FixtureID] = append(s.stubs[st.FixtureID], st)
	}
	for _, id := range sortedIDs(s.stubs) {
		for _, st := range s.stubs[id] {
			found = append(found, s.problemsOf(st, time.Time{})...)
		}
	}
	for _, problem := range found {
		if !problem.Kind.Dated() {
			p.add(fixture.NewError(fixture.CodeInvalid, "", filepath.Join(s.Dir, stubsDir), errors.New(problem.String())))
		}
	}
}

// ofManifest says whether a file below the stubs is the manifest or a body, and no stub document.
func (s *Set) ofManifest(file string) bool {
	rel, err := filepath.Rel(filepath.Join(s.Dir, stubsDir), file)
	return err == nil && (rel == ManifestFile || strings.HasPrefix(rel, bodiesDir+string(filepath.Separator)))
}

// declarations are the recordings of a manifest, with what is wrong with their files.
type declarations struct {
	declared int
	stubs    []*stub.Stub // those that could be read
	problems []stub.Problem
}

func (d *declarations) add(k stub.Kind, subject, owner, format string, args ...any) {
	d.problems = append(d.problems, stub.Problem{Kind: k, Subject: subject, Owner: owner, Message: fmt.Sprintf(format, args...)})
}

func (s *Set) manifestStubs() (*declarations, error) {
	out := &declarations{}
	m, err := ReadManifest(s.Dir)
	if err != nil {
		return nil, err
	}
	files := map[string]bool{} // that are declared
	if m != nil {
		out.declared = len(m.Recordings)
		var errs []error
		ids, calls := map[string]bool{}, map[string]bool{}
		for i, d := range m.Recordings {
			at := fmt.Sprintf("%s: recording %d (%.80q)", filepath.Join(s.Dir, stubsDir, ManifestFile), i+1, d.ID)
			if err := d.complete(); err != nil {
				errs = append(errs, fixture.NewError(fixture.CodeInvalid, "", at, err))
				continue
			}
			call := d.FixtureID + "\x00" + d.Call
			if ids[d.ID] || calls[call] {
				out.add(stub.DeclaredTwice, d.ID, d.Owner, "it is declared twice, by its id or by its fixture and call: keep one of them")
			}
			ids[d.ID], calls[call] = true, true
			st, err := s.declared(d, files, out)
			if err != nil {
				errs = append(errs, fixture.NewError(fixture.CodeInvalid, "", at, err))
			} else if st != nil {
				out.stubs = append(out.stubs, st)
			}
		}
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
	}
	return out, s.orphans(files, out)
}

// complete says what a declaration lacks. The rest is the rules of a stub's document.
func (d Declaration) complete() error {
	var errs []error
	for _, m := range []struct{ name, value string }{{"id", d.ID}, {"fixture_id", d.FixtureID}, {"call", d.Call}, {"body", d.Body}, {"prompt", d.Prompt}, {"body_sha256", d.BodySHA256}} {
		if m.value == "" {
			errs = append(errs, fmt.Errorf("%s: missing", m.name))
		}
	}
	return errors.Join(errs...)
}

// declared reads the files of one declaration. It gives nil where one of them is missing, which is then a problem.
func (s *Set) declared(d Declaration, files map[string]bool, out *declarations) (*stub.Stub, error) {
	body, prompt, ok := s.places(d, out)
	if body != "" {
		files[body], files[prompt] = true, true // declared, wherever a link leads
	}
	if !ok {
		return nil, nil
	}
	value, bodyErr := s.regular(body)
	text, promptErr := s.regular(prompt)
	if errors.Is(bodyErr, fs.ErrNotExist) {
		out.add(stub.BodyMissing, d.ID, d.Owner, "there is no file %s/%s: record it anew, or take the recording out of the manifest", stubsDir, d.Body)
		bodyErr = nil
	}
	if errors.Is(promptErr, fs.ErrNotExist) {
		out.add(stub.PromptMissing, d.ID, d.Owner, "there is no file %s/%s: put the prompt back, or take the recording out of the manifest", promptsDir, d.Prompt)
		promptErr = nil
	}
	if err := errors.Join(bodyErr, promptErr); err != nil || value == nil || text == nil {
		return nil, err
	}
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("prompt: %s is no UTF-8", d.Prompt)
	}
	value, err := fixture.Canonicalize(nil, value)
	if err != nil {
		return nil, fmt.Errorf("body: %s: %w", d.Body, err)
	}
	doc, err := json.Marshal(map[string]any{"fixture_id": d.FixtureID, "call": d.Call, "value": json.RawMessage(value), "recording": d.recording(string(text))})
	if err != nil {
		return nil, err
	}
	return stub.Decode(doc)
}

// places gives the two files of a declaration. Where one leaves its directory that is a problem, and ok is false; they are empty if
// its path alone does.
func (s *Set) places(d Declaration, out *declarations) (body, prompt string, ok bool) {
	body, prompt = filepath.Join(s.Dir, stubsDir, filepath.FromSlash(d.Body)), filepath.Join(s.Dir, promptsDir, filepath.FromSlash(d.Prompt))
	if !filepath.IsLocal(filepath.FromSlash(d.Body)) || !s.ofManifest(body) || filepath.Base(body) == ManifestFile {
		out.add(stub.PathEscapes, d.ID, d.Owner, "the body %.120q does not lie below %s/%s: paths are relative to %[2]s/", d.Body, stubsDir, bodiesDir)
		return "", "", false
	}
	if !filepath.IsLocal(filepath.FromSlash(d.Prompt)) {
		out.add(stub.PathEscapes, d.ID, d.Owner, "the prompt %.120q does not lie below %s/", d.Prompt, promptsDir)
		return "", "", false
	}
	for root, file := range map[string]string{filepath.Join(s.Dir, stubsDir): body, filepath.Join(s.Dir, promptsDir): prompt} {
		if leaves(root, file) {
			out.add(stub.PathEscapes, d.ID, d.Owner, "a link leads from %s out of the set's directory", file)
			return body, prompt, false
		}
	}
	return body, prompt, true
}

// recording gives the declaration as it stands in a stub's document.
func (d Declaration) recording(prompt string) map[string]any {
	out := map[string]any{
		"id": d.ID, "model": d.Model, "prompt": prompt, "prompt_sha256": d.PromptSHA256, "body_sha256": d.BodySHA256,
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

// leaves says whether links lead from a file out of its root. One that is not there leads nowhere.
func leaves(root, file string) bool {
	realRoot, err := filepath.EvalSymlinks(root)
	if err != nil {
		return false
	}
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(realRoot, real)
	return err != nil || !filepath.IsLocal(rel)
}

// regular reads a file that no link leads to.
func (s *Set) regular(file string) ([]byte, error) {
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
