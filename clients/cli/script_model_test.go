package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// modelKey is the key of every model of a script.
const modelKey = "sk-script-0123456789abcdef"

// modelTurn is what a model does where a prompt has its text.
type modelTurn struct {
	Prompt  string `json:"prompt"`
	Content string `json:"content"`
	// Status answers with an error, which sends back what it was sent. Hang answers never.
	Status int  `json:"status"`
	Hang   bool `json:"hang"`
}

// scriptModel is an OpenAI-compatible server whose behaviour is a file: a turn a line, the first one that fits.
type scriptModel struct {
	file string
	mu   sync.Mutex // guards what follows
	n    int
	bad  string
}

// model FILE: starts a model that does as a file says, whenever it is asked, and sets the environment of its clients.
func model(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: model FILE")
	}
	m := &scriptModel{file: ts.MkAbs(args[0])}
	s := httptest.NewServer(m)
	ts.Defer(s.Close)
	ts.Setenv("OPENAI_BASE_URL", s.URL+"/v1")
	ts.Setenv("OPENAI_API_KEY", modelKey)
	models.Store(ts.Getenv("WORK"), m)
}

// models has the model of each script, by its work directory.
var models sync.Map

// asked N: waits until the model has been asked so often.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: asked N")
	}
	v, _ := models.Load(ts.Getenv("WORK"))
	m := v.(*scriptModel)
	var n int
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		m.mu.Lock()
		var bad string
		n, bad = m.n, m.bad
		m.mu.Unlock()
		if bad != "" {
			ts.Fatalf("%s", bad)
		}
		if fmt.Sprint(n) == args[0] {
			return
		}
	}
	ts.Fatalf("the model was asked %d times, want %s", n, args[0])
}

// keyless: the key stands in no file of the script, and in nothing that the last command has printed.
func keyless(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: keyless")
	}
	n := 0
	ts.Check(filepath.WalkDir(ts.Getenv("WORK"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		n++
		if strings.Contains(string(b), modelKey) {
			ts.Fatalf("%s has the key in it", path)
		}
		return err
	}))
	if said := ts.ReadFile("stdout") + ts.ReadFile("stderr"); n == 0 || strings.Contains(said, modelKey) {
		ts.Fatalf("the key was printed: %s", said)
	}
}

// ServeHTTP implements http.Handler.
func (m *scriptModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	turns, readErr := m.turns()
	m.mu.Lock()
	m.n++
	if err != nil || readErr != nil || r.Header.Get("Authorization") != "Bearer "+modelKey || r.URL.Path != "/v1/chat/completions" {
		m.bad = fmt.Sprint(err, readErr, r.URL, r.Header)
	}
	m.mu.Unlock()
	for _, t := range turns {
		switch {
		case !strings.Contains(string(body), t.Prompt):
			continue
		case t.Hang:
			<-r.Context().Done()
		case t.Status != 0:
			w.WriteHeader(t.Status)
			fmt.Fprint(w, r.Header)
		default:
			text, _ := json.Marshal(t.Content)
			fmt.Fprintf(w, `{"model":"small-1","choices":[{"finish_reason":"stop","message":{"content":%s}}],"usage":{"prompt_tokens":5,"completion_tokens":1}}`, text)
		}
		return
	}
	http.Error(w, "no turn of the script is for this prompt", http.StatusNotFound)
}

func (m *scriptModel) turns() (out []modelTurn, err error) {
	f, err := os.Open(m.file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for d := json.NewDecoder(f); d.More(); {
		var t modelTurn
		if err := d.Decode(&t); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}
