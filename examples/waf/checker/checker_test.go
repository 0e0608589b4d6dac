package checker

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// rules are a rule set of our own: each rule shows that one part of the request arrives.
const rules = `
SecRule REQUEST_METHOD "@streq POST" "id:1,phase:1,pass,log"
SecRule ARGS_GET:q "@streq a b" "id:2,phase:2,pass,log"
SecRule REQUEST_PROTOCOL "@streq HTTP/1.0" "id:3,phase:1,pass,log"
SecRule REQUEST_HEADERS:X-Test "@streq seen" "id:4,phase:1,pass,log"
SecRule SERVER_NAME "@streq shop.example" "id:5,phase:1,pass,log"
SecRule ARGS_POST:field "@streq value" "id:6,phase:2,pass,log"
SecRule ARGS_POST:json.field "@streq value" "id:7,phase:2,pass,log"
SecRule REMOTE_ADDR "@streq 192.0.2.7" "id:8,phase:1,pass,log"
SecRule SERVER_PORT "@streq 8443" "id:9,phase:1,pass,log"
SecRule UNIQUE_ID "@streq retrial" "id:10,phase:1,pass,log"
SecRule REQBODY_PROCESSOR "@streq URLENCODED" "id:11,phase:2,pass,log"
SecRule TX:blocking_paranoia_level "@eq 4" "id:12,phase:1,pass,log"
SecRule TX:seen "@eq 1" "id:13,phase:1,pass,log"
SecAction "id:14,phase:1,pass,log,setvar:tx.seen=1"
SecAction "id:15,phase:5,pass,log"
`

// plain is the request that every case starts from. Nothing writes to it.
var plain = map[string]any{
	"asked_rule": 1, "method": "GET", "uri": "/", "version": "HTTP/1.1", "headers": map[string]string{"Host": "localhost"},
	"body_b64": "", "remote_addr": "127.0.0.1", "port": 80,
}

const form = "ZmllbGQ9dmFsdWU=" // field=value

func TestCheck(t *testing.T) {
	c := load(t)
	for _, tc := range []struct {
		name  string
		input map[string]any
		want  string
	}{
		{"method", map[string]any{"asked_rule": 1, "method": "POST"}, "match/1"},
		{"another method", map[string]any{"asked_rule": 1}, "no_match/none"},
		{"another rule matches than the one asked for", map[string]any{"asked_rule": 2, "method": "POST"}, "no_match/none"},
		{"no such rule", map[string]any{"asked_rule": 99}, "no_match/none"},
		{"query of the URI", map[string]any{"asked_rule": 2, "uri": "/?q=a+b"}, "match/2"},
		{"protocol version", map[string]any{"asked_rule": 3, "version": "HTTP/1.0"}, "match/3"},
		{"header", map[string]any{"asked_rule": 4, "headers": map[string]string{"x-test": "seen"}}, "match/4"},
		{"server name without its port", map[string]any{"asked_rule": 5, "headers": map[string]string{"host": "shop.example:8080"}}, "match/5"},
		{"form", map[string]any{"asked_rule": 6, "method": "POST", "body_b64": form, "headers": map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}, "match/6"},
		{"the same body as plain text", map[string]any{"asked_rule": 6, "method": "POST", "body_b64": form, "headers": map[string]string{"Content-Type": "text/plain"}}, "no_match/none"},
		{"JSON", map[string]any{"asked_rule": 7, "method": "POST", "body_b64": "eyJmaWVsZCI6InZhbHVlIn0=", "headers": map[string]string{"Content-Type": "application/json"}}, "match/7"},
		{"client address", map[string]any{"asked_rule": 8, "remote_addr": "192.0.2.7"}, "match/8"},
		{"server port", map[string]any{"asked_rule": 9, "port": 8443}, "match/9"},
		{"transaction id", map[string]any{"asked_rule": 10}, "match/10"},
		{"paranoia level of the tests", map[string]any{"asked_rule": 12}, "match/12"},
		{"variables of an earlier case", map[string]any{"asked_rule": 13}, "no_match/none"},
		{"last phase", map[string]any{"asked_rule": 15}, "match/15"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := check(t, c, with(tc.input))
			if err != nil {
				t.Fatal(err)
			}
			if s := got.Verdict + "/" + got.ReasonCode; s != tc.want {
				t.Errorf("got %s, want %s", s, tc.want)
			}
		})
	}
}

// Two spellings of one header are two members of the input. Which of them Coraza goes by must not be left to chance.
func TestCheckHeadersInOrder(t *testing.T) {
	c := load(t)
	input := with(map[string]any{"asked_rule": 11, "headers": map[string]string{
		"Content-Type": "application/x-www-form-urlencoded", "content-type": "multipart/form-data; boundary=x",
	}})
	for range 50 {
		got, err := check(t, c, input)
		if err != nil {
			t.Fatal(err)
		}
		if got.Verdict != Match {
			t.Fatal("the second spelling came first")
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	c := load(t)
	for _, name := range slices.Sorted(maps.Keys(plain)) {
		t.Run("no "+name, func(t *testing.T) {
			input := with(nil)
			delete(input, name)
			refused(t, c, input, name)
		})
		t.Run(name+" is null", func(t *testing.T) { refused(t, c, with(map[string]any{name: nil}), name) })
		t.Run(name+" is of another type", func(t *testing.T) { refused(t, c, with(map[string]any{name: []bool{true}}), name) })
	}
	t.Run("body_b64 is an array of bytes", func(t *testing.T) { refused(t, c, with(map[string]any{"body_b64": []int{65}}), "body_b64") })
	t.Run("body_b64 is no base64", func(t *testing.T) { refused(t, c, with(map[string]any{"body_b64": "!"}), "body_b64") })
	t.Run("a header is no string", func(t *testing.T) {
		refused(t, c, with(map[string]any{"headers": map[string]any{"Age": 3}}), "headers")
	})
	t.Run("a header is null", func(t *testing.T) {
		refused(t, c, with(map[string]any{"headers": map[string]any{"Age": nil}}), "headers")
	})
}

func TestNewRefusesBrokenRules(t *testing.T) {
	_, err := New("9.9.9", ruleSet("SecRule NOTHING"))
	if err == nil || !strings.Contains(err.Error(), "9.9.9") {
		t.Errorf("got %v, want an error that names the version", err)
	}
}

func refused(t *testing.T, c *Checker, input map[string]any, member string) {
	t.Helper()
	got, err := check(t, c, input)
	var refusal *retrial.InputError
	if !errors.As(err, &refusal) || !strings.Contains(err.Error(), `"`+member+`"`) {
		t.Errorf("got outcome %+v and error %v, want an InputError that names %q", got, err, member)
	}
}

func check(t *testing.T, c *Checker, input map[string]any) (retrial.Outcome, error) {
	t.Helper()
	doc, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	k, err := retrial.NewCase(c, doc, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Check(t.Context(), k)
}

func with(parts map[string]any) map[string]any {
	input := maps.Clone(plain)
	maps.Copy(input, parts)
	return input
}

func load(t *testing.T) *Checker {
	t.Helper()
	c, err := New("0.0.0", ruleSet(rules))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ruleSet(rules string) fstest.MapFS {
	return fstest.MapFS{
		"@crs-setup.conf.example":   {Data: []byte("SecDefaultAction \"phase:1,log,pass\"\n")},
		"@owasp_crs/REQUEST-1.conf": {Data: []byte(rules)},
	}
}
