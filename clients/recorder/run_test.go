package recorder_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrial-dev/retrial/clients/recorder"
)

// gate is a model whose calls wait until so many are under way.
type gate struct {
	mu          sync.Mutex
	now, most   int
	want        int
	open        chan struct{}
	shut        bool // only ctx ends a call
	answersWith func(q recorder.Question) (recorder.Answer, error)
}

// Ask implements recorder.Model.
func (g *gate) Ask(ctx context.Context, q recorder.Question) (recorder.Answer, error) {
	g.mu.Lock()
	g.now++
	if g.most = max(g.most, g.now); g.now == g.want {
		g.want = -1
		close(g.open)
	}
	g.mu.Unlock()
	open := g.open
	if g.shut {
		open = nil
	}
	select {
	case <-open:
	case <-ctx.Done():
		return recorder.Answer{}, ctx.Err()
	}
	g.mu.Lock()
	g.now--
	g.mu.Unlock()
	return g.answersWith(q)
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
	g := &gate{want: 3, open: make(chan struct{}), answersWith: func(q recorder.Question) (recorder.Answer, error) {
		if q.ID == "4" {
			return recorder.Answer{}, errors.New("not this one")
		}
		return recorder.Answer{Value: []byte(q.ID)}, nil
	}}
	var seen []string
	err := recorder.Run(t.Context(), asker(g), questions(10), 2, 3, func(r recorder.Result) error {
		text := fmt.Sprint(r.Index)
		if r.Err != nil {
			text += " " + r.Err.Error()
		} else if string(r.Answers[0].Value) != fmt.Sprint(r.Index) || len(r.Answers) != 2 || r.Answers[1].Value == nil {
			t.Errorf("%d: %v", r.Index, r.Answers)
		}
		seen = append(seen, text)
		return nil
	})
	slices.Sort(seen)
	if err != nil || strings.Join(seen, ",") != "0,1,2,3,4 not this one,5,6,7,8,9" {
		t.Errorf("got %v, %v", seen, err)
	}
	if g.most != 3 {
		t.Errorf("%d calls were under way at once, want 3", g.most)
	}
}

// What keeps the answers ends the run where it cannot, and a run that is cancelled ends with calls under way.
func TestRunEnds(t *testing.T) {
	open := make(chan struct{})
	close(open)
	full := errors.New("no space left")
	g := &gate{open: open, want: -1, answersWith: func(recorder.Question) (recorder.Answer, error) { return recorder.Answer{Value: []byte("1")}, nil }}
	calls := 0
	err := recorder.Run(t.Context(), asker(g), questions(50), 1, 4, func(recorder.Result) error { calls++; return full })
	if !errors.Is(err, full) || calls != 1 {
		t.Errorf("got %v after %d results", err, calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	shut := &gate{open: make(chan struct{}), want: 4, shut: true}
	go func() {
		<-shut.open
		cancel()
	}()
	if err := recorder.Run(ctx, asker(shut), questions(50), 1, 4, func(recorder.Result) error { t.Error("a result"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
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
