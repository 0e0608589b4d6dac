package modelserver

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

// CaseHeader says for which case something is asked, by the id that the case has in its stream, in decimal. It is optional.
const CaseHeader = "Retrial-Case"

// Bounds of what a checker can ask.
const (
	maxBodyBytes = fixture.MaxDocumentBytes
	maxRefused   = 100 // that are kept for a run, each once
)

// Endpoint answers one checker: an http.Handler. It refuses everything until Bind. Safe for concurrent use.
type Endpoint struct {
	mu      sync.Mutex // guards all below
	table   *Table
	cases   func(uint64) (string, bool)
	asked   map[string]bool // fixture and call
	refused map[string]Refusal
	told    map[string]bool // those of the refused that Refused gave
	more    int
}

// New makes an endpoint that refuses everything.
func New() *Endpoint {
	return &Endpoint{asked: map[string]bool{}, refused: map[string]Refusal{}, told: map[string]bool{}}
}

// Bind gives the endpoint what it answers from.
func (e *Endpoint) Bind(t *Table) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.table = t
}

// Cases says how the cases under way are found: by the id in CaseHeader, the id of the fixture.
func (e *Endpoint) Cases(find func(caseID uint64) (fixtureID string, ok bool)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cases = find
}

// Asked says whether the recording of a fixture's call was given as an answer.
func (e *Endpoint) Asked(fixtureID, call string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked[fixtureID+"\x00"+call]
}

// AskedAny says whether any recording was.
func (e *Endpoint) AskedAny() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.asked) > 0
}

// Refusal is something that was asked and not answered.
type Refusal struct {
	// FixtureID is the fixture's, where the checker said for which case it asked.
	FixtureID string
	// Message says what was asked, and why it was refused; bounded, and printable.
	Message string
}

// Refused gives what was refused and was not told before, each once, in ascending order of fixtures and messages. more counts
// what was refused beyond that.
func (e *Endpoint) Refused() (list []Refusal, more int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key, r := range e.refused {
		if !e.told[key] {
			e.told[key] = true
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b Refusal) int {
		return cmp.Or(strings.Compare(a.FixtureID, b.FixtureID), strings.Compare(a.Message, b.Message))
	})
	more, e.more = e.more, 0
	return list, more
}

// ServeHTTP implements http.Handler.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route := r.Method + " " + r.URL.Path
	var kind string
	switch route {
	case "POST /v1/chat/completions":
		kind = stub.Chat
	case "POST /v1/embeddings":
		kind = stub.Embeddings
	case "GET /v1/models":
		e.mu.Lock()
		t := e.table
		e.mu.Unlock()
		if t == nil {
			e.refuse(w, "", route, unbound())
			return
		}
		writeModels(w, t.models)
		return
	default:
		e.refuse(w, "", route, unknown("this endpoint has chat completions, embeddings and the list of models, each by its method and path, and nothing else"))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			err = errTooLarge
		}
		e.refuse(w, "", route, malformed(err))
		return
	}
	e.answer(w, r.Header.Values(CaseHeader), kind, body)
}

// answer answers a request to a model, or refuses it.
func (e *Endpoint) answer(w http.ResponseWriter, handle []string, kind string, body []byte) {
	asked, err := readCall(kind, body)
	if err != nil {
		e.refuse(w, "", kind, malformed(err))
		return
	}
	what := asked.String()
	fixtureID, r := e.fixture(handle)
	if r != nil {
		e.refuse(w, "", what, r)
		return
	}
	e.mu.Lock()
	t := e.table
	e.mu.Unlock()
	if t == nil {
		e.refuse(w, fixtureID, what, unbound())
		return
	}
	found, r := t.find(asked.Request, asked.model, fixtureID)
	if r != nil {
		e.refuse(w, fixtureID, what, r)
		return
	}
	write, err := asked.reply(found[0])
	if err != nil {
		e.refuse(w, fixtureID, what, unfit(err))
		return
	}
	e.credit(found)
	write(w)
}

// fixture gives the fixture of a case that is under way; "" where none is named.
func (e *Endpoint) fixture(handle []string) (string, *refusal) {
	if len(handle) == 0 {
		return "", nil
	}
	e.mu.Lock()
	find := e.cases
	e.mu.Unlock()
	id, err := strconv.ParseUint(handle[0], 10, 64)
	if err == nil && len(handle) == 1 && find != nil {
		if fixtureID, ok := find(id); ok {
			return fixtureID, nil
		}
	}
	return "", unknown("the header %s says %q, which is no case that this checker has been asked and has not answered", CaseHeader, strings.Join(handle, ", "))
}

func (e *Endpoint) credit(found []Recording) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range found {
		e.asked[r.FixtureID+"\x00"+r.Call] = true
	}
}
