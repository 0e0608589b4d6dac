package setdir_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retrial-dev/retrial/clients/cli/setdir"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

// now is the instant at which the tests look, and recordedAt when the recordings of recordedSet were made, a day before.
var (
	now        = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	recordedAt = now.Add(-24 * time.Hour)
)

// declaration declares the recording of a call of fixture f-1, over the files that recordedSet writes for this id.
func declaration(id string) map[string]any {
	return map[string]any{
		"id": id, "fixture_id": "f-1", "call": id, "body": "bodies/" + id + ".json", "prompt": id + ".md", "body_sha256": sum(`"yes"`),
		"prompt_sha256": sum("Is it?\n"), "model": "m-1", "recorded_at": recordedAt.Format(time.RFC3339Nano), "max_age_days": 14, "owner": "ada",
	}
}

func sum(text string) string {
	return strings.TrimPrefix(fixture.DigestOf([]byte(text)).String(), "sha256:")
}

// recordedSet writes a set of one fixture with the recordings "a" and "b", and nothing wrong with it.
func recordedSet(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"retrial.yaml":        "set: s\nschema: 1\nverdicts: [keep, drop]\npermissive: keep\n",
		"fixtures/f.json":     `{"fixture_id":"f-1","source_row_id":"r-1","verdict":"keep","decided_at":"2026-01-01T00:00:00Z","x":1}`,
		"stubs/bodies/a.json": "\"yes\"\n", "stubs/bodies/b.json": "\"yes\"\n", "prompts/a.md": "Is it?\n", "prompts/b.md": "Is it?\n",
		"stubs/manifest.json": manifest(t, declaration("a"), declaration("b")),
	})
	return dir
}

func manifest(t *testing.T, recordings ...map[string]any) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{"schema": 1, "recordings": recordings})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

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

// with gives a declaration with other members; nil takes one away.
func with(d map[string]any, members map[string]any) map[string]any {
	for k, v := range members {
		if d[k] = v; v == nil {
			delete(d, k)
		}
	}
	return d
}

// broken is one way for a recording to go wrong, as a change of recordedSet.
type broken struct {
	name   string
	a      map[string]any    // members of a's declaration
	also   []map[string]any  // more declarations
	files  map[string]string // that are written
	remove string            // a file that goes
	links  map[string]string // of a name to a target, in place of what is there
	want   []string          // "KIND subject"
	says   string            // stands in the first message
}

// inline is a stub document with a recording.
func inline(call, id string) string {
	return fmt.Sprintf(`{"fixture_id":"f-1","call":%q,"value":1,"recording":{"id":%q,"model":"m-1","prompt_sha256":%q,"recorded_at":%q,"max_age_days":14,"owner":"bob"}}`+"\n",
		call, id, sum("x"), recordedAt.Format(time.RFC3339))
}

