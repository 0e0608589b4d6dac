// Package customerdata finds text that looks like data of a customer, or like a secret (S12).
//
// It promises no completeness: names and addresses have no form. It prefers forms that carry a check of their own (a card's
// last digit, an IBAN's two) or a separator that only people write, so that ids, digests and instants of fixtures are left
// alone. What is reserved for examples (example.com, 555-01xx) is nobody's.
package customerdata

import (
	"fmt"
	"slices"
	"strings"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Kind says what a text looks like.
type Kind string

// The kinds.
const (
	Email      Kind = "email"
	Phone      Kind = "phone"
	Card       Kind = "card"
	IBAN       Kind = "iban"
	NationalID Kind = "national_id"
	Secret     Kind = "secret"
)

// Kinds lists every kind.
func Kinds() []Kind { return []Kind{Email, Phone, Card, IBAN, NationalID, Secret} }

// Finding is one place in a document. What stands there is not repeated.
type Finding struct {
	// Path leads to the field, such as "messages[0].content"; for text that is no JSON it is "line 3".
	Path string
	Kind Kind
}

// String gives "PATH looks like KIND".
func (f Finding) String() string {
	return fmt.Sprintf("%s looks like %s", f.Path, map[Kind]string{
		Email: "an e-mail address", Phone: "a phone number", Card: "the number of a payment card", IBAN: "the number of a bank account",
		NationalID: "a national id", Secret: "a key or a password",
	}[f.Kind])
}

// InText looks at a text line by line. Findings are in its order, one for each line and kind.
func InText(text string) (out []Finding) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		for _, k := range kindsOf(line) {
			out = append(out, Finding{fmt.Sprintf("line %d", n), k})
		}
	}
	return out
}

// InJSON looks at every string, name and number of a canonical document, in its order.
func InJSON(doc []byte) []Finding { return walk(nil, "", doc) }

// In looks at a document where src is one object or array, and else at a text.
func In(src []byte) []Finding {
	if doc, err := fixture.Canonicalize(nil, src); err == nil && (doc[0] == '{' || doc[0] == '[') {
		return InJSON(doc)
	}
	return InText(string(src))
}

func walk(out []Finding, path string, doc []byte) []Finding {
	add := func(path, text string) {
		for _, k := range kindsOf(text) {
			if path == "" {
				path = "the value"
			}
			out = append(out, Finding{path, k})
		}
	}
	switch doc[0] {
	case '{':
		for k, v := range fixture.Members(doc) {
			at := fixture.Printable(string(k), 80)
			if len(kindsOf(string(k))) > 0 {
				at = "(a name)" // the path must not say it either
			}
			if path != "" {
				at = path + "." + at
			}
			add(at, string(k))
			out = walk(out, at, v)
		}
	case '[':
		i := 0
		for v := range fixture.Items(doc) {
			out = walk(out, fmt.Sprintf("%s[%d]", path, i), v)
			i++
		}
	default:
		add(path, unquote(doc))
	}
	return out
}

// Mask replaces what looks like customer data by its kind in brackets, for logs and messages.
func Mask(text string) string {
	for _, p := range patterns {
		text = p.form.ReplaceAllStringFunc(text, func(found string) string {
			if p.check != nil && !p.check(found) {
				return found
			}
			return "[" + string(p.kind) + "]"
		})
	}
	return text
}

// kindsOf gives the kinds of a text, each once, in the order of the table.
func kindsOf(text string) (out []Kind) {
	n := countDigits(text)
	for _, p := range patterns {
		if slices.Contains(out, p.kind) || !may(text, n, p.digits, p.hints) {
			continue
		}
		for _, at := range p.form.FindAllStringIndex(text, -1) {
			if found := text[at[0]:at[1]]; apart(text, at[0], at[1], p.kind) && (p.check == nil || p.check(found)) {
				out = append(out, p.kind)
				break
			}
		}
	}
	return out
}

// apart says whether a number stands by itself: digits within an id, a fraction or a longer number are none of these kinds.
func apart(text string, from, to int, k Kind) bool {
	if k == Email || k == Secret {
		return true
	}
	inner := func(c byte) bool {
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '-' || c == '/'
	}
	if from > 0 && (inner(text[from-1]) || text[from-1] == '.' && from > 1 && inner(text[from-2]) || text[from-1] == '+') {
		return false
	}
	return to == len(text) || !inner(text[to]) && (text[to] != '.' || to+1 == len(text) || !inner(text[to+1]))
}
