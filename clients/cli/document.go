package cli

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// indent prints a document for a person. Numbers and strings stay as they are.
func indent(doc []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, doc, "  ", "  ") != nil {
		return string(doc)
	}
	return "  " + b.String()
}

// membersOf gives the members of a canonical object.
func membersOf(doc []byte) map[string]string {
	out := map[string]string{}
	for k, v := range fixture.Members(doc) {
		out[string(k)] = string(v)
	}
	return out
}

func sortedUnion(a, b map[string]string) []string {
	names := slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))
	slices.Sort(names)
	return slices.Compact(names)
}

// orNone shows a value, cut to what fits on a line, or that there is none.
func orNone(v string) string {
	const most = 60
	switch {
	case v == "":
		return "(none)"
	case len(v) > most:
		return strings.ToValidUTF8(v[:most], "") + "…"
	}
	return v
}
