package recorder_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/retrial-dev/retrial/clients/recorder"
	"github.com/retrial-dev/retrial/clients/retrial"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/checkerhost"
)

// TestMain lets the test binary be a recorder: `BINARY recorder`; or a checker, which is none.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "recorder":
			os.Exit(retrial.ServeRecorder(&canned{}))
		case "checker":
			os.Exit(retrial.Serve(noRecorder{}))
		}
	}
	os.Exit(m.Run())
}

// canned answers as the prompt says.
type canned struct{ asked int }

// Describe implements retrial.Recorder.
func (*canned) Describe() retrial.RecorderDescription {
	return retrial.RecorderDescription{Name: "canned", Version: "1", Models: []string{"small-1"}}
}

// Record implements retrial.Recorder.
func (c *canned) Record(_ context.Context, q retrial.Question) (retrial.Answer, error) {
	c.asked++
	switch text := string(q.Prompt); text {
	case "twice":
		if c.asked == 1 {
			return retrial.Answer{}, retrial.Temporary(errors.New("busy"))
		}
	case "final":
		return retrial.Answer{}, fmt.Errorf("no: %s", os.Getenv("MODEL_TOKEN"))
	case "text":
		return retrial.Answer{Value: []byte("no JSON")}, nil
	case "crash":
		fmt.Fprintln(os.Stderr, "the token is", os.Getenv("MODEL_TOKEN"))
		os.Exit(3)
	}
	return retrial.Answer{Value: fmt.Appendf(nil, `{"b":%q, "a":%q}`, q.Model, q.RecordingID+string(q.Schema)), Model: "small-1-dated", InputTokens: 7, OutputTokens: 3}, nil
}

type noRecorder struct{}

// Describe implements retrial.Checker.
func (noRecorder) Describe() retrial.Description {
	return retrial.Description{Name: "checker", Version: "1"}
}

// Check implements retrial.Checker.
func (noRecorder) Check(context.Context, *retrial.Case) (retrial.Outcome, error) {
	return retrial.Outcome{}, errors.New("not asked")
}

func launch(t *testing.T, mode string) (*recorder.Plugin, error) {
	t.Helper()
	p, err := recorder.Launch(t.Context(), checkerhost.Command{Argv: []string{os.Args[0], mode}, Env: []string{"GORACE=atexit_sleep_ms=0", "MODEL_TOKEN=" + key}})
	if err == nil {
		t.Cleanup(func() { _ = p.Close() })
	}
	return p, err
}

// S9, S6: a real process as a recorder: answers, attempts, errors that are final, a crash. Its secrets stand in no error.
func TestS9Plugin(t *testing.T) {
	for _, tt := range []struct {
		prompt, want string
		attempts     int
	}{
		{"plain", `{"a":"triage-1{}","b":"small-1"}`, 1},
		{"twice", `{"a":"triage-1{}","b":"small-1"}`, 2},
		{"final", "no: [secret]", 1},
		{"text", "the recorder's answer is no JSON", 1},
		{"crash", "it ended: exit status 3", 3},
	} {
		t.Run(tt.prompt, func(t *testing.T) {
			p, err := launch(t, "recorder")
			if err != nil {
				t.Fatal(err)
			}
			if p.String() != "recorder canned 1" || !p.Reaches("small-1") || p.Reaches("large") {
				t.Errorf("it is %s", p)
			}
			b := newBench(t)
			b.Model = p
			answer, err := b.Ask(t.Context(), recorder.Question{ID: "triage-1", Model: "small-1", Prompt: []byte(tt.prompt), Schema: []byte("{}")}, 1)
			got := string(answer.Value)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, tt.want) || strings.Contains(got, key) || len(b.attempts) != tt.attempts {
				t.Errorf("got %s after %d attempts, want %s after %d", got, len(b.attempts), tt.want, tt.attempts)
			}
			if last := b.attempts[len(b.attempts)-1]; err == nil && (last.InputTokens != 7 || last.OutputTokens != 3 || last.Model != "small-1-dated") {
				t.Errorf("the log has %+v", last)
			}
		})
	}
}

func TestLaunchRefusesACheckerAndNothing(t *testing.T) {
	if _, err := launch(t, "checker"); fixture.CodeOf(err) != fixture.CodeUnavailable || !strings.Contains(err.Error(), "it is no recorder of this contract") {
		t.Errorf("a checker: %v", err)
	}
	if _, err := recorder.Launch(t.Context(), checkerhost.Command{Argv: []string{"./missing"}}); err == nil || !strings.Contains(err.Error(), "launch recorder ./missing") {
		t.Errorf("nothing: %v", err)
	}
}
