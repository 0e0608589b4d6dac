package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// TestMain lets the test binary be the programs that scripts call.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"retrial": retrialMain, "whimsical": whimsicalMain, "recorder": recorderMain})
}

func recorderMain() { os.Exit(retrial.ServeRecorder(scriptRecorder{})) }

// scriptRecorder is a recorder that answers with the prompt and has a token.
type scriptRecorder struct{}

// Describe implements retrial.Recorder.
func (scriptRecorder) Describe() retrial.RecorderDescription {
	return retrial.RecorderDescription{Name: "script", Version: "1", Models: []string{"m"}}
}

// Record implements retrial.Recorder.
func (scriptRecorder) Record(_ context.Context, q retrial.Question) (retrial.Answer, error) {
	if os.Getenv("MODEL_TOKEN") == "" {
		return retrial.Answer{}, errors.New("no token")
	}
	if strings.Contains(string(q.Prompt), "fail") {
		return retrial.Answer{}, fmt.Errorf("%s is not admitted", os.Getenv("MODEL_TOKEN"))
	}
	value, err := json.Marshal(string(q.Prompt))
	return retrial.Answer{Value: value, InputTokens: 1}, err
}
