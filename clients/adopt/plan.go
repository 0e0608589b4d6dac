package adopt

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/retrial-dev/retrial/clients/cli/setdir"
	"github.com/retrial-dev/retrial/clients/customerdata"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

// Target says which call of which fixture a recording stands in for.
type Target struct {
	FixtureID string `json:"fixture_id"`
	Call      string `json:"call"`
}

// Options say what a source does not.
type Options struct {
	// Owner answers for the recordings; MaxAgeDays is how old each may grow, from 1, or 0 for ever.
	Owner      string
	MaxAgeDays int
	// Model is that of recordings whose source names none.
	Model string
	// Map has targets by the ids of recordings. For the others FixtureVar names the member beside the answer that has the fixture's id;
	// and FixtureFrom finds it in the name of the file: by its group "fixture", or else its first. Call is the call's name, in which
	// "{n}" is the position in the file; a group "call" goes before it.
	Map         map[string]Target
	FixtureVar  string
	FixtureFrom *regexp.Regexp
	Call        string
	// Now is the instant at which it is said what would fail.
	Now time.Time
}

// Plan is what would be written, and what would not.
type Plan struct {
	// Adopted are new; each has its problems at the instant of the options, by the rules of a stub.
	Adopted []Adopted `json:"adopted"`
	// Already are the ids of those that are in the set as the source has them.
	Already []string `json:"already"`
	// Kept are in the set, and another there than in the source: they were edited or recorded anew.
	Kept []Skip `json:"kept"`
	// Refused look like customer data (S12). Skipped are all others that are not taken.
	Refused  []Skip   `json:"refused"`
	Skipped  []Skip   `json:"skipped"`
	Warnings []string `json:"warnings"`

	dir      string
	manifest *setdir.Manifest
	held     *setdir.Held
	rules    customerdata.Rules
	o        Options
}

// Adopted is one new recording.
type Adopted struct {
	ID        string         `json:"id"`
	FixtureID string         `json:"fixture_id"`
	Call      string         `json:"call"`
	Problems  []stub.Problem `json:"problems,omitempty"`

	declaration setdir.Declaration
	value       []byte
	prompt      string
}

// Failing counts the adopted that would fail at the instant of the plan.
func (p *Plan) Failing() (n int) {
	for _, a := range p.Adopted {
		if len(a.Problems) > 0 {
			n++
		}
	}
	return n
}

// ChangesChecksum says whether the set states a checksum that the plan makes another.
func (p *Plan) ChangesChecksum() bool { return p.held.Config.Checksum != "" && len(p.Adopted) > 0 }

// NewPlan says what of a source is new to the set in a directory. It writes nothing. The error is for a set that cannot be read.
func NewPlan(dir string, found *Found, o Options) (*Plan, error) {
	held, err := setdir.ReadHeld(dir)
	if err != nil {
		return nil, err
	}
	rules, err := held.Config.DataRules()
	if err != nil {
		return nil, err
	}
	m, err := setdir.ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	p := &Plan{dir: dir, manifest: cmp.Or(m, &setdir.Manifest{Schema: fixture.SchemaVersion}), held: held, rules: rules, o: o,
		Adopted: []Adopted{}, Already: []string{}, Kept: []Skip{}, Refused: []Skip{}, Skipped: append([]Skip{}, found.Skipped...), Warnings: append([]string{}, found.Warnings...)}
	byID, calls := map[string]setdir.Declaration{}, map[setdir.Call]string{}
	for _, d := range p.manifest.Recordings {
		byID[strings.ToLower(d.ID)] = d
		calls[setdir.Call{FixtureID: d.FixtureID, Name: d.Call}] = d.ID
	}
	fileTimes := 0
	for _, pair := range found.Pairs {
		scrubbed, err := p.rules.Scrubbed(pair.Value)
		if err != nil {
			p.Skipped = append(p.Skipped, Skip{pair.Where(), pair.ID, fmt.Sprintf("the response is no JSON behind the scrub rules: %v", err)})
			continue
		}
		pair.Value = scrubbed
		if d, there := byID[strings.ToLower(pair.ID)]; there {
			p.compare(pair, d)
			continue
		}
		if a, ok := p.take(pair, calls); ok {
			p.Adopted = append(p.Adopted, a)
			calls[setdir.Call{FixtureID: a.FixtureID, Name: a.Call}] = a.ID
			if pair.FileTime {
				fileTimes++
			}
		}
	}
	if fileTimes > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%d recordings have no instant in their source, and got that at which its file was last written: a fresh checkout makes old answers look new", fileTimes))
	}
	p.unmapped(found)
	return p, nil
}

// unmapped warns of a map that speaks of what is not there: it is a misspelling, or an id of another source.
func (p *Plan) unmapped(found *Found) {
	ids := map[string]bool{}
	for _, pair := range found.Pairs {
		ids[pair.ID] = true
	}
	for _, id := range sortedKeys(p.o.Map) {
		if !ids[id] {
			p.Warnings = append(p.Warnings, fmt.Sprintf("the map has %q, and the source has no such recording", id))
		}
	}
}

