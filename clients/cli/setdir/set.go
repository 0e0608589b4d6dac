package setdir

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
	"github.com/retrial-dev/retrial/server"
	"github.com/retrial-dev/retrial/stub"
)

// Names beside retrial.yaml that are part of a set, and those that every project has; .retrial is our own store.
const (
	fixturesDir   = "fixtures"
	stubsDir      = "stubs"
	promptsDir    = "prompts"
	allowlistFile = "allowlist.json"
)

var known = []string{".retrial", ConfigFile, fixturesDir, stubsDir, promptsDir, allowlistFile, quarantineFile, "README.md", "LICENSE", "NOTICE", ".gitignore", ".gitattributes"}

// Set is a fixture set that was read from a directory.
type Set struct {
	Dir    string
	Config Config
	// Beside is what stands beside the fixtures, in domain terms.
	Beside server.Set
	// Checksum is computed from the files.
	Checksum string
	Tally    fixture.Tally
	// Warnings are about the set as a whole; it can be used all the same.
	Warnings []string

	entries []entry // in ascending order of ids
	stubs   map[string][]*stub.Stub
}

// Len gives the number of fixtures.
func (s *Set) Len() int { return len(s.entries) }

// Digest gives the digest of a fixture; ok is false if the set has none of this id.
func (s *Set) Digest(id string) (d fixture.Digest, ok bool) {
	i, ok := slices.BinarySearchFunc(s.entries, id, func(e entry, id string) int { return strings.Compare(e.id, id) })
	if !ok {
		return d, false
	}
	return s.entries[i].digest, true
}

// Load reads and checks a whole directory. Errors are CodeInvalid; up to 20 are reported at once, each with file, line
// and field where there are such.
func Load(dir string) (*Set, error) {
	c, err := ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	return LoadWith(dir, c)
}

// LoadWith is Load with a configuration that was read before.
func LoadWith(dir string, c Config) (*Set, error) {
	s := &Set{Dir: dir, Config: c, stubs: map[string][]*stub.Stub{}}
	if err := s.checkNames(); err != nil {
		return nil, err
	}
	if err := s.readBeside(); err != nil {
		return nil, err
	}
	p := &problems{}
	s.readFixtures(p)
	s.readStubs(p)
	s.readRecordings(p)
	if err := p.err(); err != nil {
		return nil, err
	}
	if len(s.entries) == 0 {
		return nil, fixture.NewError(fixture.CodeInvalid, "read set", dir, fixture.ErrEmptySet)
	}
	s.order(p)
	s.match(p)
	if err := p.err(); err != nil {
		return nil, err
	}
	return s, s.settle()
}

// checkNames names whatever stands in the directory and is no part of a set.
func (s *Set) checkNames() error {
	found, err := os.ReadDir(s.Dir)
	if err != nil {
		return fixture.NewError(fixture.CodeInvalid, "read set", s.Dir, err)
	}
	var errs []error
	for _, f := range found {
		ignored := slices.ContainsFunc(s.Config.Ignore, func(glob string) bool {
			ok, err := filepath.Match(glob, f.Name())
			return ok && err == nil
		})
		if !ignored && !slices.Contains(known, f.Name()) {
			errs = append(errs, fixture.NewError(fixture.CodeInvalid, "", filepath.Join(s.Dir, f.Name()), errors.New("unexpected: it is no part of a fixture set; remove it, or list it under \"ignore\" in retrial.yaml")))
		}
	}
	return errors.Join(errs...)
}

// readBeside reads and checks vocabulary, policy and allowlist.
func (s *Set) readBeside() error {
	c := s.Config
	s.Beside = server.Set{
		Vocabulary:         fixture.Vocabulary{Verdicts: c.Verdicts, Permissive: c.Permissive, ReasonCodes: c.ReasonCodes},
		QueueConfiguration: c.QueueConfiguration, Policy: c.Policy.policy(), Show: c.Show,
	}
	file := filepath.Join(s.Dir, allowlistFile)
	var err error
	if s.Beside.Allowlist, err = readAllowlist(file); err != nil {
		return err
	}
	if err := gate.ValidateAllowlist(s.Beside.Allowlist, s.Beside.Policy); err != nil {
		return fixture.NewError(fixture.CodeInvalid, "", file, err)
	}
	if s.Beside.Freezes, err = ReadQuarantine(s.Dir); err != nil {
		return err
	}
	if err := gate.ValidateFreezes(s.Beside.Freezes, s.Beside.Policy); err != nil {
		return fixture.NewError(fixture.CodeInvalid, "", filepath.Join(s.Dir, quarantineFile), err)
	}
	// The server's own rules: what they refuse there, they refuse here.
	if _, err := server.SetFromProto(s.Beside.ToProto()); err != nil {
		return fixture.NewError(fixture.CodeInvalid, "", filepath.Join(s.Dir, ConfigFile), err)
	}
	return nil
}

