package adopt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retrial-dev/retrial/clients/adopt"
	"github.com/retrial-dev/retrial/clients/cli/setdir"
)

var now = time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// newSet writes a set of the fixtures f-1 to f-9, of which f-4 has a stub of the call "c" that was written by hand.
func newSet(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	fixtures := ""
	for n := range 9 {
		fixtures += fmt.Sprintf(`{"fixture_id":"f-%d","source_row_id":"r","verdict":"a","decided_at":"2025-01-01T00:00:00Z","x":1}`+"\n", n+1)
	}
	write(t, dir, map[string]string{
		"retrial.yaml": "set: s\nschema: 1\nverdicts: [a, b]\npermissive: a\n", "fixtures/f.jsonl": fixtures,
		"stubs/hand.json": `{"fixture_id":"f-4","call":"c","value":1}`,
	})
	return dir
}

func options() adopt.Options {
	return adopt.Options{Owner: "ada", MaxAgeDays: 14, Model: "m", FixtureFrom: regexp.MustCompile(`(f-\d+)`), Call: "c", Now: now}
}

func plan(t *testing.T, dir, source string, o adopt.Options) *adopt.Plan {
	t.Helper()
	found, err := adopt.Read(source, adopt.Auto)
	if err != nil {
		t.Fatal(err)
	}
	p, err := adopt.NewPlan(dir, found, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ids(p *adopt.Plan) []string {
	out := []string{}
	for _, a := range p.Adopted {
		out = append(out, fmt.Sprintf("%s %s %s", a.ID, a.FixtureID, a.Call))
	}
	return out
}

// all gives the content of every file below a directory.
func all(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// S15: what is adopted is a set that reads, verifies with exactly the problems that were foretold, and is the same when it is adopted
// again. The source is as it was.
func TestS15Adopt(t *testing.T) {
	dir, o := newSet(t), options()
	before, source := all(t, dir), all(t, "testdata/ruby")
	p := plan(t, dir, "testdata/ruby", o)
	if diff := cmp.Diff([]string{"judge/f-2.1 f-2 c"}, ids(p)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{`judge/f-2.yml #2: the call "c" of fixture "f-2" has the recording judge/f-2.1`, "serialized.json #1: no fixture: neither the map nor a rule says whose it is"}, skips(p.Skipped)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, all(t, dir)); diff != "" {
		t.Error("a plan alone writes: ", diff)
	}
	o.Call, o.Map = "c{n}", map[string]adopt.Target{"serialized.1": {FixtureID: "f-9", Call: "other"}, "nobody": {FixtureID: "f-1", Call: "c"}}
	p = plan(t, dir, "testdata/ruby", o)
	if diff := cmp.Diff([]string{"judge/f-2.1 f-2 c1", "judge/f-2.2 f-2 c2", "serialized.1 f-9 other"}, ids(p)); diff != "" {
		t.Error(diff)
	}
	if !slices.Contains(p.Warnings, `the map has "nobody", and the source has no such recording`) {
		t.Errorf("got the warnings %q", p.Warnings)
	}
	if err := p.Write(); err != nil {
		t.Fatal(err)
	}
	if set, err := setdir.Load(dir); err != nil || set.Len() != 9 {
		t.Fatal(err)
	}
	found, err := setdir.VerifyRecordings(dir, now)
	if err != nil || found.Checked != 3 || len(found.Problems) != p.Failing() || p.Failing() != 3 {
		t.Errorf("%d were to fail: %+v, %v", p.Failing(), found, err)
	}
	after := all(t, dir)
	if got := after["stubs/bodies/judge/f-2.1.json"]; got != "\"stale\"\n" {
		t.Errorf("the body is %q", got)
	}
	p = plan(t, dir, "testdata/ruby", o)
	if err := p.Write(); err != nil || len(p.Adopted) != 0 || len(p.Already) != 3 {
		t.Errorf("once more: %+v, %v", p, err)
	}
	if diff := cmp.Diff(after, all(t, dir)); diff != "" {
		t.Error("once more writes: ", diff)
	}
	if diff := cmp.Diff(source, all(t, "testdata/ruby")); diff != "" {
		t.Error("the source has changed: ", diff)
	}
}

// A recording that was edited, or recorded anew, since it was adopted stays as it is, and is named. So does a file that nobody declared.
func TestAdoptReplacesNothing(t *testing.T) {
	for _, tt := range []struct {
		name          string
		files         map[string]string
		manifest      [2]string
		kept, skipped string
	}{
		{name: "a body that was edited", files: map[string]string{"stubs/bodies/f-1.1.json": `"other"`}, kept: "its files were edited"},
		{name: "a body that is no JSON any more", files: map[string]string{"stubs/bodies/f-1.1.json": `"`}, kept: "its files were edited"},
		{name: "a prompt that was edited", files: map[string]string{"prompts/f-1.1.json": "{}"}, kept: "its files were edited"},
		{name: "recorded anew", manifest: [2]string{`"body_sha256": "`, `"body_sha256": "` + strings.Repeat("0", 64) + `", "x": "`}, kept: "recorded anew"},
		{name: "under another id", manifest: [2]string{`"id": "f-1.1"`, `"id": "mine"`}, skipped: `the call "c" of fixture "f-1" has the recording mine`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := newSet(t)
			if err := plan(t, dir, "testdata/go-vcr-1", options()).Write(); err != nil {
				t.Fatal(err)
			}
			write(t, dir, tt.files)
			if tt.manifest[0] != "" {
				text := all(t, dir)["stubs/manifest.json"]
				changed := regexp.MustCompile(`, "x": "[0-9a-f]+"`).ReplaceAllString(strings.Replace(text, tt.manifest[0], tt.manifest[1], 1), "")
				if changed == text {
					t.Fatal("the manifest is as it was")
				}
				write(t, dir, map[string]string{"stubs/manifest.json": changed})
			}
			before := all(t, dir)
			p := plan(t, dir, "testdata/go-vcr-1", options())
			if err := p.Write(); err != nil || len(p.Adopted)+len(p.Already) != 0 {
				t.Errorf("it takes %v, %v", ids(p), err)
			}
			if tt.kept != "" && (len(p.Kept) != 1 || !strings.Contains(p.Kept[0].Why, tt.kept)) {
				t.Errorf("kept %v, want %q", p.Kept, tt.kept)
			}
			if tt.skipped != "" && (len(p.Skipped) != 1 || !strings.Contains(p.Skipped[0].Why, tt.skipped)) {
				t.Errorf("skipped %v, want %q", p.Skipped, tt.skipped)
			}
			if diff := cmp.Diff(before, all(t, dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is in the way, or belongs to nobody, is skipped with its reason, and the rest is adopted.
func TestAdoptSkips(t *testing.T) {
	for _, tt := range []struct {
		name   string
		source map[string]string
		files  map[string]string
		change func(*adopt.Options)
		want   string
	}{
		{name: "no such fixture", source: map[string]string{"f-10.json": "1", "f-10.md": "?"}, want: `no fixture: the set has no "f-10"`},
		{name: "a stub by hand", source: map[string]string{"f-4.json": "1", "f-4.md": "?"}, want: "has a stub document: take that away first"},
		{name: "no call", source: map[string]string{"f-1.json": "1", "f-1.md": "?"}, change: func(o *adopt.Options) { o.Call = "" }, want: "no call: neither"},
		{name: "no model", source: map[string]string{"f-1.json": "1", "f-1.md": "?"}, change: func(o *adopt.Options) { o.Model = "" }, want: "no model: its source names none"},
		{name: "an age of centuries", source: map[string]string{"f-1.json": "1", "f-1.md": "?"}, change: func(o *adopt.Options) { o.MaxAgeDays = 36_501 }, want: "36501 is not between"},
		{name: "an orphan in the way", source: map[string]string{"f-1.json": "1", "f-1.md": "?"}, files: map[string]string{"prompts/f-1.md": "!"}, want: "there is a file prompts/f-1.md, which no recording declares"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, source, o := newSet(t), t.TempDir(), options()
			write(t, dir, tt.files)
			write(t, source, tt.source)
			write(t, source, map[string]string{"also-f-9.json": `{"prompt":"?","answer":1,"model":"m"}`})
			o.Map = map[string]adopt.Target{"also-f-9": {FixtureID: "f-9", Call: "c"}}
			if tt.change != nil {
				tt.change(&o)
			}
			p := plan(t, dir, source, o)
			if !slices.ContainsFunc(p.Skipped, func(s adopt.Skip) bool { return strings.Contains(s.Why, tt.want) }) {
				t.Errorf("skipped %v, want %q", p.Skipped, tt.want)
			}
			if got := ids(p); tt.name != "an age of centuries" && !slices.Equal(got, []string{"also-f-9 f-9 c"}) {
				t.Errorf("it takes %v", got)
			}
			if err := p.Write(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// What a cut run left is taken up by the next, and an error leaves nothing behind.
func TestAdoptIsWhole(t *testing.T) {
	dir := newSet(t)
	p := plan(t, dir, "testdata/ruby", options())
	write(t, dir, map[string]string{"stubs/manifest.json/in-the-way": ""}) // the manifest cannot be written: a folder has its name
	before := all(t, dir)
	if err := p.Write(); err == nil {
		t.Fatal("the manifest was written over a folder")
	}
	if diff := cmp.Diff(before, all(t, dir)); diff != "" {
		t.Error("an error leaves files behind: ", diff)
	}
	if err := os.RemoveAll(filepath.Join(dir, "stubs", "manifest.json")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{"stubs/bodies/judge/f-2.1.json": "\"stale\"\n"}) // as if the run had ended here
	p = plan(t, dir, "testdata/ruby", options())
	if err := p.Write(); err != nil || len(p.Adopted) != 1 {
		t.Errorf("it takes %v, %v", ids(p), err)
	}
	if _, err := setdir.Load(dir); err != nil {
		t.Error(err)
	}
}

// A link in the set leads what is written nowhere.
func TestAdoptFollowsNoLink(t *testing.T) {
	dir, outside := newSet(t), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "prompts")); err != nil {
		t.Skip(err)
	}
	p := plan(t, dir, "testdata/go-vcr-1", options())
	if err := p.Write(); err != nil || len(p.Adopted) != 0 || len(p.Skipped) != 1 || p.Skipped[0].Why != "prompts is a link" {
		t.Errorf("it takes %v, skips %v, %v", ids(p), p.Skipped, err)
	}
}

// S12: what looks like customer data is refused with its field and without what stands there; whatever is beside it is adopted.
func TestS12Refused(t *testing.T) {
	dir, source := newSet(t), t.TempDir()
	write(t, source, map[string]string{
		"f-1.json": `{"messages":[{"content":"hello"},{"content":"I am ada.lovelace@mail.gmx.de"}],"answer":"yes","model":"m"}`,
		"f-2.json": `{"prompt":"?","answer":{"pay":[{"card":"4111 1111 1111 1111"}]},"model":"m"}`,
		"f-3.json": `{"prompt":"a\nto DE89 3704 0044 0532 0130 00","answer":1,"model":"m"}`,
		"f-5.json": `{"prompt":"?","answer":1,"model":"m"}`,
	})
	p := plan(t, dir, source, options())
	want := []string{
		"f-1.json: prompt: messages[1].content looks like an e-mail address",
		"f-2.json: response: pay[0].card looks like the number of a payment card",
		"f-3.json: prompt: line 2 looks like the number of a bank account",
	}
	if diff := cmp.Diff(want, skips(p.Refused)); diff != "" {
		t.Error(diff)
	}
	if got := ids(p); !slices.Equal(got, []string{"f-5 f-5 c"}) {
		t.Errorf("it takes %v", got)
	}
	for _, data := range []string{"lovelace", "4111", "3704"} {
		if strings.Contains(fmt.Sprint(p.Refused, p.Warnings, p.Skipped), data) {
			t.Errorf("a message repeats %s", data)
		}
	}
}

// S12: a rule of the set scrubs what would be refused, and a kind that the set allows stays.
func TestS12RulesOfTheSet(t *testing.T) {
	dir, source := newSet(t), t.TempDir()
	write(t, dir, map[string]string{"retrial.yaml": "set: s\nschema: 1\nverdicts: [a, b]\npermissive: a\nallow_data: [email]\nscrub:\n  - {pattern: '4111 1111 1111 1111', replace: CARD}\n"})
	write(t, source, map[string]string{"f-1.json": `{"prompt":"from ada.lovelace@mail.gmx.de","answer":{"card":"4111 1111 1111 1111"},"model":"m"}`})
	p := plan(t, dir, source, options())
	if err := p.Write(); err != nil || len(p.Refused) != 0 || len(p.Adopted) != 1 {
		t.Fatalf("refused %v, adopted %v, %v", p.Refused, ids(p), err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "stubs", "bodies", "f-1.json")); err != nil || string(b) != "{\n  \"card\": \"CARD\"\n}\n" {
		t.Errorf("%s, %v", b, err)
	}
}

// S12: a value is looked at as verify does, behind a line feed as well.
func TestS12RefusesWhatVerifyFinds(t *testing.T) {
	dir, source := newSet(t), t.TempDir()
	write(t, source, map[string]string{"f-1.json": `{"prompt":"?","answer":"paid with\n4111 1111 1111 1111","model":"m"}`})
	p := plan(t, dir, source, options())
	if diff := cmp.Diff([]string{"f-1.json: response: the value looks like the number of a payment card"}, skips(p.Refused)); diff != "" || len(p.Adopted) != 0 {
		t.Errorf("adopted %v: %s", ids(p), diff)
	}
}

// What a rule of the set has scrubbed is the same as its source when it is adopted again.
func TestScrubbedIsThereAlready(t *testing.T) {
	dir, source := newSet(t), t.TempDir()
	write(t, dir, map[string]string{"retrial.yaml": "set: s\nschema: 1\nverdicts: [a, b]\npermissive: a\nscrub:\n  - {pattern: '4111 1111 1111 1111', replace: CARD}\n"})
	write(t, source, map[string]string{"f-1.json": `{"prompt":"?","answer":"4111 1111 1111 1111","model":"m"}`})
	if err := plan(t, dir, source, options()).Write(); err != nil {
		t.Fatal(err)
	}
	if p := plan(t, dir, source, options()); len(p.Already) != 1 || len(p.Kept) != 0 {
		t.Errorf("already %v, kept %v", p.Already, p.Kept)
	}
}

// Whose a recording is: by the map before all, by a variable beside the answer, by groups of the file's name.
func TestTargets(t *testing.T) {
	o := options()
	o.FixtureFrom, o.Call, o.FixtureVar = nil, "judge", "case"
	o.Map = map[string]adopt.Target{"results.2": {FixtureID: "f-7", Call: "x"}}
	if got := ids(plan(t, newSet(t), "testdata/promptfoo", o)); !slices.Equal(got, []string{"results.1 f-1 judge", "results.2 f-7 x"}) {
		t.Errorf("it takes %v", got)
	}
	o = options()
	o.FixtureFrom = regexp.MustCompile(`^(?P<call>\w+)/(?P<fixture>f-\d)`)
	if got := ids(plan(t, newSet(t), "testdata/ruby", o)); !slices.Equal(got, []string{"judge/f-2.1 f-2 judge"}) {
		t.Errorf("it takes %v", got)
	}
}

// A fresh checkout makes old answers look new: where an age is that of a file, it is said.
func TestFileTimesAreSaid(t *testing.T) {
	source := t.TempDir()
	write(t, source, map[string]string{"f-1.json": "1", "f-1.md": "?"})
	old := now.Add(-15 * 24 * time.Hour)
	if err := os.Chtimes(filepath.Join(source, "f-1.json"), old, old); err != nil {
		t.Fatal(err)
	}
	p := plan(t, newSet(t), source, options())
	if len(p.Warnings) != 1 || !strings.HasPrefix(p.Warnings[0], "1 recordings have no instant in their source") || p.Failing() != 1 {
		t.Errorf("got %q, and %d fail", p.Warnings, p.Failing())
	}
}

func TestReadMap(t *testing.T) {
	if m, err := adopt.ReadMap([]byte(`{"a":{"fixture_id":"f","call":"c"}}`)); err != nil || m["a"] != (adopt.Target{FixtureID: "f", Call: "c"}) {
		t.Errorf("got %v, %v", m, err)
	}
	for src, want := range map[string]string{`[]`: "expected an object", `{"a":{"fixture_id":"f"}}`: "it needs fixture_id and call", `{"a":{"fixture_id":"f","call":"c","Call":"d"}}`: `unknown member "Call"`, `{"a":1}`: "expected an object", `{`: "byte"} {
		if _, err := adopt.ReadMap([]byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", src, err, want)
		}
	}
}
