package stub_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
	"github.com/retrial-dev/retrial/stub"
)

// recordedAs gives a stub that was recorded, and perhaps verified, with an age.
func recordedAs(t interface{ Fatal(...any) }, recordedAt, verifiedAt string, maxAgeDays int) *stub.Stub {
	verified := ""
	if verifiedAt != "" {
		verified = fmt.Sprintf(`,"verified_at":%q`, verifiedAt)
	}
	s, err := stub.Decode(fmt.Appendf(nil, `{"fixture_id":"f","call":"c","value":1,"recording":{"model":"m","prompt_sha256":%q,"recorded_at":%q,"max_age_days":%d,"owner":"ada"%s}}`,
		strings.Repeat("0", 64), recordedAt, maxAgeDays, verified))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func has(s *stub.Stub, k stub.Kind, now time.Time) bool {
	return slices.ContainsFunc(s.Problems(now), func(p stub.Problem) bool { return p.Kind == k })
}

// S3: an age is compared exactly, to the nanosecond: it is over from the instant on at which its days are full.
func TestS3Boundaries(t *testing.T) {
	for _, tt := range []struct {
		name, recordedAt, verifiedAt string
		days                         int
		over                         string // the first instant at which it is over its age; empty for never
	}{
		{"fourteen days", "2026-01-01T00:00:00Z", "", 14, "2026-01-15T00:00:00Z"},
		{"one day", "2026-01-01T10:20:30Z", "", 1, "2026-01-02T10:20:30Z"},
		{"to the nanosecond", "2026-01-01T00:00:00.123456789Z", "", 14, "2026-01-15T00:00:00.123456789Z"},
		{"across a leap day", "2028-02-28T12:00:00Z", "", 2, "2028-03-01T12:00:00Z"},
		{"made on a leap day", "2028-02-29T23:59:59Z", "", 366, "2029-03-01T23:59:59Z"},
		{"across no leap day", "2027-02-28T12:00:00Z", "", 2, "2027-03-02T12:00:00Z"},
		{"where clocks go forward a day has 24 hours", "2026-03-28T12:00:00+01:00", "", 1, "2026-03-29T11:00:00Z"},
		{"east of UTC", "2026-01-01T02:00:00+02:00", "", 14, "2026-01-15T00:00:00Z"},
		{"west of UTC, on another day", "2025-12-31T17:00:00-07:00", "", 14, "2026-01-15T00:00:00Z"},
		{"verified later", "2026-01-01T00:00:00Z", "2026-01-10T06:00:00Z", 14, "2026-01-24T06:00:00Z"},
		{"verified when it was recorded", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", 14, "2026-01-15T00:00:00Z"},
		{"verified later by its zone alone", "2026-01-01T00:00:00Z", "2026-01-01T05:00:00+05:00", 14, "2026-01-15T00:00:00Z"},
		{"a hundred years", "2026-01-01T00:00:00Z", "", 36_500, "2125-12-08T00:00:00Z"},
		{"for ever", "2026-01-01T00:00:00Z", "", 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := recordedAs(t, tt.recordedAt, tt.verifiedAt, tt.days)
			if tt.over == "" {
				if far := time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC); has(s, stub.OverAge, far) {
					t.Error("it goes over an age that it does not have")
				}
				return
			}
			at, err := time.Parse(time.RFC3339, tt.over)
			if err != nil {
				t.Fatal(err)
			}
			for _, look := range []struct {
				now  time.Time
				want bool
			}{{at.Add(-time.Nanosecond), false}, {at.Add(-time.Second), false}, {at, true}, {at.In(time.FixedZone("", -5*3600)), true}, {at.Add(time.Nanosecond), true}, {at.Add(23 * time.Hour), true}} {
				if got := has(s, stub.OverAge, look.now); got != look.want {
					t.Errorf("at %s: over age %v, want %v", look.now, got, look.want)
				}
			}
		})
	}
	// The case that was decided: 14 days and 23 hours are over a budget of 14 days.
	if s := recordedAs(t, "2026-01-01T00:00:00Z", "", 14); !has(s, stub.OverAge, time.Date(2026, 1, 15, 23, 0, 0, 0, time.UTC)) {
		t.Error("14 days and 23 hours are within 14 days")
	}
}

