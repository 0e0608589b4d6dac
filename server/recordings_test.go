package server_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/retrial-dev/retrial/clients/cli/setdir"
	"github.com/retrial-dev/retrial/clients/retrial"
	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// recordedDirectory writes a set with four recordings, made at noon of the fifth of February and for 28, 27, 0 and 40 days, the second
// verified a day later; the last stands within a stub document, and is from the tenth of March. It gives the set as a commit has it.
func recordedDirectory(t *testing.T) (dir string, entries []*fixturev1.CommitEntry) {
	t.Helper()
	dir = t.TempDir()
	files := map[string]string{
		"retrial.yaml": "set: notes\nschema: 1\nverdicts: [keep, drop]\npermissive: keep\n",
		"stubs/s.jsonl": fmt.Sprintf(`{"fixture_id":"n-03","call":"c","value":1,"recording":{"model":"m","prompt_sha256":"%064d","recorded_at":"2026-03-10T12:00:00.5Z","max_age_days":40,"owner":"bob"}}`,
			0),
	}
	var declared []string
	for i, dates := range []string{`"max_age_days":28`, `"max_age_days":27,"verified_at":"2026-02-06T12:00:00Z"`, `"max_age_days":0`} {
		id := fmt.Sprintf("r-%d", i)
		files["stubs/bodies/"+id+".json"], files["prompts/"+id+".md"] = "1\n", "ask"
		declared = append(declared, fmt.Sprintf(`{"id":%q,"fixture_id":"n-0%d","call":"c","body":"bodies/%s.json","prompt":"%[1]s.md","body_sha256":"%[4]x","prompt_sha256":"%[5]x","model":"m","recorded_at":"2026-02-05T12:00:00Z","owner":"ada",%[6]s}`,
			id, i, id, sha256.Sum256([]byte("1")), sha256.Sum256([]byte("ask")), dates))
	}
	files["stubs/manifest.json"] = `{"schema":1,"recordings":[` + strings.Join(declared, ",") + `]}`
	for n := range 4 {
		files["fixtures/f.jsonl"] += fmt.Sprintf(`{"fixture_id":"n-%02d","source_row_id":"row-%[1]d","verdict":"keep","reason_code":"new","decided_at":"2026-02-14T09:12:00Z","N":%[1]d}`+"\n", n)
	}
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := setdir.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range set.Entries() {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, &fixturev1.CommitEntry{Fixture: e.Fixture, Stubs: e.Stubs})
	}
	return dir, entries
}

// S17: what a look at the directory says of an instant is what a run at that instant finds, before, at and behind every end. S16: the
// decision itself, of February, never goes stale.
func TestS17OneLookAtRecordings(t *testing.T) {
	h := newHouse(t, nil)
	dir, entries := recordedDirectory(t)
	if err := errOf(h.commit(t, "author", 1, nil, entries)); err != nil {
		t.Fatal(err)
	}
	end := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
	most := 0
	for i, tt := range []struct {
		at   time.Time
		want int
	}{
		{end.Add(-time.Nanosecond), 1}, {end, 3}, {end.Add(4 * 24 * time.Hour), 3},
		{time.Date(2026, 3, 10, 12, 0, 0, 5e8, time.UTC), 2}, {time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC), 2},
	} {
		h.clock.pass(tt.at.Sub(h.clock.now()))
		found, err := setdir.VerifyRecordings(dir, tt.at)
		if err != nil || len(found.Problems) != tt.want {
			t.Fatalf("at %s: %v, %v; want %d", tt.at, found, err, tt.want)
		}
		want := []string{}
		for _, p := range found.Problems {
			want = append(want, fmt.Sprintf("the recording of %q: %s", "c", p))
		}
		got := h.stale(t, fmt.Sprint("v", i))
		if diff := cmp.Diff(slices.Sorted(slices.Values(want)), got); diff != "" {
			t.Errorf("at %s the directory and the run differ: %s", tt.at, diff)
		}
		most = max(most, len(got))
	}
	if most != 3 {
		t.Errorf("a run found %d at most", most)
	}
}

// stale runs a replay, and gives what it says of stale recordings, sorted.
func (h *house) stale(t *testing.T, release string) []string {
	t.Helper()
	r, err := retrial.StartReplay(h.as(t, "submitter"), h.conn, request(release, 10))
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for e := range r.Events() {
		if f := e.GetFinding(); f.GetCode() == string(gate.RecordingStale) {
			out = append(out, f.GetMessage())
		}
	}
	if d, err := r.Decision(); err != nil || len(out) > 0 && d.GetRuling() == gatev1.Ruling_RULING_PASS {
		t.Errorf("over %d stale recordings: %v, %v", len(out), d.GetRuling(), err)
	}
	slices.Sort(out)
	return out
}

// S17: what is wrong for good is refused by a commit, for whoever calls the service without the command line.
func TestCommitRefusesTamperedRecordings(t *testing.T) {
	h := newHouse(t, nil)
	for _, tt := range []struct{ name, old, new, want string }{
		{"a value", `"value":1`, `"value":2`, "the value is not what m gave"},
		{"a prompt", `"prompt":"ask"`, `"prompt":"ask more"`, "the prompt has changed"},
		{"a digest", `"body_sha256":"`, `"body_sha256":"0`, "64 hexadecimal digits"},
		{"an age", `"max_age_days":28,`, ``, "max_age_days: missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, entries := recordedDirectory(t)
			doc := string(entries[0].Stubs[0])
			if !strings.Contains(doc, tt.old) {
				t.Fatalf("there is no %s in %s", tt.old, doc)
			}
			entries[0].Stubs[0] = []byte(strings.Replace(doc, tt.old, tt.new, 1))
			wantStatusCode(t, errOf(h.commit(t, "author", 1, nil, entries)), codes.InvalidArgument, tt.want)
		})
	}
	_, entries := recordedDirectory(t)
	if err := errOf(h.commit(t, "author", 1, nil, entries)); err != nil { // behind the first version: nothing has been published in between
		t.Error(err)
	}
}
