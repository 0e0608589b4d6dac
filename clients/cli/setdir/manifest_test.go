package setdir_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retrial-dev/retrial/clients/cli/setdir"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// A manifest that is malformed is no manifest: what it may have meant is not guessed.
func TestManifestRefuses(t *testing.T) {
	entry := manifest(t, declaration("a"))
	for _, tt := range []struct{ name, src, want string }{
		{"no JSON", `{"schema":1,`, "manifest.json:1"},
		{"a list", `[]`, "expected an object"},
		{"no recordings", `{"schema":1}`, `expected {"schema": 1, "recordings"`},
		{"recordings that are no list", `{"schema":1,"recordings":{}}`, `expected {"schema": 1, "recordings"`},
		{"another schema", `{"schema":2,"recordings":[]}`, "schema 2 is unknown"},
		{"no schema", `{"recordings":[]}`, "schema 0 is unknown"},
		{"an unknown member", strings.Replace(entry, `"owner"`, `"colour":1,"owner"`, 1), `recording 1: unknown member "colour"`},
		{"a member in another case", strings.Replace(entry, `"owner"`, `"Owner":"x","owner"`, 1), `unknown member "Owner"`},
		{"a member twice", strings.Replace(entry, `"owner"`, `"owner":"x","owner"`, 1), "duplicate key"},
		{"an age that is no number", strings.Replace(entry, `"max_age_days":14`, `"max_age_days":"14"`, 1), "max_age_days"},
		{"a byte order mark", "\xEF\xBB\xBF" + entry, "manifest.json:1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"stubs/manifest.json": tt.src})
			if _, err := setdir.ReadManifest(dir); fixture.CodeOf(err) != fixture.CodeInvalid || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// What a declaration must have is asked for: nothing has a default, least of all an age.
func TestDeclarationIsComplete(t *testing.T) {
	for member := range declaration("a") {
		dir := recordedSet(t)
		write(t, dir, map[string]string{"stubs/manifest.json": manifest(t, with(declaration("a"), map[string]any{member: nil}), declaration("b"))})
		if _, err := setdir.VerifyRecordings(dir, now); fixture.CodeOf(err) != fixture.CodeInvalid || !strings.Contains(err.Error(), member) {
			t.Errorf("without %s: %v", member, err)
		}
	}
}

// S8: what is written has sorted keys, two spaces and a final line feed, recordings by their ids, and is read back as it was.
func TestS8ManifestIsWritten(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"stubs/manifest.json": manifest(t, declaration("b"), with(declaration("a"), map[string]any{"compare": map[string]any{"kind": "rubric", "fields": []string{"a"}}}))})
	m, err := setdir.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Write(dir); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(filepath.Join(dir, "stubs", setdir.ManifestFile))
	if err != nil || !strings.HasPrefix(string(first), "{\n  \"recordings\": [\n    {\n      \"body\": \"bodies/a.json\",") || !strings.HasSuffix(string(first), "\n  \"schema\": 1\n}\n") {
		t.Errorf("it is written as %s, %v", first, err)
	}
	again, err := setdir.ReadManifest(dir)
	if err != nil || again.Recordings[0].ID != "a" {
		t.Fatalf("it is read back as %+v, %v", again, err)
	}
	m.Recordings[0], m.Recordings[1] = m.Recordings[1], m.Recordings[0]
	if diff := cmp.Diff(m, again); diff != "" {
		t.Error(diff)
	}
}

// FuzzManifest: reading never panics, and what it accepts is written and read back to the same.
func FuzzManifest(f *testing.F) {
	b, err := json.Marshal(map[string]any{"schema": 1, "recordings": []any{declaration("b"), declaration("a")}})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(b), `{"schema":1,"recordings":[{"id":"\u0000<","max_age_days":0,"compare":null}]}`, `{"schema":1,"recordings":[{"compare":{"kind":"schema","schema":1e400}}]}`, `{}`} {
		f.Add([]byte(seed))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, src []byte) {
		write(t, dir, map[string]string{"stubs/manifest.json": string(src)})
		m, err := setdir.ReadManifest(dir)
		if err != nil {
			return
		}
		if err := m.Write(dir); err != nil {
			t.Fatal(err)
		}
		first, err := os.ReadFile(filepath.Join(dir, "stubs", setdir.ManifestFile))
		if err != nil {
			t.Fatal(err)
		}
		again, err := setdir.ReadManifest(dir)
		if err != nil {
			t.Fatalf("%s is not read back: %v", first, err)
		}
		if err := again.Write(dir); err != nil {
			t.Fatal(err)
		}
		if second, err := os.ReadFile(filepath.Join(dir, "stubs", setdir.ManifestFile)); err != nil || string(first) != string(second) {
			t.Errorf("%s is read back as %s, %v", first, second, err)
		}
	})
}
