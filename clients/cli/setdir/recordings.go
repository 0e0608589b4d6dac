package setdir

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
	problems, err := s.found(list, now)
	if err != nil {
		return nil, err
	}
	out.Problems = append(out.Problems, problems...)
	slices.SortStableFunc(out.Problems, func(a, b stub.Problem) int { return strings.Compare(a.Subject, b.Subject) })
	return out, nil
}

// found gives all that is wrong at an instant: with the files of the manifest, with each recording, and among all stubs.
// The error is for rules of the set's configuration that are none.
func (s *Set) found(list *declarations, now time.Time) ([]stub.Problem, error) {
	rules, err := s.Config.DataRules()
	if err != nil {
		return nil, err
	}
	out := list.problems
	var all []*stub.Stub
	for _, id := range sortedIDs(s.stubs) {
		all = append(all, s.stubs[id]...)
	}
	for _, st := range append(all, list.stubs...) {
		out = append(out, problemsOf(st, rules, now)...)
	}
	return append(out, twice(all, list.stubs)...), nil
}

// problemsOf gives what is wrong with a recording, what it must not have in it included (S12).
func problemsOf(st *stub.Stub, rules customerdata.Rules, now time.Time) []stub.Problem {
	out := st.Problems(now)
	if st.Recording == nil {
		return out
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
	found, err := s.found(list, time.Time{})
	if err != nil {
		p.add(err)
		return
	}
	for _, problem := range found {
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
