package recorder_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrial-dev/retrial/clients/recorder"
)

// gate is a model whose calls wait until they are let go, one by one.
type gate struct {
	under   atomic.Int64 // calls that are under way
	release chan struct{}
}

// Ask implements recorder.Model.
func (g *gate) Ask(ctx context.Context, q recorder.Question) (recorder.Answer, error) {
	g.under.Add(1)
	defer g.under.Add(-1)
	select {
	case <-g.release:
	case <-ctx.Done():
		return recorder.Answer{}, ctx.Err()
	}
	if q.ID == "4" {
		return recorder.Answer{}, errors.New("not this one")
	}
	return recorder.Answer{Value: []byte(q.ID)}, nil
}

func asker(m recorder.Model) *recorder.Asker {
	return &recorder.Asker{
		Model: m, Timeout: time.Minute, Now: time.Now,
		Check: func(_ recorder.Question, v []byte) ([]byte, error) { return v, nil },
		Log:   func(recorder.Attempt) error { return nil },
		Pause: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
}

func questions(n int) (out []recorder.Question) {
	for i := range n {
		out = append(out, recorder.Question{ID: fmt.Sprint(i), Model: "m", Prompt: []byte("p")})
	}
	return out
}

// As many calls as may be are under way at once, and never more; each question has one result, with all its answers.
func TestRunIsParallelWithinItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{release: make(chan struct{})}
		var seen []string
		ended := make(chan error)
		go func() {
			ended <- recorder.Run(t.Context(), asker(g), questions(10), 2, 3, func(r recorder.Result) error {
				text := fmt.Sprint(r.Index)
				if r.Err != nil {
					text += " " + r.Err.Error()
				} else if string(r.Answers[0].Value) != fmt.Sprint(r.Index) || len(r.Answers) != 2 || r.Answers[1].Value == nil {
					t.Errorf("%d: %v", r.Index, r.Answers)
				}
				seen = append(seen, text)
				return nil
			})
		}()
		for left := int64(20); left > 0; left-- {
			synctest.Wait() // all that can begin has begun
			if n := g.under.Load(); n != min(3, left) {
				t.Fatalf("%d calls are under way with %d to come, want 3 at once", n, left)
			}
			g.release <- struct{}{}
		}
		err := <-ended
		slices.Sort(seen)
		if err != nil || strings.Join(seen, ",") != "0,1,2,3,4 not this one,5,6,7,8,9" {
			t.Errorf("got %v, %v", seen, err)
		}
	})
}

// What keeps the answers ends the run where it cannot, and a run that is cancelled ends with calls under way.
func TestRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{release: make(chan struct{})}
		close(g.release)
		full := errors.New("no space left")
		calls := 0
		if err := recorder.Run(t.Context(), asker(g), questions(50), 1, 4, func(recorder.Result) error { calls++; return full }); !errors.Is(err, full) || calls != 1 {
			t.Errorf("got %v after %d results", err, calls)
		}
		ctx, cancel := context.WithCancel(t.Context())
		shut := &gate{}
		ended := make(chan error)
		go func() {
			ended <- recorder.Run(ctx, asker(shut), questions(50), 1, 4, func(recorder.Result) error { t.Error("a result"); return nil })
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) || shut.under.Load() != 0 {
			t.Errorf("got %v, with %d calls under way", err, shut.under.Load())
		}
	})
}

// A run without an end is the one to go on with, whatever only reported since; one with an end is not. A cut line hurts nobody.
func TestJournal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "record.jsonl")
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	run := func(plan recorder.Plan, kept string, end bool) *recorder.Unfinished {
		t.Helper()
		j, u, err := recorder.OpenJournal(file)
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(j.Begin(at, "endpoint", plan), j.Attempt(recorder.Attempt{ID: "a"}))
		if kept != "" {
			err = errors.Join(err, j.Keep(recorder.Kept{ID: kept, Outcome: "DRIFT"}))
		}
		if end {
			err = errors.Join(err, j.End(at))
		}
		if err = errors.Join(err, j.Close()); err != nil {
			t.Fatal(err)
		}
		return u
	}
	one, five := recorder.Plan{Repeats: 1}, recorder.Plan{Repeats: 5}
	if u := run(one, "a", true); u != nil {
		t.Errorf("before any run: %+v", u)
	}
	if u := run(one, "b", false); u != nil {
		t.Errorf("behind a run that ended: %+v", u)
	}
	if err := appendTo(file, `{"event":"kept","run":"`); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a report of the spread is no run to go on with, and ends none
		if u := run(five, "", true); u == nil || len(u.Kept) != 1 || u.Kept[0].ID != "b" || !u.At.Equal(at) {
			t.Errorf("behind a run that was interrupted: %+v", u)
		}
	}
	if err := appendTo(file, `{"event":`); err != nil {
		t.Fatal(err)
	}
	run(one, "c", false)
	if u := run(five, "", true); u == nil || len(u.Kept) != 1 || u.Kept[0].ID != "c" {
		t.Errorf("behind a cut line: %+v", u)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the log has the mode %v, %v", info.Mode(), err)
	}
}

func appendTo(file, text string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
