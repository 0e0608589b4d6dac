package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/retrial-dev/retrial/clients/cli/setdir"
	"github.com/retrial-dev/retrial/clients/recorder"
)

func (a *app) recordStubs(ctx context.Context, in io.Reader, dir string, ids []string, f recordFlags) (err error) {
	config, err := setdir.ReadConfig(dir)
	if err != nil {
		return err
	}
	rules, err := config.DataRules()
	if err != nil {
		return err
	}
	list, err := selectRecordings(dir, ids, f.stale, rules, time.Now())
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return a.tellNoneStale()
	}
	questions := make([]recorder.Question, len(list))
	for i, w := range list {
		questions[i] = w.question()
	}
	plan := recorder.NewPlan(questions, f.repeat, f.runsPerDay)
	if err := a.tellPlan(plan); err != nil {
		return err
	}
	if err := consent(ctx, in, f.yes); err != nil {
		return err
	}
	model, err := openModel(ctx, f, list)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, model.close()) }()
	journal, unfinished, err := openJournal(dir, f.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	if f.repeat > 1 && unfinished != nil && len(unfinished.Kept) > 0 { // this one keeps nothing, and would stand before it in the log
		return usage(errors.New("nothing was asked: a run was interrupted, and what it found is told by the one that goes on with it; do that first, without --repeat"))
	}
	asked := model.secrets.Hide(model.name)
	if err := journal.Begin(time.Now(), asked, plan); err != nil {
		return err
	}
	asker := &recorder.Asker{
		Model: model, Secrets: model.secrets, Timeout: f.timeout, Check: check(list, rules),
		Log: journal.Attempt, Now: time.Now, Pause: pause,
	}
	if f.repeat > 1 {
		return a.reportSpread(ctx, asker, list, questions, f, journal)
	}
	run := &recording{a: a, dir: dir, list: list, journal: journal, outcomes: make([]recorded, len(list)), found: make([]string, len(list))}
	if err := run.resume(unfinished, asked, f.restart); err != nil {
		return err
	}
	return run.ask(ctx, asker, questions, f)
}

// consent has somebody say yes. Without a terminal only the flag does: a script that hangs at a question says nothing.
func consent(ctx context.Context, in io.Reader, yes bool) error {
	if yes {
		return nil
	}
	terminal, ok := in.(*os.File)
	if ok = ok && isTerminal(terminal); ok {
		_, err := fmt.Fprint(terminal, "Go on? [y/N] ") // where it is answered, wherever the output goes
		ok = err == nil
	}
	if !ok {
		return usage(errors.New("nothing was asked: say --yes to go on without a terminal"))
	}
	said := make(chan string, 1)
	go func() { // ends with the process, if nobody answers
		line, _ := bufio.NewReader(in).ReadString('\n')
		said <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case answer := <-said:
		if answer == "y" || answer == "yes" {
			return nil
		}
	case <-ctx.Done():
	}
	return usage(errors.New("nothing was asked"))
}

// pause waits, or gives the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// openJournal opens the log of the attempts. Where it is our own place, git is told to leave that alone.
func openJournal(dir, file string) (*recorder.Journal, *recorder.Unfinished, error) {
	if file == "" {
		own := filepath.Join(dir, ".retrial")
		if err := os.MkdirAll(own, 0o750); err != nil {
			return nil, nil, err
		}
		ignore := filepath.Join(own, ".gitignore")
		if _, err := os.Lstat(ignore); errors.Is(err, os.ErrNotExist) {
			if err := os.WriteFile(ignore, []byte("*\n"), 0o600); err != nil {
				return nil, nil, err
			}
		}
		file = filepath.Join(own, "record.jsonl")
	}
	return recorder.OpenJournal(file)
}
