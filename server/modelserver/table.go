package modelserver

import (
	"slices"
	"strings"
	"time"

	"github.com/retrial-dev/retrial/stub"
)

// Recording is an answer that can be given.
type Recording struct {
	FixtureID, Call, Model string
	// Value is the answer as canonical JSON.
	Value string
	// Settings are those of stub.Request; nil where the prompt was a text.
	Settings   []byte
	RecordedAt time.Time
}

// Table has the recordings of a version by what was asked. It is not changed any more once an Endpoint has it.
type Table struct {
	byKey  map[string][]Recording // kind and key, in the order in which they were added
	models []string               // ascending
}

// NewTable makes an empty table.
func NewTable() *Table { return &Table{byKey: map[string][]Recording{}} }

// Add adds a stub, if it was recorded with its prompt: without one nobody knows what it answers. The error is for a prompt that
// begins like a request to a model and is none.
func (t *Table) Add(s *stub.Stub) error {
	r := s.Recording
	if r == nil || r.Prompt == nil {
		return nil
	}
	asked, err := stub.RequestKey(r.Prompt)
	if err != nil {
		return err
	}
	at := asked.Kind + asked.Key
	t.byKey[at] = append(t.byKey[at], Recording{
		FixtureID: s.FixtureID, Call: s.Call, Model: r.Model, Value: string(s.Value), Settings: asked.Settings, RecordedAt: r.RecordedAt,
	})
	if i, known := slices.BinarySearch(t.models, r.Model); !known {
		t.models = slices.Insert(t.models, i, r.Model)
	}
	return nil
}

// find gives the recordings that answer a request, or says why there is none. Each step leaves out what does not fit, and what
// is left of the last one must have one value: where it has several, nobody knows which of them was meant.
func (t *Table) find(asked stub.Request, model, fixtureID string) ([]Recording, *refusal) {
	found := t.byKey[asked.Kind+asked.Key]
	if len(found) == 0 {
		return nil, unknown("nobody recorded it; if the prompt was changed on purpose, record it anew")
	}
	if fixtureID != "" {
		if found = keep(found, func(r Recording) bool { return r.FixtureID == fixtureID }); len(found) == 0 {
			return nil, unknown("it was recorded for other fixtures, and not for this one")
		}
	}
	models := listed(found, func(r Recording) string { return r.Model })
	if found = keep(found, func(r Recording) bool { return r.Model == model }); len(found) == 0 {
		return nil, unknown("it was recorded from the model %s, and not from this one", models)
	}
	settings := listed(found, func(r Recording) string { return string(r.Settings) })
	found = keep(found, func(r Recording) bool { return r.Settings == nil || string(r.Settings) == string(asked.Settings) })
	if len(found) == 0 {
		return nil, unknown("it was recorded with the settings %s, and asked with %s", settings, asked.Settings)
	}
	for _, r := range found[1:] {
		if r.Value != found[0].Value {
			return nil, ambiguous("it was recorded with different answers, for %s: say for which case it is asked, by the header %s",
				listed(found, func(r Recording) string { return r.FixtureID + "." + r.Call }), CaseHeader)
		}
	}
	return found, nil
}

func keep(all []Recording, fits func(Recording) bool) (out []Recording) {
	for _, r := range all {
		if fits(r) {
			out = append(out, r)
		}
	}
	return out
}

// maxListed bounds what a message lists.
const maxListed = 3

// listed gives what recordings have, each once, and not all of it where that is much.
func listed(all []Recording, name func(Recording) string) string {
	var names []string
	for _, r := range all {
		if n := name(r); !slices.Contains(names, n) {
			if names = append(names, n); len(names) > maxListed {
				names[maxListed] = "…"
				break
			}
		}
	}
	return strings.Join(names, ", ")
}
