package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"
)

// fixture is a fixture on disk, with its members in the order in which a reviewer wants them.
type fixture struct {
	FixtureID       string     `json:"fixture_id"`
	SourceRowID     string     `json:"source_row_id"`
	Verdict         string     `json:"verdict"`
	ReasonCode      string     `json:"reason_code"`
	DecidedAt       time.Time  `json:"decided_at"`
	Scope           scope      `json:"scope"`
	ClaimScope      scope      `json:"claim_scope"`
	ClaimText       string     `json:"claim_text"`
	ClaimHash       string     `json:"claim_hash"`
	SourceEventID   string     `json:"source_event_id"`
	SourceType      string     `json:"source_type"`
	EventTime       time.Time  `json:"event_time"`
	AcceptedAt      time.Time  `json:"accepted_at"`
	AgeDays         int        `json:"age_days_at_decision"`
	OccurrenceCount int        `json:"occurrence_count"`
	DependencyGroup *string    `json:"dependency_group"`
	Score           float64    `json:"score"`
	PromotedBefore  bool       `json:"promoted_before"`
	Competing       *competing `json:"competing"`
}

type scope struct {
	UserID      string `json:"user_id,omitempty"`
	WorkspaceID string `json:"workspace_id,omitempty"`
	ProjectID   string `json:"project_id,omitempty"`
}

// competing is the claim that the memory held about the same thing.
type competing struct {
	ClaimText  string    `json:"claim_text"`
	EventTime  time.Time `json:"event_time"`
	AcceptedAt time.Time `json:"accepted_at"`
}

type stub struct {
	FixtureID string `json:"fixture_id"`
	Call      string `json:"call"`
	Value     string `json:"value"`
}

// bucket is what one reason code has: one file of fixtures.
type bucket struct {
	verdict, reason string
	// answer is what the classification said; empty where an earlier rule decided and it was not asked.
	answer string
	rows   []row
	// shape makes the i-th fixture one that has this reason. It is handed one that every rule accepts.
	shape func(i int, f *fixture)
}

type row struct {
	age   int // whole days from acceptance to decision
	claim string
	rival string // the competing claim; empty if there is none
}

// The queue decided one row in seven minutes. A slot is seven minutes, and a row's number counts slots.
const (
	slot       = 7 * time.Minute
	slots      = 1500 // for each bucket; with 8 buckets that is from January 5 to March 5
	buckets    = 8    // a bucket takes every eighth slot, so that no two rows meet
	firstRowID = 80_000
	// The event log has one event in three minutes; this is the number of the event at the first slot.
	firstEventID, event = 56_011, 3 * time.Minute
)

func firstSlot() time.Time { return time.Date(2026, 1, 5, 21, 30, 0, 0, time.UTC) }

// fixtures gives the fixtures of a bucket in the order of their decision. Number is the bucket's place among all.
func (b bucket) fixtures(number int) []fixture {
	out := make([]fixture, len(b.rows))
	for i, r := range b.rows {
		stride := slots / len(b.rows)
		n := (i*stride+pick(r.claim, "slot", stride))*buckets + number
		f := &out[i]
		*f = fixture{
			FixtureID:   fmt.Sprintf("f-%05d", 100*(number+1)+i+1),
			SourceRowID: fmt.Sprintf("pq_%d", firstRowID+n),
			Verdict:     b.verdict, ReasonCode: b.reason,
			DecidedAt: firstSlot().Add(time.Duration(n)*slot + time.Duration(pick(r.claim, "second", int(slot.Seconds())))*time.Second),
		}
		f.accept(r)
		b.shape(i, f)
		f.SourceEventID = fmt.Sprintf("evt_%d", firstEventID+int(f.AcceptedAt.Sub(firstSlot())/event))
		f.ClaimHash = hash(f.ClaimText)
	}
	return out
}

// accept fills in a claim of the row's age that every rule accepts, if its age does not matter.
func (f *fixture) accept(r row) {
	f.Scope = scopeOf(userOf(r.claim))
	f.ClaimScope = f.Scope
	f.ClaimText = r.claim
	f.SourceType = []string{"email", "chat_message", "support_ticket", "meeting_notes", "call_transcript"}[pick(r.claim, "source", 5)]
	f.AgeDays = r.age
	f.AcceptedAt = f.DecidedAt.Add(-days(r.age) - minutes(10+pick(r.claim, "accepted", 23*60)))
	f.EventTime = f.AcceptedAt.Add(-minutes(1 + pick(r.claim, "event", 36*60)))
	f.OccurrenceCount = 3 + pick(r.claim, "occurrences", 5)
	f.Score = percent(60 + pick(r.claim, "score", 39))
	if r.rival != "" {
		at := f.AcceptedAt.Add(-days(2 + pick(r.rival, "accepted", 40))).Add(-minutes(pick(r.rival, "minute", 24*60)))
		f.Competing = &competing{ClaimText: r.rival, AcceptedAt: at, EventTime: at.Add(-minutes(1 + pick(r.rival, "event", 36*60)))}
	}
}

// userOf gives the user who made the claim. Users are spread over the workspaces 1 to 8.
func userOf(claim string) (user, workspace int) {
	n := pick(claim, "user", 104)
	return 3300 + n, 1 + n%8
}

func scopeOf(user, workspace int) scope {
	return scope{UserID: fmt.Sprintf("u-%d", user), WorkspaceID: fmt.Sprintf("w-%d", workspace)}
}

// pick gives a number from 0 to n-1 that depends on the claim and on what is picked, and on nothing else.
func pick(claim, what string, n int) int {
	sum := sha256.Sum256([]byte(what + "\x00" + claim))
	return int(binary.BigEndian.Uint64(sum[:8]) % uint64(n))
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func days(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }

func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

func percent(n int) float64 { return float64(n) / 100 }

func ptr[T any](v T) *T { return &v }
