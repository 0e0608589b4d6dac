package stub_test

import (
	"strings"
	"testing"
	"time"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

const recorded = `{"fixture_id":"f-1","call":"classify","value":{"n":9007199254740993},"recording":{"model":"m","prompt_sha256":"0000000000000000000000000000000000000000000000000000000000000000","recorded_at":"2026-01-01T02:00:00+02:00","max_age_days":14,"owner":"ada"}}`

func decode(t *testing.T, doc string) *stub.Stub {
	t.Helper()
	s, err := stub.Decode([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDecode(t *testing.T) {
	s := decode(t, recorded)
	if s.FixtureID != "f-1" || s.Call != "classify" || string(s.Value) != `{"n":9007199254740993}` {
		t.Errorf("got %+v", s)
	}
	// S3: an age of 14 days ends with the last instant of the fourteenth.
	at, ok := s.Recording.ExpiresAt()
	if !ok || !at.Equal(time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("it expires at %s, %v", at, ok)
	}
	if _, ok := decode(t, strings.Replace(recorded, `"max_age_days":14`, `"max_age_days":0`, 1)).Recording.ExpiresAt(); ok {
		t.Error("an age of 0 expires")
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, tt := range []struct{ name, doc, want string }{
		{"no fixture", `{"call":"c","value":1}`, "field fixture_id: missing"},
		{"no call", `{"fixture_id":"f","value":1}`, "field call: missing"},
		{"no value", `{"fixture_id":"f","call":"c"}`, "field value: missing"},
		{"an unknown member", `{"fixture_id":"f","call":"c","value":1,"Value":2}`, "field Value: unknown"},
		{"no object", `[1]`, "a stub is a JSON object"},
		{"a duplicate key", `{"fixture_id":"f","call":"c","value":1,"value":2}`, "duplicate key"},
		{"an age that was forgotten", strings.Replace(recorded, `"max_age_days":14,`, ``, 1), "max_age_days: missing"},
		{"a negative age", strings.Replace(recorded, `14`, `-1`, 1), "-1 is not between"},
		{"a recording without an owner", strings.Replace(recorded, `,"owner":"ada"`, ``, 1), "owner: missing"},
		{"a member in another spelling", strings.Replace(recorded, `"owner":"ada"`, `"owner":"ada","Max_age_days":0`, 1), `unknown member "Max_age_days"`},
		{"a prompt that is no hash", strings.Replace(recorded, `"0000`, `"`, 1), "64 hexadecimal digits"},
		{"an instant that is none", strings.Replace(recorded, `T02:00:00+02:00`, ``, 1), "is not an instant"},
		{"a recording that is no object", `{"fixture_id":"f","call":"c","value":1,"recording":1}`, "expected an object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := stub.Decode([]byte(tt.doc)); fixture.CodeOf(err) != fixture.CodeInvalid || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// R19, R21: the stored form is sorted by call, reads back as it was, and holds each call once, for one fixture.
func TestR21JoinAndSplit(t *testing.T) {
	b, a := decode(t, `{"fixture_id":"f","call":"b","value":1}`), decode(t, `{"fixture_id":"f","call":"a","value":"x"}`)
	joined, err := stub.Join("f", []*stub.Stub{b, a})
	if err != nil || string(joined) != `[{"call":"a","fixture_id":"f","value":"x"},{"call":"b","fixture_id":"f","value":1}]` {
		t.Errorf("got %s, %v", joined, err)
	}
	got, err := stub.Split(joined)
	if err != nil || len(got) != 2 || got[0].Digest() != a.Digest() || got[1].Call != "b" {
		t.Errorf("got %v, %v", got, err)
	}
	if none, err := stub.Join("f", nil); none != nil || err != nil {
		t.Errorf("no stubs are stored as %s, %v", none, err)
	}
	for name, stubs := range map[string][]*stub.Stub{"twice": {a, a}, "of another fixture": {decode(t, `{"fixture_id":"g","call":"a","value":1}`)}, "too many": make([]*stub.Stub, stub.MaxPerFixture+1)} {
		if _, err := stub.Join("f", stubs); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