// files lists the data files below a folder of the set, in ascending order of their paths.
func (s *Set) files(folder string) ([]string, error) {
	var out []string
	root := filepath.Join(s.Dir, folder)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path == root:
			return nil
		case err != nil:
			return err
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return fixture.NewError(fixture.CodeInvalid, "", path, errors.New("unexpected: it is no regular file"))
		case filepath.Ext(path) != ".json" && filepath.Ext(path) != ".jsonl":
			return fixture.NewError(fixture.CodeInvalid, "", path, errors.New("unexpected: a data file ends in .json (a document, or an array of them) or .jsonl (one a line)"))
		}
		out = append(out, path)
		return nil
	})
	return out, err
}

// order sorts the fixtures and holds the rules on their ids.
func (s *Set) order(p *problems) {
	slices.SortFunc(s.entries, func(a, b entry) int {
		if c := strings.Compare(a.id, b.id); c != 0 {
			return c
		}
		return a.place.compare(b.place)
	})
	var forms fixture.Forms
	for i, e := range s.entries {
		if i > 0 && s.entries[i-1].id == e.id {
			p.add(&fixture.Error{Code: fixture.CodeInvalid, Subject: e.place.String(), Field: "fixture_id", Err: fmt.Errorf("%q is a duplicate: it also stands in %s", e.id, s.entries[i-1].place)})
		} else if err := forms.Add(e.id); err != nil {
			p.add(fixture.NewError(fixture.CodeInvalid, "", e.place.String(), err))
		}
	}
}

// match finds stubs without a fixture.
func (s *Set) match(p *problems) {
	for _, id := range slices.Sorted(maps.Keys(s.stubs)) {
		_, found := slices.BinarySearchFunc(s.entries, id, func(e entry, id string) int { return strings.Compare(e.id, id) })
		if !found {
			p.add(fixture.NewError(fixture.CodeInvalid, "", filepath.Join(s.Dir, stubsDir), fmt.Errorf("the stub %q is for fixture %q, which the set does not have", s.stubs[id][0].Call, id)))
		}
	}
}

// settle computes what the set as a whole says.
func (s *Set) settle() error {
	sum := fixture.NewChecksum(s.Beside.Vocabulary)
	for _, e := range s.entries {
		var digest *fixture.Digest
		if stubs := s.stubs[e.id]; len(stubs) > 0 {
			joined, err := stub.Join(e.id, stubs)
			if err != nil {
				return fixture.NewError(fixture.CodeInvalid, "", filepath.Join(s.Dir, stubsDir), err)
			}
			d := fixture.DigestOf(joined)
			digest = &d
		}
		if err := sum.Add(e.id, e.digest, digest); err != nil {
			return err
		}
	}
	s.Checksum = sum.Sum()
	if verdict, ok := s.Tally.OneVerdict(); ok {
		s.Warnings = append(s.Warnings, fmt.Sprintf("every fixture was %s: a checker that answers %s to everything would pass", verdict, verdict))
	}
	if s.Tally.Hermetic == 0 {
		s.Warnings = append(s.Warnings, "no fixture is hermetic: nothing of this set gates a release")
	}
	for _, code := range s.Config.ReasonCodes {
		if !s.Tally.HasReason(code) {
			s.Warnings = append(s.Warnings, fmt.Sprintf("reason code %q is declared, and no fixture covers it", code))
		}
	}
	return nil
}

// CheckChecksum holds the files against the checksum that retrial.yaml states, if it states one.
func (s *Set) CheckChecksum() error {
	if want := s.Config.Checksum; want != "" && want != s.Checksum {
		return &fixture.Error{Code: fixture.CodeInvalid, Subject: filepath.Join(s.Dir, ConfigFile), Field: "checksum",
			Err: fmt.Errorf("the files have %s, it states %s: a fixture, a stub or the vocabulary was edited; if that is meant, run `retrial fixtures checksum --update %s` and have the change reviewed", s.Checksum, want, s.Dir)}
	}
	return nil
}
