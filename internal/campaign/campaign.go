// Package campaign is what the fault campaigns share: how long they are, their random numbers, and how they wait. Only tests
// import it.
//
// A campaign is short in the normal `go test`, and has its full length where RETRIAL_CAMPAIGN=full. Either way it ends with its
// budget of time, and says how many of its rounds it came to.
package campaign

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The environment of a campaign.
const (
	// Mode asks for the full length by its value "full".
	Mode = "RETRIAL_CAMPAIGN"
	// Seed gives the seed of an earlier run.
	Seed = "RETRIAL_CAMPAIGN_SEED"
	// Rounds overrides how many rounds there are.
	Rounds = "RETRIAL_CAMPAIGN_ROUNDS"
)

// Budget is how long a full campaign takes at most.
const Budget = 5 * time.Minute

// Patience is how long what a test has ended may take to be gone.
const Patience = 20 * time.Second

// Campaign counts rounds. It is not safe for concurrent use.
type Campaign struct {
	// Rand is seeded anew for each run of the test, or by the environment.
	Rand *rand.Rand
	// Rounds is how many there are to be.
	Rounds int

	t     testing.TB
	done  int
	start time.Time
}

// Full says whether campaigns have their full length.
func Full() bool { return os.Getenv(Mode) == "full" }

// Begin begins a campaign of this many rounds. Its seed stands in the test's log.
func Begin(t testing.TB, full, short int) *Campaign {
	t.Helper()
	c := &Campaign{Rounds: short, t: t, start: time.Now()}
	if Full() {
		c.Rounds = full
	}
	if n := number(t, Rounds); n > 0 {
		c.Rounds = int(n)
	}
	seed := number(t, Seed)
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("to run this again: %s=%d %s=%d", Seed, seed, Rounds, c.Rounds)
	c.Rand = rand.New(rand.NewPCG(seed, 0))
	t.Cleanup(func() { t.Logf("%d of %d rounds in %s", c.done, c.Rounds, time.Since(c.start).Round(time.Millisecond)) })
	return c
}

func number(t testing.TB, name string) uint64 {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return 0
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// Next begins the next round. It is false when there is none, when the time is over, and when the test has failed.
func (c *Campaign) Next() bool {
	if c.done >= c.Rounds || c.t.Failed() {
		return false
	}
	if time.Since(c.start) > Budget {
		c.t.Logf("the time is over: only %d of %d rounds", c.done, c.Rounds)
		return false
	}
	c.done++
	return true
}

// Round is the number of the round, from 1.
func (c *Campaign) Round() int { return c.done }

// NothingLeft holds that no goroutine is left but those that were there before. It waits for some seconds.
func NothingLeft(t testing.TB, before goleak.Option) {
	t.Helper()
	var err error
	for range 10 { // each waits for a good part of a second
		if err = goleak.Find(before); err == nil {
			return
		}
	}
	t.Error(err)
}

// Eventually asks again until done says yes, and gives up after Patience.
func Eventually(done func() bool) bool {
	for deadline := time.Now().Add(Patience); ; time.Sleep(2 * time.Millisecond) {
		if done() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}
