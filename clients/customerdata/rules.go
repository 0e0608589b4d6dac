package customerdata

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Scrub replaces text in an answer before it is kept.
type Scrub struct {
	// Pattern is a regular expression in the syntax of Go (RE2).
	Pattern string `yaml:"pattern"`
	// Replace stands in its place; $1 is its first group.
	Replace string `yaml:"replace"`
}

// Rules are those of one set: what is scrubbed, and what is let stand. The zero value scrubs and allows nothing.
type Rules struct {
	scrub   []*regexp.Regexp
	replace []string
	allow   []Kind
}

// NewRules reads rules. A secret cannot be allowed. All that is wrong is reported.
func NewRules(scrub []Scrub, allow []string) (Rules, error) {
	var r Rules
	var errs []error
	for i, s := range scrub {
		form, err := regexp.Compile(s.Pattern)
		if err == nil && form.MatchString("") {
			err = fmt.Errorf("%q matches what is empty", s.Pattern)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("scrub: rule %d: %w", i+1, err))
			continue
		}
		r.scrub, r.replace = append(r.scrub, form), append(r.replace, s.Replace)
	}
	for _, name := range allow {
		switch k := Kind(name); {
		case k == Secret:
			errs = append(errs, errors.New("allow_data: a secret is never kept"))
		case !slices.Contains(Kinds(), k):
			errs = append(errs, fmt.Errorf("allow_data: %.40q is none of %v", name, Kinds()))
		default:
			r.allow = append(r.allow, k)
		}
	}
	return r, errors.Join(errs...)
}

// Disallowed gives the findings that the rules do not let stand.
func (r Rules) Disallowed(found []Finding) []Finding {
	return slices.DeleteFunc(found, func(f Finding) bool { return slices.Contains(r.allow, f.Kind) })
}

// Scrubbed gives a canonical document with the rules applied to every string, but not to names of members.
func (r Rules) Scrubbed(doc []byte) ([]byte, error) {
	if len(r.scrub) == 0 {
		return doc, nil
	}
	return fixture.Canonicalize(nil, r.rewrite(nil, doc))
}

func (r Rules) rewrite(out, doc []byte) []byte {
	sep := byte(0)
	next := func() {
		if sep != 0 {
			out = append(out, sep)
		}
		sep = ','
	}
	switch doc[0] {
	case '{':
		out = append(out, '{')
		for k, v := range fixture.Members(doc) {
			next()
			out = append(fixture.AppendString(out, k), ':')
			out = r.rewrite(out, v)
		}
		return append(out, '}')
	case '[':
		out = append(out, '[')
		for v := range fixture.Items(doc) {
			next()
			out = r.rewrite(out, v)
		}
		return append(out, ']')
	case '"':
		text := unquote(doc)
		for i, form := range r.scrub {
			text = form.ReplaceAllString(text, r.replace[i])
		}
		return fixture.AppendString(out, text)
	}
	return append(out, doc...)
}