// What was verified before it was recorded, has an age that nobody outlives, or lies in no year that can be written, is refused.
func TestInstantsThatAreNone(t *testing.T) {
	for _, tt := range []struct{ name, old, new, want string }{
		{"verified before it was recorded", `"owner"`, `"verified_at":"2025-12-31T23:59:59.999999999Z","owner"`, "verified_at: before recorded_at"},
		{"verified before it by its zone", `"owner"`, `"verified_at":"2026-01-01T01:59:59+02:00","owner"`, "verified_at: before recorded_at"},
		{"an age of more than a hundred years", `"max_age_days":14`, `"max_age_days":36501`, "36501 is not between 0 and 36500"},
		{"an age in part of a day", `"max_age_days":14`, `"max_age_days":1.5`, "1.5"},
		{"a year that its zone leads out of", "2026-01-01T02:00:00+02:00", "9999-12-31T23:59:59-01:00", "outside the years"},
		{"a year before the first", "2026-01-01T02:00:00+02:00", "0001-01-01T00:00:00+01:00", "outside the years"},
		{"a day that is none", "2026-01-01T02:00:00+02:00", "2027-02-29T00:00:00Z", "is not an instant"},
		{"no zone", "2026-01-01T02:00:00+02:00", "2026-01-01T02:00:00", "is not an instant"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			doc := strings.Replace(recorded, tt.old, tt.new, 1)
			if _, err := stub.Decode([]byte(doc)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// S17: a later instant never makes good what has expired: a recording, an entry of an allowlist, or anything else that asks Expired.
func TestLaterNeverMakesValid(t *testing.T) {
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		span := rapid.Int64Range(-int64(50*24*time.Hour), int64(50*24*time.Hour))
		end := base.Add(time.Duration(span.Draw(t, "end")))
		early := base.Add(time.Duration(rapid.OneOf(span, rapid.Just(int64(end.Sub(base)))).Draw(t, "early")))
		late := early.Add(time.Duration(rapid.Int64Range(0, int64(400*24*time.Hour)).Draw(t, "later")))
		days := rapid.IntRange(1, 30).Draw(t, "days")
		s := recordedAs(t, end.AddDate(0, 0, -days).Format(time.RFC3339Nano), "", days)
		entries := []gate.Entry{{FixtureID: "f", ExpiresAt: end}}
		for name, expired := range map[string]func(time.Time) bool{
			"a freeze":     func(now time.Time) bool { return fixture.Expired(end, now) },
			"a recording":  func(now time.Time) bool { return has(s, stub.OverAge, now) },
			"an allowance": func(now time.Time) bool { return len(gate.NewAllowlist(entries, now).Expirations()) == 1 },
		} {
			if got := expired(early); got != !early.Before(end) {
				t.Fatalf("%s that ends at %s: expired %v at %s", name, end, got, early)
			}
			if expired(early) && !expired(late) {
				t.Fatalf("%s that ends at %s is expired at %s, and not at %s", name, end, early, late)
			}
		}
	})
}

// FuzzRecording: decoding never panics, and what it accepts is written and read back to the same.
func FuzzRecording(f *testing.F) {
	f.Add([]byte(recorded))
	for _, r := range [][2]string{
		{`"owner"`, `"id":"i","prompt":"a\u2028<b>","body_sha256":"` + strings.Repeat("f", 64) + `","verified_at":"2026-01-02T00:00:00.000000001+14:00","owner"`},
		{`"owner":"ada"`, `"owner":"ada","compare":{"kind":"schema","schema":{"type":["a",1e5]}}`},
		{`"owner":"ada"`, `"owner":"ada","compare":{"kind":"rubric","fields":["a.b",""]}`},
		{`2026-01-01T02:00:00+02:00`, `9999-12-31T23:59:59-01:00`},
		{`2026-01-01T02:00:00+02:00`, `2026-01-01T00:00:00,5Z`},
		{`"max_age_days":14`, `"max_age_days":36500`},
	} {
		f.Add([]byte(strings.Replace(recorded, r[0], r[1], 1)))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := stub.Decode(src)
		if err != nil {
			return
		}
		canonical, err := fixture.Canonicalize(nil, src)
		if err != nil {
			t.Fatalf("%s is decoded, and has no canonical form: %v", src, err)
		}
		again, err := stub.Decode(canonical)
		if err != nil {
			t.Fatalf("%s is not read back: %v", canonical, err)
		}
		for _, at := range []time.Time{{}, time.Unix(0, 0), time.Unix(1<<40, 0)} {
			if was, is := fmt.Sprint(s.Problems(at)), fmt.Sprint(again.Problems(at)); was != is {
				t.Errorf("%s has the problems %s, and its canonical form %s", src, was, is)
			}
		}
	})
}
