package recorder_test

import (
	"net/http"
	"strings"
	"testing"
)

// What has fewer or more embeddings than there were inputs, or something that is no number, is a failed recording.
func TestEmbeddingsAreAsManyAsInputs(t *testing.T) {
	for _, tt := range []struct{ name, prompt, data, want string }{
		{"one", `{"input":"x"}`, `[{"index":0,"embedding":[1]}]`, `[1]`},
		{"one in a list", `{"input":["x"]}`, `[{"index":0,"embedding":[1]}]`, `[1]`},
		{"the tokens of one", `{"input":[1,2,3]}`, `[{"index":0,"embedding":[1]}]`, `[1]`},
		{"two", `{"input":["x","y"]}`, `[{"index":1,"embedding":[2]},{"index":0,"embedding":[1]}]`, `[[1],[2]]`},
		{"too few", `{"input":["x","y"]}`, `[{"index":0,"embedding":[1]}]`, "1 embeddings for 2 inputs"},
		{"too many", `{"input":"x"}`, `[{"index":0,"embedding":[1]},{"index":1,"embedding":[2]}]`, "2 embeddings for 1 inputs"},
		{"none", `{"input":"x"}`, `[]`, "0 embeddings for 1 inputs"},
		{"one twice", `{"input":["x","y"]}`, `[{"index":0,"embedding":[1]},{"index":0,"embedding":[2]}]`, "no array of numbers for each input"},
		{"base64", `{"input":"x"}`, `[{"index":0,"embedding":"AAAA"}]`, "no array of numbers for each input"},
		{"no numbers", `{"input":"x"}`, `[{"index":0,"embedding":["a"]}]`, "no array of numbers for each input"},
		{"nothing in it", `{"input":"x"}`, `[{"index":0,"embedding":[]}]`, "no array of numbers for each input"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(`{"model":"e","data":` + tt.data + `}`))
			})
			q := question
			q.Prompt = []byte(tt.prompt)
			answer, err := b.Ask(t.Context(), q, 1)
			got := string(answer.Value)
			if err != nil {
				got = err.Error()
			}
			if got != tt.want && (err == nil || !strings.Contains(got, tt.want)) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if len(b.attempts) != 1 || b.attempts[0].OK != (err == nil) {
				t.Errorf("the log has %+v", b.attempts)
			}
		})
	}
}
