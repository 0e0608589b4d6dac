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
	out := &Verified{Problems: []stub.Problem{}}
	for _, stubs := range s.stubs {
		for _, st := range stubs {
			if st.Recording == nil {
				out.Written++
			} else {
				out.Checked++
			}
		}
	}
	list, err := s.manifestStubs()
	if err != nil {
		return nil, err
	}
	out.Checked += list.declared
	out.Problems = append(out.Problems, s.found(list, now)...)
	slices.SortStableFunc(out.Problems, func(a, b stub.Problem) int { return strings.Compare(a.Subject, b.Subject) })
	return out, nil
}

// found gives all that is wrong at an instant: with the files of the manifest, with each recording, and among all stubs.
func (s *Set) found(list *declarations, now time.Time) []stub.Problem {
	out := list.problems
	var all []*stub.Stub
	for _, id := range sortedIDs(s.stubs) {
		all = append(all, s.stubs[id]...)
	}
	for _, st := range append(all, list.stubs...) {
		out = append(out, s.problemsOf(st, now)...)
	}
	return append(out, twice(all, list.stubs)...)
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

// twice finds stub documents whose fixture and call, or whose recording's id, stands elsewhere too: in another document, or in the
// manifest. What stands twice in the manifest has been found there.
func twice(written, declared []*stub.Stub) (out []stub.Problem) {
	ids, calls := map[string]bool{}, map[string]bool{}
	for _, st := range declared {
		ids[st.RecordingID()], calls[st.FixtureID+"\x00"+st.Call] = true, true
	}
	for _, st := range written {
		id, call := st.RecordingID(), st.FixtureID+"\x00"+st.Call
		if named := st.Recording != nil && st.Recording.ID != ""; calls[call] || named && ids[id] {
			p := stub.Problem{Kind: stub.DeclaredTwice, Subject: id, Message: fmt.Sprintf("a stub of the call %q of fixture %q, or of this id, stands in another place too: keep one of them", st.Call, st.FixtureID)}
			if st.Recording != nil {
				p.Owner = st.Recording.Owner
			}
			out = append(out, p)
		} else if named {
			ids[id] = true
		}
		calls[call] = true
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
	for _, problem := range s.found(list, time.Time{}) {
		if !problem.Kind.Dated() {
			p.add(fixture.NewError(fixture.CodeInvalid, "", filepath.Join(s.Dir, stubsDir), errors.New(problem.String())))
		}
	}
	for _, st := range list.stubs {
		s.stubs[st.FixtureID] = append(s.stubs[st.FixtureID], st)
	}
}

// isManifest says whether a file is the manifest, and isBody whether it lies among the bodies: neither is a stub document.
func (s *Set) isManifest(file string) bool {
	return file == filepath.Join(s.Dir, stubsDir, ManifestFile)
}

func (s *Set) isBody(file string) bool {
	bodies := filepath.Join(s.Dir, stubsDir, bodiesDir)
	return file == bodies || strings.HasPrefix(file, bodies+string(filepath.Separator))
}

// declarations are the recordings of a manifest, with what is wrong with their files.
type declarations struct {
	declared int
	stubs    []*stub.Stub // without value or prompt where that could not be read, which is then a problem
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
		ids, calls, bodies := map[string]bool{}, map[string]bool{}, map[string]bool{}
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
			if bodies[d.Body] { // whoever records one of them anew would change the other
				out.add(stub.DeclaredTwice, d.ID, d.Owner, "its body %s/%s is another recording's too: give each its own", stubsDir, d.Body)
			}
			ids[d.ID], calls[call], bodies[d.Body] = true, true, true
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
