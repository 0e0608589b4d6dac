package adopt

import (
	"slices"
	"strings"
	"time"

	"github.com/retrial-dev/retrial/clients/recorder"
)

// promptfoo reads the results of an evaluation. Whether its assertions held does not matter: the model answered so.
func (r *reader) promptfoo(file string, doc any, made time.Time) {
	list, ok := at(doc, "results", "results").([]any)
	if !ok {
		r.skip(file, 0, "no results of promptfoo: there is no list at results.results")
		return
	}
	evaluated, undated := dated(at(doc, "results", "timestamp"), at(doc, "metadata", "evaluationCreatedAt"), at(doc, "metadata", "exportedAt"))
	cached := 0
	for i, one := range list {
		p := Pair{File: file, Position: i + 1, Vars: vars(at(one, "vars")), RecordedAt: evaluated}
		if p.Model = text(at(one, "provider")); p.Model == "" {
			p.Model = text(at(one, "provider", "id"))
		}
		value := at(one, "response", "output")
		if reason := text(at(one, "error")); value == nil && reason != "" {
			r.skip(file, p.Position, "the model gave no answer, but an error")
			continue
		}
		if err := recorder.Unfit(text(at(one, "response", "finishReason")), at(one, "response", "isRefusal") == true); err != nil {
			r.skip(file, p.Position, "%v", err)
			continue
		}
		if undated != nil {
			r.skip(file, p.Position, "%v", undated)
			continue
		}
		ask := at(one, "prompt", "raw")
		if ask == nil {
			r.skip(file, p.Position, "there is no prompt in it")
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(text(ask)), "- role:") {
			r.skip(file, p.Position, "its messages are YAML: write them as JSON")
			continue
		}
		var err error
		if p.Prompt, p.Extension, err = asked(messages(ask)); err != nil {
			r.skip(file, p.Position, "%v", err)
			continue
		}
		if at(one, "response", "cached") == true {
			cached++
		}
		r.add(p, value, made)
	}
	if cached > 0 {
		r.warn("%s: %d answers came out of a cache: they are older than the file says", file, cached)
	}
}

// messages gives the messages that promptfoo sends where the text of a prompt is a list of them, and else the prompt.
func messages(ask any) any {
	doc, err := decodeJSON([]byte(text(ask)))
	list, ok := doc.([]any)
	if err != nil || !ok || len(list) == 0 || slices.ContainsFunc(list, func(m any) bool { return text(at(m, "role")) == "" }) {
		return ask
	}
	return list
}
