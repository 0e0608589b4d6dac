package recorder

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Journal is the log of all runs over one set: JSON Lines that are only ever added to. Each line has been synced when its method
// returns. It has no prompt, no answer and no secret in it. Safe for concurrent use.
//
// It also says what a run that did not come to its end has kept, so that the next one goes on behind it.
type Journal struct {
	mu  sync.Mutex // has one line written at a time
	f   *os.File
	run string
}

// Kept is what a run kept of one recording, as its declaration then says. It is logged before the files are written: where these do
// not say the same, they were not.
type Kept struct {
	At      time.Time `json:"at"`
	ID      string    `json:"id"`
	Outcome string    `json:"outcome"`
	// Declaration is the digest of all that the declaration says; empty where the answer is no other run's to take over.
	Declaration string `json:"declaration"`
	// Body is the digest of the value that then stands in the files.
	Body string `json:"body_sha256"`
}

// Unfinished is a run that was interrupted.
type Unfinished struct {
	At time.Time
	// Asked is the endpoint or the recorder.
	Asked string
	Kept  []Kept
}

// begun begins the lines of a run.
type begun struct {
	At time.Time `json:"at"`
	// Asked is the endpoint or the recorder.
	Asked string `json:"asked"`
	Plan  Plan   `json:"plan"`
}

// line is one line. All but its event and run are those of what is embedded.
type line struct {
	Event string `json:"event"`
	Run   string `json:"run"`
}

// The events.
const (
	eventBegin   = "begin"
	eventAttempt = "attempt"
	eventKept    = "kept"
	eventEnd     = "end"
)

// OpenJournal opens a log for another run, and makes it and its directory where there is none. It gives the newest run that was
// interrupted if no other has ended since, or nil. What a cut line says is lost.
func OpenJournal(file string) (*Journal, *Unfinished, error) {
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	cut := len(old) > 0 && old[len(old)-1] != '\n'
	unfinished, err := readJournal(old)
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	if cut {
		if _, err := f.Write([]byte{'\n'}); err != nil {
			return nil, nil, errors.Join(err, f.Close())
		}
	}
	return &Journal{f: f, run: rand.Text()}, unfinished, nil
}

func readJournal(src []byte) (*Unfinished, error) {
	var last *Unfinished
	run := ""
	in := bufio.NewScanner(bytes.NewReader(src))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var l line
		if json.Unmarshal(in.Bytes(), &l) != nil {
			continue // it was cut
		}
		switch l.Event {
		case eventBegin:
			var b begun
			// What only reports on the spread keeps nothing, and takes nothing from a run that did.
			if json.Unmarshal(in.Bytes(), &b) == nil && b.Plan.Repeats == 1 {
				last, run = &Unfinished{At: b.At, Asked: b.Asked}, l.Run
			}
		case eventKept:
			var k Kept
			if l.Run == run && last != nil && json.Unmarshal(in.Bytes(), &k) == nil {
				last.Kept = append(last.Kept, k)
			}
		case eventEnd:
			if l.Run == run {
				last = nil
			}
		}
	}
	return last, in.Err()
}

// Begin logs what is asked and how much that is.
func (j *Journal) Begin(at time.Time, asked string, p Plan) error {
	return j.write(struct {
		line
		begun
	}{j.line(eventBegin), begun{at.UTC(), asked, p}})
}

// Attempt logs one call of a model.
func (j *Journal) Attempt(a Attempt) error {
	return j.write(struct {
		line
		Attempt
	}{j.line(eventAttempt), a})
}

// Keep logs what is about to be written.
func (j *Journal) Keep(k Kept) error {
	return j.write(struct {
		line
		Kept
	}{j.line(eventKept), k})
}

// End logs that the run has come to its end: it is not gone on with.
func (j *Journal) End(at time.Time) error {
	return j.write(struct {
		line
		At time.Time `json:"at"`
	}{j.line(eventEnd), at.UTC()})
}

// Close closes the log.
func (j *Journal) Close() error { return j.f.Close() }

func (j *Journal) line(event string) line { return line{event, j.run} }

func (j *Journal) write(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.f.Write(append(b, '\n')); err != nil {
		return err
	}
	return j.f.Sync()
}
