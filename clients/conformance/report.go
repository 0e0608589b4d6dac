package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Level is how far a checker keeps the contract.
type Level string

// The levels, in their order.
const (
	// Contract: it describes itself and answers every case exactly once, whatever the batches.
	Contract Level = "contract"
	// Declared: what it says about itself is so.
	Declared Level = "declared"
	// Determinism: the same input gives the same answer, whatever is around it.
	Determinism Level = "determinism"
	// Behaviour: it starts, stops and logs as a process should.
	Behaviour Level = "behaviour"
	// Hermetic: nothing but the input decides: no network, no files, no clock.
	Hermetic Level = "hermetic"
)

// Levels lists the levels in their order.
func Levels() []Level { return []Level{Contract, Declared, Determinism, Behaviour, Hermetic} }

// Status is how a case came out.
type Status string

// The statuses.
const (
	Passed     Status = "pass"
	Failed     Status = "fail"
	Unobserved Status = "unobserved"
	// Inapplicable is a case of what this checker does not have, by its own word: parameters, stubs, reason codes. It counts neither way.
	Inapplicable Status = "not applicable"
)

// Result is one case.
type Result struct {
	// Case is its name, which does not change.
	Case  string `json:"case"`
	Level Level  `json:"level"`
	// Says is what it holds, in a sentence.
	Says   string `json:"says"`
	Status Status `json:"status"`
	// Message says why it failed, why nothing was observed, or why it does not apply.
	Message string        `json:"message,omitempty"`
	Took    time.Duration `json:"took_ns"`
}

// Report is what a checker came to.
type Report struct {
	Checker string `json:"checker"`
	Version string `json:"version"`
	Build   string `json:"build_digest"`
	// Reached is the highest level that is reached; empty if not even the first is.
	Reached Level    `json:"reached"`
	Results []Result `json:"results"`
}

// settle works out the level that is reached: where something of each was seen, and nothing that fails or is out of sight.
func (r *Report) settle() {
	r.Reached = ""
	for _, level := range Levels() {
		if r.Count(level, Failed)+r.Count(level, Unobserved) > 0 || r.Count(level, Passed) == 0 {
			return
		}
		r.Reached = level
	}
}

// Count gives how many cases of a level came out so; of all levels if it is empty.
func (r *Report) Count(level Level, s Status) (n int) {
	for _, x := range r.Results {
		if (level == "" || x.Level == level) && x.Status == s {
			n++
		}
	}
	return n
}

// AtLeast says whether a level is reached; one that there is not never is.
func (r *Report) AtLeast(level Level) bool {
	at := slices.Index(Levels(), level)
	return at >= 0 && r.Reached != "" && slices.Index(Levels(), r.Reached) >= at
}

// WriteTable writes the cases for a person: all, or those alone that failed or were not observed.
func (r *Report) WriteTable(w io.Writer, all bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, x := range r.Results {
		if all || x.Status == Failed || x.Status == Unobserved {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", x.Status, x.Level, x.Case, x.Says)
			for line := range strings.Lines(x.Message) {
				fmt.Fprintf(t, "\t\t\t  %s\n", strings.TrimRight(line, "\n"))
			}
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, level := range Levels() {
		if _, err := fmt.Fprintf(w, "%-12s %2d passed, %d failed, %d not observed%s\n", level, r.Count(level, Passed), r.Count(level, Failed), r.Count(level, Unobserved), r.rest(level)); err != nil {
			return err
		}
	}
	reached := string(r.Reached)
	if reached == "" {
		reached = "none"
	}
	_, err := fmt.Fprintf(w, "%s %s: level reached: %s\n", r.Checker, r.Version, reached)
	return err
}

// rest tells of the cases of a level that do not apply.
func (r *Report) rest(level Level) string {
	if n := r.Count(level, Inapplicable); n > 0 {
		return fmt.Sprintf(", %d not applicable", n)
	}
	return ""
}

// WriteJSON writes the report as one document.
func (r *Report) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }
