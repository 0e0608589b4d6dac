package recorder

import "fmt"

// Plan is the arithmetic of a run before any call (S10): recordings x average prompt tokens x runs a day.
type Plan struct {
	Recordings int `json:"recordings"`
	// Repeats is how many answers each recording gets.
	Repeats int `json:"repeats"`
	// AverageTokens is estimated: a token is taken to be four bytes of the prompt's file.
	AverageTokens float64 `json:"average_prompt_tokens"`
	// Tokens are those of one run, TokensADay of all its runs; 0 where it was not said how many there are.
	Tokens     uint64  `json:"prompt_tokens"`
	RunsADay   float64 `json:"runs_a_day,omitempty"`
	TokensADay uint64  `json:"prompt_tokens_a_day,omitempty"`
}

// bytesAToken is the estimate of Plan: about right for English prose, too low for code, other scripts and digits.
const bytesAToken = 4

// NewPlan does the arithmetic for questions that are asked repeats times each, in runsADay runs a day.
func NewPlan(questions []Question, repeats int, runsADay float64) Plan {
	p := Plan{Recordings: len(questions), Repeats: repeats, RunsADay: runsADay}
	var bytes uint64
	for _, q := range questions {
		bytes += uint64(len(q.Prompt) + len(q.Schema))
	}
	tokens := (bytes + bytesAToken - 1) / bytesAToken
	if len(questions) > 0 {
		p.AverageTokens = float64(tokens) / float64(len(questions))
	}
	p.Tokens = tokens * uint64(repeats)
	p.TokensADay = uint64(float64(p.Tokens) * runsADay)
	return p
}

// String gives the arithmetic in one line a factor.
func (p Plan) String() string {
	s := fmt.Sprintf("%d recordings x %.1f prompt tokens on average", p.Recordings, p.AverageTokens)
	if p.Repeats > 1 {
		s += fmt.Sprintf(" x %d answers each", p.Repeats)
	}
	s += fmt.Sprintf(" = %d prompt tokens a run", p.Tokens)
	if p.RunsADay > 0 {
		s += fmt.Sprintf(", x %g runs a day = %d a day", p.RunsADay, p.TokensADay)
	}
	return s + fmt.Sprintf("\nestimated at %d bytes a token; answers come on top, and attempts that fail may be charged: %d a call at most", bytesAToken, MaxAttempts)
}
