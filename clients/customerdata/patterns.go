package customerdata

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// patterns are all forms. A check, where there is one, rules out what only has the form. Nine texts in ten have none of the hints,
// or not that many digits, and cost no regular expression: sets are looked at whenever they are read.
var patterns = []struct {
	kind   Kind
	form   *regexp.Regexp
	check  func(found string) bool
	hints  []string // one of them stands in every match
	digits int      // at least so many stand in every match
}{
	{Email, regexp.MustCompile(`[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}`), notReserved, []string{"@"}, 0},
	{Phone, regexp.MustCompile(`\+[1-9][0-9]{0,2}[ .-]?(?:\([0-9]{1,4}\)[ .-]?)?(?:[0-9]{2,5}[ .-]?){2,5}`), isPhone, []string{"+"}, 9},
	{Phone, regexp.MustCompile(`(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[-.])[2-9][0-9]{2}[-.][0-9]{4}`), isPhone, nil, 10},
	{Card, regexp.MustCompile(`(?:4[0-9]{3}|5[1-5][0-9]{2}|2[2-7][0-9]{2}|6011|65[0-9]{2})(?:[ -]?[0-9]{4}){3}`), luhn, nil, 16},
	{Card, regexp.MustCompile(`3[47][0-9]{2}[ -]?[0-9]{6}[ -]?[0-9]{5}`), luhn, nil, 15},
	{IBAN, regexp.MustCompile(`[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?`), isIBAN, nil, 4},
	{NationalID, regexp.MustCompile(`[0-8][0-9]{2}-[0-9]{2}-[0-9]{4}`), isSSN, []string{"-"}, 9},
	{Secret, regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----`), nil, []string{"PRIVATE KEY"}, 0},
	{Secret, regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`), nil, []string{"AKIA", "ASIA"}, 0},
	{Secret, regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_[A-Za-z0-9_]{22,}|\bglpat-[A-Za-z0-9_-]{20,}`), nil, []string{"gh", "glpat-"}, 0},
	{Secret, regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{20,}|\b[sr]k_live_[A-Za-z0-9]{16,}`), nil, []string{"sk-", "k_live_"}, 0},
	{Secret, regexp.MustCompile(`\bxox[abposr]-[A-Za-z0-9-]{10,}|\bAIza[0-9A-Za-z_-]{35}`), nil, []string{"xox", "AIza"}, 0},
	{Secret, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`), nil, []string{"eyJ"}, 0},
	{Secret, regexp.MustCompile(`(?i)\bbearer [a-z0-9._~+/-]{16,}`), nil, []string{"earer", "EARER"}, 0},
}

// may says whether a text with so many digits is worth a regular expression.
func may(text string, digits, wanted int, hints []string) bool {
	return digits >= wanted && (hints == nil || slices.ContainsFunc(hints, func(h string) bool { return strings.Contains(text, h) }))
}

func countDigits(text string) (n int) {
	for i := range len(text) {
		if text[i] >= '0' && text[i] <= '9' {
			n++
		}
	}
	return n
}

// notReserved rules out the domains that RFC 2606 and RFC 6761 keep for examples.
func notReserved(address string) bool {
	_, domain, _ := strings.Cut(strings.ToLower(address), "@")
	labels := strings.Split(domain, ".")
	switch last := labels[len(labels)-1]; last {
	case "example", "test", "invalid", "localhost":
		return false
	case "com", "org", "net":
		return labels[len(labels)-2] != "example"
	}
	return true
}

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

// isPhone holds the length of E.164, and rules out 555-0100 to 555-0199, which are nobody's.
func isPhone(s string) bool {
	d := digits(s)
	return len(d) >= 9 && len(d) <= 15 && (len(d) > 11 || !strings.HasPrefix(d[len(d)-7:], "55501"))
}

// luhn holds the check digit of ISO/IEC 7812.
func luhn(s string) bool {
	d, sum := digits(s), 0
	for i := range d {
		n := int(d[len(d)-1-i] - '0')
		if i%2 == 1 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum%10 == 0
}

// ibanLengths has the countries whose accounts are told by an IBAN (ISO 13616) and how long theirs are.
var ibanLengths = map[string]int{
	"AD": 24, "AE": 23, "AT": 20, "BE": 16, "BG": 22, "BH": 22, "BR": 29, "CH": 21, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "EE": 20,
	"ES": 24, "FI": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "HR": 21, "HU": 28, "IE": 22, "IL": 23,
	"IS": 26, "IT": 27, "KW": 30, "KZ": 20, "LB": 28, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "MC": 27, "MD": 24, "ME": 22, "MK": 19,
	"MT": 31, "NL": 18, "NO": 15, "PK": 24, "PL": 28, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "SA": 24, "SE": 24, "SI": 19, "SK": 24,
	"SM": 27, "TN": 24, "TR": 26, "UA": 29,
}

// isIBAN holds length and check digits: the number, its first four characters moved to the end and letters read as 10 to 35, is 1
// modulo 97.
func isIBAN(s string) bool {
	s = strings.ReplaceAll(s, " ", "")
	n, ok := ibanLengths[s[:2]]
	if !ok || len(s) < n {
		return false
	}
	s = s[:n] // a word in capitals may follow
	rest := 0
	for _, c := range s[4:] + s[:4] {
		switch {
		case c >= 'A':
			rest = (rest*100 + int(c-'A') + 10) % 97
		default:
			rest = (rest*10 + int(c-'0')) % 97
		}
	}
	return rest == 1
}

// isSSN rules out the areas that no social security number of the United States has.
func isSSN(s string) bool {
	return s[:3] != "000" && s[:3] != "666" && s[4:6] != "00" && s[7:] != "0000"
}

// unquote gives a JSON string as text, and a number as it stands there.
func unquote(doc []byte) string {
	var s string
	if doc[0] != '"' || json.Unmarshal(doc, &s) != nil {
		return string(doc)
	}
	return s
}