// breaks are the problems of S2, and the forms that each can have.
func breaks(outside string) []broken {
	instant := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339Nano) }
	return []broken{
		{name: "nothing"},
		{name: "a body is missing", remove: "stubs/bodies/a.json", want: []string{"BODY_MISSING a"}, says: "no file stubs/bodies/a.json"},
		{name: "a prompt is missing", remove: "prompts/a.md", want: []string{"PROMPT_MISSING a"}, says: "no file prompts/a.md"},
		{name: "a prompt has changed", files: map[string]string{"prompts/a.md": "Is it not?\n"}, want: []string{"PROMPT_CHANGED a"}, says: "on purpose"},
		{name: "a prompt lost its last line feed", files: map[string]string{"prompts/a.md": "Is it?"}, want: []string{"PROMPT_CHANGED a"}},
		{name: "a body was edited", files: map[string]string{"stubs/bodies/a.json": `"no"`}, want: []string{"BODY_CHANGED a"}, says: "what m-1 gave"},
		{name: "a body was edited, and is no JSON", files: map[string]string{"stubs/bodies/a.json": `"yes`}, want: []string{"BODY_CHANGED a"}, says: "is no JSON"},
		{name: "a body is empty", files: map[string]string{"stubs/bodies/a.json": ""}, want: []string{"BODY_CHANGED a"}},
		{name: "a body in another form is the same", files: map[string]string{"stubs/bodies/a.json": "  \"\\u0079es\"  "}},
		{name: "over age", a: map[string]any{"recorded_at": instant(-14*24*time.Hour - 23*time.Hour)}, want: []string{"OVER_AGE a"}, says: "raise max_age_days and say why"},
		{name: "from the future", a: map[string]any{"recorded_at": instant(time.Nanosecond)}, want: []string{"FROM_THE_FUTURE a"}, says: "one of the clocks"},
		{name: "verified in the future", a: map[string]any{"verified_at": instant(time.Second)}, want: []string{"FROM_THE_FUTURE a"}},
		{name: "made at this instant", a: map[string]any{"recorded_at": instant(0)}},
		{name: "customer data in a body", a: map[string]any{"body_sha256": sum(`"ask bob@acme-corp.com"`)}, files: map[string]string{"stubs/bodies/a.json": `"ask bob@acme-corp.com"`},
			want: []string{"CUSTOMER_DATA a"}, says: "value"},
		{name: "customer data in a prompt", a: map[string]any{"prompt_sha256": sum("ask bob@acme-corp.com")}, files: map[string]string{"prompts/a.md": "ask bob@acme-corp.com"},
			want: []string{"CUSTOMER_DATA a"}, says: "prompt"},
		{name: "an orphan among the bodies", files: map[string]string{"stubs/bodies/deep/c.json": `1`}, want: []string{"ORPHAN stubs/bodies/deep/c.json"}, says: "no recording declares"},
		{name: "an orphan of another kind", files: map[string]string{"stubs/bodies/c.txt": ``}, want: []string{"ORPHAN stubs/bodies/c.txt"}},
		{name: "an orphan among the prompts", files: map[string]string{"prompts/c.md": ``}, want: []string{"ORPHAN prompts/c.md"}},
		{name: "declared twice by its id", also: []map[string]any{with(declaration("b"), map[string]any{"id": "a", "call": "c", "body": "bodies/c.json"})},
			files: map[string]string{"stubs/bodies/c.json": `"yes"`}, want: []string{"DECLARED_TWICE a"}},
		{name: "declared twice by its fixture and call", also: []map[string]any{with(declaration("b"), map[string]any{"id": "c", "call": "a", "body": "bodies/c.json"})},
			files: map[string]string{"stubs/bodies/c.json": `"yes"`}, want: []string{"DECLARED_TWICE c"}},
		{name: "two of one body", also: []map[string]any{with(declaration("b"), map[string]any{"id": "c", "call": "c"})}, want: []string{"DECLARED_TWICE c"}, says: "another recording's too"},
		{name: "two of one prompt are fine", also: []map[string]any{with(declaration("a"), map[string]any{"id": "c", "call": "c", "body": "bodies/c.json"})}, files: map[string]string{"stubs/bodies/c.json": `"yes"`}},
		{name: "a stub document for a call of the manifest", files: map[string]string{"stubs/s.jsonl": inline("a", "c")}, want: []string{"DECLARED_TWICE c"}, says: `call "a" of fixture "f-1"`},
		{name: "a stub written by hand for a call of the manifest", files: map[string]string{"stubs/s.jsonl": `{"fixture_id":"f-1","call":"a","value":1}`}, want: []string{"DECLARED_TWICE f-1.a"}},
		{name: "a stub document with an id of the manifest", files: map[string]string{"stubs/s.jsonl": inline("c", "a")}, want: []string{"DECLARED_TWICE a"}},
		{name: "two stub documents with one id", files: map[string]string{"stubs/s.jsonl": inline("c", "c") + inline("d", "c")}, want: []string{"DECLARED_TWICE c"}},
		{name: "two stub documents for one call", files: map[string]string{"stubs/s.jsonl": inline("c", "c") + inline("c", "d")}, want: []string{"DECLARED_TWICE d"}},
		{name: "a body up and away", a: map[string]any{"body": "bodies/../../../a.json"}, want: []string{"PATH_ESCAPES a", "ORPHAN stubs/bodies/a.json"}},
		{name: "a body up and back", a: map[string]any{"body": "bodies/../bodies/a.json"}, want: []string{"PATH_ESCAPES a", "ORPHAN stubs/bodies/a.json"}},
		{name: "a body elsewhere among the stubs", a: map[string]any{"body": "manifest.json"}, want: []string{"PATH_ESCAPES a", "ORPHAN stubs/bodies/a.json"}},
		{name: "an absolute body", a: map[string]any{"body": filepath.ToSlash(outside) + "/a.json"}, want: []string{"PATH_ESCAPES a", "ORPHAN stubs/bodies/a.json"}},
		{name: "a body by Windows' separators", a: map[string]any{"body": `bodies/..\..\a.json`}, want: []string{"PATH_ESCAPES a", "ORPHAN stubs/bodies/a.json"}},
		{name: "a prompt up and away", a: map[string]any{"prompt": "../a.md"}, want: []string{"PATH_ESCAPES a", "ORPHAN prompts/a.md"}, says: "does not lie below prompts/"},
		{name: "a prompt on another drive", a: map[string]any{"prompt": `C:a.md`}, want: []string{"PATH_ESCAPES a", "ORPHAN prompts/a.md"}},
		{name: "a body that is a link out", links: map[string]string{"stubs/bodies/a.json": outside + "/a.json"}, want: []string{"PATH_ESCAPES a"}, says: "stubs/bodies/a.json is a link"},
		{name: "a body that is a link to nothing", links: map[string]string{"stubs/bodies/a.json": outside + "/nothing"}, want: []string{"PATH_ESCAPES a"}},
		{name: "a prompt that is a link within", links: map[string]string{"prompts/a.md": "b.md"}, want: []string{"PATH_ESCAPES a"}},
		{name: "a folder that is a link out", a: map[string]any{"prompt": "deep/a.md"}, links: map[string]string{"prompts/deep": outside}, want: []string{"PATH_ESCAPES a", "ORPHAN prompts/a.md", "ORPHAN prompts/deep"}, says: "prompts/deep is a link"},
		{name: "prompts that are a link out", links: map[string]string{"prompts": outside}, want: []string{"PATH_ESCAPES a", "PATH_ESCAPES b", "ORPHAN prompts"}},
		{name: "all of one", a: map[string]any{"recorded_at": instant(-30 * 24 * time.Hour), "verified_at": instant(time.Hour), "max_age_days": 0}, remove: "stubs/bodies/a.json",
			files: map[string]string{"prompts/a.md": "x"}, want: []string{"BODY_MISSING a", "PROMPT_CHANGED a", "FROM_THE_FUTURE a"}},
		{name: "over age without a prompt, and edited", a: map[string]any{"recorded_at": instant(-30 * 24 * time.Hour)}, remove: "prompts/a.md",
			files: map[string]string{"stubs/bodies/a.json": "2"}, want: []string{"PROMPT_MISSING a", "BODY_CHANGED a", "OVER_AGE a"}},
	}
}

