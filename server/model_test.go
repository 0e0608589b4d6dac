//go:build linux

package server_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/retrial-dev/retrial/clients/retrial"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
	"github.com/retrial-dev/retrial/server"
)

// asksModel is a checker that asks a model over plain HTTP and decides by what it says: `BINARY asks-model MODE`.
type asksModel struct{ mode string }

// Describe implements retrial.Checker.
func (a asksModel) Describe() retrial.Description {
	return retrial.Description{Name: a.mode, Version: "1"}
}

// Check implements retrial.Checker.
func (a asksModel) Check(ctx context.Context, c *retrial.Case) (retrial.Outcome, error) {
	n, _ := c.Value("n")
	prompt := fmt.Sprintf("Which label has %s?", n)
	changed := fmt.Sprint(marked%modelledCount) == string(n)
	switch {
	case a.mode == "never":
		return asDecided(n)
	case a.mode == "changed" && changed, a.mode == "changed-with-handle" && changed, a.mode == "swallows" && changed:
		prompt += " Be brief."
	}
	handle := ""
	if strings.HasSuffix(a.mode, "-with-handle") {
		handle = c.Handle()
	}
	reason, err := askModel(ctx, prompt, handle)
	if err != nil && a.mode == "swallows" {
		return asDecided(n) // as if nothing had happened
	}
	if err != nil {
		return retrial.Outcome{}, err
	}
	verdict := "drop"
	if reason == "fresh" {
		verdict = "keep"
	}
	return retrial.Outcome{Verdict: verdict, ReasonCode: reason}, nil
}

func asDecided(n []byte) (retrial.Outcome, error) {
	var i int
	if err := json.Unmarshal(n, &i); err != nil {
		return retrial.Outcome{}, err
	}
	o := right(i)
	return retrial.Outcome{Verdict: o.GetVerdict(), ReasonCode: o.GetReasonCode()}, nil
}

// askModel asks as a client of OpenAI does.
func askModel(ctx context.Context, prompt, handle string) (string, error) {
	body, err := json.Marshal(map[string]any{"model": "m", "messages": []any{map[string]any{"role": "user", "content": prompt}}})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("OPENAI_BASE_URL")+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+os.Getenv("OPENAI_API_KEY"))
	if handle != "" {
		req.Header.Set("Retrial-Case", handle)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close() // it was read
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d: %s %w", res.StatusCode, text, err)
	}
	var out struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return "", err
	}
	return out.Choices[0].Message.Content, nil
}

const modelledCount = 60

// modelled is the stub of a fixture with its prompt.
func modelled(n int, call, prompt string) []byte {
	return fmt.Appendf(nil, `{"fixture_id":%q,"call":%q,"value":%q,"recording":{"model":"m","prompt":%q,"prompt_sha256":%q,"recorded_at":"2026-01-01T00:00:00Z","max_age_days":0,"owner":"ada"}}`,
		fixtureID(n), call, right(n).GetReasonCode(), prompt, sha256Of(prompt))
}

// R19: a checker that calls a model by itself is replayed: what was recorded answers it, and what was not stops the release,
// whatever the checker makes of the error. In the sandbox strict, where the kernel has Landlock and this is root.
func TestR19ModelEndpoint(t *testing.T) {
	level := "strict"
	if abi, _, _ := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION); os.Getuid() != 0 || int(abi) < 3 {
		level = "off"
	}
	modes := []string{"asks", "asks-with-handle", "changed", "changed-with-handle", "swallows", "never"}
	b := newBench(t, func(*bench) map[string]server.CheckerConfig {
		checkers := map[string]server.CheckerConfig{}
		for _, mode := range modes {
			checkers[mode] = server.CheckerConfig{Command: []string{os.Args[0], "asks-model", mode}, Env: []string{"GORACE=atexit_sleep_ms=0"}, Sandbox: level, ModelEndpoint: true}
		}
		bare := checkers["asks"]
		bare.ModelEndpoint = false
		checkers["bare"] = bare
		return checkers
	})
	b.push(t, "modelled", modelledCount, func(n int) []byte { return modelled(n, "label", fmt.Sprintf("Which label has %d?\n", n)) })
	changed := fixtureID(marked % modelledCount)
	for _, tt := range []struct {
		baseline, candidate string
		ruling              gatev1.Ruling
		want                map[string][]string // subjects by code
	}{
		{"asks", "asks", gatev1.Ruling_RULING_PASS, nil},
		{"asks", "asks-with-handle", gatev1.Ruling_RULING_PASS, nil},
		{"asks", "changed", gatev1.Ruling_RULING_BLOCK, map[string][]string{"STUB_MISSING": {"changed"}, "CHECKER_ERROR": {changed}}},
		{"asks", "changed-with-handle", gatev1.Ruling_RULING_BLOCK, map[string][]string{"STUB_MISSING": {changed}, "CHECKER_ERROR": {changed}}},
		{"asks", "swallows", gatev1.Ruling_RULING_BLOCK, map[string][]string{"STUB_MISSING": {"swallows"}}},
		{"swallows", "asks", gatev1.Ruling_RULING_BASELINE_UNCONFIRMED, map[string][]string{"STUB_MISSING": {"swallows"}}},
		{"asks", "never", gatev1.Ruling_RULING_PASS, map[string][]string{"STUBS_BYPASSED": {fixtureID(0)}}},
		{"never", "never", gatev1.Ruling_RULING_BLOCK, map[string][]string{"STUBS_BYPASSED": {fixtureID(0)}}},
	} {
		t.Run(tt.baseline+", "+tt.candidate, func(t *testing.T) {
			r := b.replay(t, t.Name(), &replayv1.ReplayRequest{Set: "modelled", Baseline: named(tt.baseline), Candidate: named(tt.candidate)})
			if r.err != nil || r.decision.GetRuling() != tt.ruling {
				t.Errorf("got %s, %v, want %s", r.decision.GetSummary(), r.err, tt.ruling)
			}
			for _, code := range []string{"STUB_MISSING", "CHECKER_ERROR", "STUBS_BYPASSED", "STUB_UNUSED"} {
				var got []string
				for _, f := range r.findings {
					if f.GetCode() == code {
						got = append(got, f.GetSubject())
						checkSaid(t, f.GetMessage())
					}
				}
				if code == "STUB_UNUSED" && tt.baseline == "asks" && (tt.candidate == "never" || tt.candidate == "asks") && len(got) > 0 {
					t.Errorf("unused: %q", got)
				}
				if code != "STUB_UNUSED" && !slices.Equal(got, tt.want[code]) {
					t.Errorf("%s: got %q, want %q", code, got, tt.want[code])
				}
			}
			if tt.want == nil && len(r.findings) > 0 {
				t.Errorf("findings: %v", r.findings)
			}
			if got := r.decision.GetBaseline().GetSandbox(); got != level {
				t.Errorf("the sandbox is %s, want %s", got, level)
			}
		})
	}
	// Without the endpoint the same checker reaches no model, and no decision comes of it that could be a pass.
	r := b.replay(t, t.Name(), &replayv1.ReplayRequest{Set: "modelled", Baseline: named("bare"), Candidate: named("bare")})
	b.checkNoPass(t, "modelled", r)
}

func sha256Of(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