// take makes a recording of a pair, whose value is scrubbed, or says why not.
func (p *Plan) take(pair Pair, calls map[setdir.Call]string) (Adopted, bool) {
	skip := func(format string, args ...any) (Adopted, bool) {
		p.Skipped = append(p.Skipped, Skip{pair.Where(), pair.ID, fmt.Sprintf(format, args...)})
		return Adopted{}, false
	}
	if why := p.customer(pair); why != "" {
		p.Refused = append(p.Refused, Skip{pair.Where(), pair.ID, why})
		return Adopted{}, false
	}
	target := p.target(pair)
	call := setdir.Call{FixtureID: target.FixtureID, Name: target.Call}
	other, declared := calls[call]
	switch {
	case target.FixtureID == "":
		return skip("no fixture: neither the map nor a rule says whose it is")
	case !p.held.Fixtures[target.FixtureID]:
		return skip("no fixture: the set has no %q", target.FixtureID)
	case target.Call == "":
		return skip("no call: neither the map nor a rule names it")
	case declared:
		return skip("the call %q of fixture %q has the recording %s", target.Call, target.FixtureID, other)
	case p.held.Calls[call]:
		return skip("the call %q of fixture %q has a stub document: take that away first", target.Call, target.FixtureID)
	}
	a := Adopted{ID: pair.ID, FixtureID: target.FixtureID, Call: target.Call, value: pair.Value, prompt: pair.Prompt}
	a.declaration = setdir.Declaration{
		ID: pair.ID, FixtureID: target.FixtureID, Call: target.Call, Body: "bodies/" + pair.ID + ".json", Prompt: pair.ID + pair.Extension,
		BodySHA256: fixture.DigestOf(pair.Value).String(), PromptSHA256: fixture.DigestOf([]byte(pair.Prompt)).String(), Model: cmp.Or(pair.Model, p.o.Model),
		RecordedAt: pair.RecordedAt.UTC().Format(time.RFC3339Nano), MaxAgeDays: &p.o.MaxAgeDays, Owner: p.o.Owner,
	}
	if a.declaration.Model == "" {
		return skip("no model: its source names none, so say which")
	}
	st, err := a.declaration.Stub(pair.Value, pair.Prompt)
	if err != nil {
		return skip("%v", err)
	}
	if why := p.inTheWay(a); why != "" {
		return skip("%s", why)
	}
	a.Problems = st.Problems(p.o.Now)
	return a, true
}

// target finds out whose recording it is.
func (p *Plan) target(pair Pair) Target {
	if t, ok := p.o.Map[pair.ID]; ok {
		return t
	}
	t := Target{Call: strings.ReplaceAll(p.o.Call, "{n}", strconv.Itoa(max(1, pair.Position)))}
	if p.o.FixtureVar != "" {
		t.FixtureID = pair.Vars[p.o.FixtureVar]
	}
	if re := p.o.FixtureFrom; re != nil && t.FixtureID == "" {
		if m := re.FindStringSubmatch(pair.File); m != nil {
			t.FixtureID = m[max(1, re.SubexpIndex("fixture"))]
			if i := re.SubexpIndex("call"); i > 0 && m[i] != "" {
				t.Call = m[i]
			}
		}
	}
	return t
}

// customer names the fields that look like customer data (S12) and that no rule of the set scrubs or allows, and not what stands there.
func (p *Plan) customer(pair Pair) string {
	var out []string
	for _, part := range []struct {
		name  string
		found []customerdata.Finding
	}{{"prompt", customerdata.In([]byte(pair.Prompt))}, {"response", customerdata.InJSON(pair.Value)}} {
		for _, f := range p.rules.Disallowed(part.found) {
			out = append(out, part.name+": "+f.String())
		}
	}
	return strings.Join(out, "; ")
}

// compare says whether the set has a recording as the source does.
func (p *Plan) compare(pair Pair, d setdir.Declaration) {
	body, prompt := d.Paths()
	onDisk, err := os.ReadFile(filepath.Join(p.dir, filepath.FromSlash(body)))
	if err == nil {
		onDisk, err = fixture.Canonicalize(nil, onDisk)
	}
	asked, promptErr := os.ReadFile(filepath.Join(p.dir, filepath.FromSlash(prompt)))
	switch {
	case d.BodySHA256 != fixture.DigestOf(pair.Value).String() || d.PromptSHA256 != fixture.DigestOf([]byte(pair.Prompt)).String():
		p.Kept = append(p.Kept, Skip{pair.Where(), d.ID, "it was recorded anew since, or the source has changed: it stays as it is"})
	case err != nil || promptErr != nil || !bytes.Equal(onDisk, pair.Value) || string(asked) != pair.Prompt:
		p.Kept = append(p.Kept, Skip{pair.Where(), d.ID, "its files were edited since: they stay as they are"})
	default:
		p.Already = append(p.Already, d.ID)
	}
}

// inTheWay says what keeps the files of a recording from being written. One that has the same in it does not: it is left of a run that
// was cut.
func (p *Plan) inTheWay(a Adopted) string {
	for path, want := range a.files() {
		if link := setdir.Linked(p.dir, path); link != "" {
			return fmt.Sprintf("%s is a link", link)
		}
		got, err := os.ReadFile(filepath.Join(p.dir, filepath.FromSlash(path)))
		if !errors.Is(err, fs.ErrNotExist) && (err != nil || !bytes.Equal(got, want)) {
			return fmt.Sprintf("there is a file %s, which no recording declares", path)
		}
	}
	return ""
}