// set makes the directory.
func (b broken) set(t *testing.T, outside string) string {
	t.Helper()
	dir := recordedSet(t)
	write(t, outside, map[string]string{"a.json": `"yes"`, "a.md": "Is it?\n", "b.md": "Is it?\n"})
	write(t, dir, map[string]string{"stubs/manifest.json": manifest(t, append([]map[string]any{with(declaration("a"), b.a), declaration("b")}, b.also...)...)})
	write(t, dir, b.files)
	if b.remove != "" {
		if err := os.Remove(filepath.Join(dir, b.remove)); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range b.links {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	return dir
}

// S2: each problem is found and named, alone and with others, and what is none is not.
func TestS2Problems(t *testing.T) {
	outside := t.TempDir()
	seen := map[stub.Kind]bool{}
	for _, tt := range breaks(outside) {
		t.Run(tt.name, func(t *testing.T) {
			dir := tt.set(t, outside)
			found, err := setdir.VerifyRecordings(dir, now)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{}
			for _, p := range found.Problems {
				got = append(got, string(p.Kind)+" "+p.Subject)
				seen[p.Kind] = true
				if p.Kind != stub.Orphan && p.Owner == "" && p.Subject != "f-1.a" {
					t.Errorf("nobody answers for %s", p)
				}
			}
			if want := append([]string{}, tt.want...); !cmp.Equal(sorted(got), sorted(want)) {
				t.Errorf("got %q, want %q", got, want)
			}
			if len(found.Problems) > 0 && !strings.Contains(found.Problems[0].Message, tt.says) {
				t.Errorf("got %q, want %q", found.Problems[0].Message, tt.says)
			}
			if want := 2 + len(tt.also) + strings.Count(tt.files["stubs/s.jsonl"], "recording"); found.Checked != want {
				t.Errorf("checked %d, want %d", found.Checked, want)
			}
			lintRefuses(t, dir, found)
		})
	}
	for _, k := range stub.Kinds() { // a new one cannot be forgotten
		if !seen[k] {
			t.Errorf("no case has a %s", k)
		}
	}
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// lintRefuses holds what reading the set for a run says (S17): exactly the same, but for what is only stale.
func lintRefuses(t *testing.T, dir string, found *setdir.Verified) {
	t.Helper()
	_, err := setdir.Load(dir)
	for _, p := range found.Problems {
		if said := err != nil && strings.Contains(err.Error(), p.String()); said == p.Kind.Dated() {
			t.Errorf("%s: the set is read with %v", p, err)
		}
	}
	if fit := !slices.ContainsFunc(found.Problems, func(p stub.Problem) bool { return !p.Kind.Dated() }); fit != (err == nil) {
		t.Errorf("the set is read with %v", err)
	}
}

// S2: everything at once, with how many were looked at.
func TestS2AllAtOnce(t *testing.T) {
	dir := recordedSet(t)
	ids := map[string]map[string]any{}
	for _, id := range []string{"c", "d", "e", "f", "g"} {
		ids[id] = declaration(id)
		write(t, dir, map[string]string{"stubs/bodies/" + id + ".json": `"yes"`, "prompts/" + id + ".md": "Is it?\n"})
	}
	with(ids["c"], map[string]any{"recorded_at": "2020-01-01T00:00:00Z"})
	with(ids["d"], map[string]any{"recorded_at": "2030-01-01T00:00:00Z"})
	with(ids["e"], map[string]any{"prompt": "../e.md"})
	with(ids["f"], map[string]any{"call": "a"})
	write(t, dir, map[string]string{
		"stubs/manifest.json": manifest(t, append(slices.Collect(maps.Values(ids)), declaration("a"), declaration("b"))...),
		"prompts/a.md":        "other", "stubs/bodies/b.json": `"bob@acme-corp.com"`, "stubs/s.jsonl": `{"fixture_id":"f-1","call":"hand","value":1}`,
	})
	for _, gone := range []string{"stubs/bodies/g.json", "prompts/g.md"} {
		if err := os.Remove(filepath.Join(dir, gone)); err != nil {
			t.Fatal(err)
		}
	}
	found, err := setdir.VerifyRecordings(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[stub.Kind]bool{}
	for _, p := range found.Problems {
		kinds[p.Kind] = true
	}
	if len(kinds) != len(stub.Kinds()) || len(found.Problems) != 10 || found.Checked != 7 || found.Written != 1 {
		t.Errorf("checked %d and %d, found %v", found.Checked, found.Written, found.Problems)
	}
}
