package recorder

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/retrial-dev/retrial/clients/customerdata"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// MinSecretBytes is how long a secret is at least. What is shorter is a word that servers without keys are given, such as
// "none": taking it out of every text would hide more than it protects.
const MinSecretBytes = 8

// Secrets are values that must stand in no text that leaves this process, in any of the forms that servers and proxies echo.
// The zero value knows none. Not to be printed.
type Secrets struct{ forms []string }

// NewSecrets knows values, and their forms in JSON, URLs and basic authentication.
func NewSecrets(values ...string) Secrets {
	var s Secrets
	for _, v := range values {
		if bare := strings.TrimSpace(v); bare != v { // a line feed of a pasted one is sent by nobody
			s.forms = append(s.forms, NewSecrets(bare).forms...)
		}
		if len(v) < MinSecretBytes {
			continue
		}
		quoted, _ := json.Marshal(v) // a string always can be
		s.forms = append(s.forms,
			v, strings.Trim(string(quoted), `"`), url.QueryEscape(v), url.PathEscape(v),
			base64.StdEncoding.EncodeToString([]byte(v)), base64.RawURLEncoding.EncodeToString([]byte(v)), base64.StdEncoding.EncodeToString([]byte(":"+v)),
		)
	}
	return s
}

// In says whether a text has a secret in it.
func (s Secrets) In(text string) bool {
	for _, form := range s.forms {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

// String hides the secrets from whoever prints them.
func (s Secrets) String() string { return "(secrets)" }

// GoString is String, for %#v.
func (s Secrets) GoString() string { return s.String() }

// maxText bounds a text of somebody else's in a log or a message, in bytes.
const maxText = 300

// Clean makes a text of somebody else's fit for a log: without secrets, without customer data, bounded, on one line. Secrets go
// first, so that the bound cuts none in two.
func (s Secrets) Clean(text string) string {
	return fixture.Printable(customerdata.Mask(s.Hide(text)), maxText)
}

// Hide takes the secrets out of a text, and leaves the rest as it is.
func (s Secrets) Hide(text string) string {
	for _, form := range s.forms {
		text = strings.ReplaceAll(text, form, "[secret]")
	}
	return text
}
