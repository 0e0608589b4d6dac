package modelserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// refusal is why something is not answered. Clients of OpenAI try again what failed by 408, 409, 429 or 5xx: it has none of those
// where that would help nobody.
type refusal struct {
	status  int
	code    string
	message string
}

func unknown(format string, args ...any) *refusal {
	return &refusal{http.StatusNotFound, "not_recorded", fmt.Sprintf(format, args...)}
}

func ambiguous(format string, args ...any) *refusal {
	return &refusal{http.StatusUnprocessableEntity, "ambiguous", fmt.Sprintf(format, args...)}
}

func malformed(err error) *refusal {
	return &refusal{http.StatusBadRequest, "malformed", err.Error()}
}

func unfit(err error) *refusal {
	return &refusal{http.StatusUnprocessableEntity, "not_supported", err.Error()}
}

func unbound() *refusal {
	return &refusal{http.StatusUnprocessableEntity, "not_bound", "no run is under way, and so nothing is recorded: a checker asks a model while it decides a case, and not before"}
}

var errTooLarge = errors.New("the request is over the limit of what a recording can have")

// maxMessage bounds what a refusal says, in bytes.
const maxMessage = 700

// refuse says no, to whoever asked and to whoever reads the run.
func (e *Endpoint) refuse(w http.ResponseWriter, fixtureID, what string, r *refusal) {
	message := fixture.Printable(what+": "+r.message, maxMessage)
	e.mu.Lock()
	key := fixtureID + "\x00" + message
	if _, known := e.refused[key]; !known {
		if len(e.refused) < maxRefused {
			e.refused[key] = Refusal{FixtureID: fixtureID, Message: message}
		} else {
			e.more++
		}
	}
	e.mu.Unlock()
	body, err := json.Marshal(map[string]any{"error": map[string]any{"message": "retrial: " + message, "type": "invalid_request_error", "param": nil, "code": r.code}})
	if err != nil {
		body = []byte(`{"error":{"message":"retrial: refused"}}`)
	}
	w.Header().Set("x-should-retry", "false")
	writeBody(w, r.status, body)
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // whoever asked may be gone
}
