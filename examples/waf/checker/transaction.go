package checker

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/corazawaf/coraza/v3/types"
)

// directives are the settings of the rule set's own regression tests: every rule reports and none interrupts, the
// paranoia level is the highest, and all limits are on. Rule 910000 asks for the reputation of an address.
const directives = `
SecRuleEngine DetectionOnly
SecRequestBodyAccess On
SecRequestBodyLimit 13107200
SecRequestBodyInMemoryLimit 131072
SecRequestBodyLimitAction ProcessPartial
SecResponseBodyAccess Off
SecArgumentsLimit 1000
SecRule REQUEST_HEADERS:Content-Type "^(?:application(?:/soap\+|/)|text/)xml" \
    "id:200000,phase:1,t:none,t:lowercase,pass,nolog,ctl:requestBodyProcessor=XML"
SecRule REQUEST_HEADERS:Content-Type "^application/json" \
    "id:200001,phase:1,t:none,t:lowercase,pass,nolog,ctl:requestBodyProcessor=JSON"
SecAction "id:900005,phase:1,nolog,pass,ctl:ruleEngine=DetectionOnly,ctl:ruleRemoveById=910000,\
    setvar:tx.blocking_paranoia_level=4,setvar:tx.detection_paranoia_level=4,\
    setvar:tx.crs_validate_utf8_encoding=1,setvar:tx.arg_name_length=100,setvar:tx.arg_length=400,\
    setvar:tx.total_arg_length=64000,setvar:tx.max_num_args=255,setvar:tx.max_file_size=64100,\
    setvar:tx.combined_file_sizes=65535"
Include @crs-setup.conf.example
Include @owasp_crs/*.conf
`

// Of the connection, the input has the client's address and the server's port. The rest is the same for every case.
const (
	clientPort = 54321
	serverAddr = "127.0.0.1"
	// transactionID is what a rule reads as UNIQUE_ID. Coraza would draw it at random.
	transactionID = "retrial"
)

// matched gives the rules that match a request. Everything that Coraza remembers of it lives in the transaction, which
// ends with the call: no case can see another.
func (c *Checker) matched(r request) (_ []types.MatchedRule, err error) {
	tx := c.waf.NewTransactionWithID(transactionID)
	defer func() { err = errors.Join(err, tx.Close()) }()

	tx.ProcessConnection(r.remoteAddr, clientPort, serverAddr, r.port)
	tx.ProcessURI(r.uri, r.method, r.version)
	// In the order of names: names that differ in case alone are one header to Coraza, which goes by the first, and the
	// order of a map differs from run to run.
	for _, name := range slices.Sorted(maps.Keys(r.headers)) {
		tx.AddRequestHeader(name, r.headers[name])
		if strings.EqualFold(name, "Host") {
			host, _, _ := strings.Cut(r.headers[name], ":")
			tx.SetServerName(host)
		}
	}
	tx.ProcessRequestHeaders()
	if _, _, err := tx.WriteRequestBody(r.body); err != nil {
		return nil, fmt.Errorf("write the request body: %w", err)
	}
	if _, err := tx.ProcessRequestBody(); err != nil {
		return nil, fmt.Errorf("process the request body: %w", err)
	}
	// An empty response: the rules of the later phases add up what the earlier ones found.
	tx.ProcessResponseHeaders(200, "HTTP/1.1")
	if _, err := tx.ProcessResponseBody(); err != nil {
		return nil, fmt.Errorf("process the response body: %w", err)
	}
	tx.ProcessLogging()
	return tx.MatchedRules(), nil
}
