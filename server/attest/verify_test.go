package attest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/identity"
)

func testKey(t testing.TB) *identity.Key {
	t.Helper()
	key, err := identity.LoadOrCreate(filepath.Join(t.TempDir(), "server.key"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// seededKey is a key that is no secret.
func seededKey(t testing.TB) *identity.Key {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "seeded.key")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := identity.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// waivedBlock is a statement as it is signed.
func waivedBlock(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/waived-block.json")
	if err == nil {
		b, err = fixture.Canonicalize(nil, b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sealed(t testing.TB, key *identity.Key, payload []byte) []byte {
	t.Helper()
	b, err := seal(key, payload)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A byte that is changed anywhere in an envelope makes it invalid, or changes nothing of what it says.
func TestEveryByteCounts(t *testing.T) {
	key := testKey(t)
	keys := []ed25519.PublicKey{key.Public()}
	d := &gatev1.Decision{
		ReplayId: "r-1", Release: strings.Repeat("c", 40), Set: "m", Version: 1, Checksum: "sha256:" + strings.Repeat("ab", 32), Ruling: gatev1.Ruling_RULING_PASS,
		Summary: "release passed", Expected: 1, Confirmed: 1, Evaluated: 1, DecidedAt: timestamppb.New(time.Unix(1, 0)),
	}
	good, err := Sign(key, d, gatev1.Status_STATUS_PASS, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Verify(good, keys, Expected{})
	if err != nil {
		t.Fatal(err)
	}
	for at := range good {
		flips := []byte{good[at] ^ 0xff, '"', '\\', ' ', '\n', 0}
		for bit := range 8 {
			flips = append(flips, good[at]^1<<bit)
		}
		for _, by := range flips {
			b := bytes.Clone(good)
			if b[at] = by; by == good[at] {
				continue
			}
			if got, err := Verify(b, keys, Expected{}); err == nil && !reflect.DeepEqual(got, want) {
				t.Errorf("byte %d changed to %q: it says %+v", at, by, got)
			}
		}
	}
	for n := range good {
		if _, err := Verify(good[:n], keys, Expected{}); err == nil {
			t.Errorf("cut to %d bytes it is valid", n)
		}
	}
}

// Each way in which an envelope is no attestation has its error.
func TestEnvelopeIsStrict(t *testing.T) {
	key, other, statement := testKey(t), testKey(t), waivedBlock(t)
	good := string(sealed(t, key, statement))
	var e envelope
	if err := json.Unmarshal([]byte(good), &e); err != nil {
		t.Fatal(err)
	}
	ours, sig := e.Signatures[0], func(keyID, sig string) string { return `{"keyid":"` + keyID + `","sig":"` + sig + `"}` }
	with := func(signatures ...string) string {
		return `{"payload":"` + e.Payload + `","payloadType":"` + e.PayloadType + `","signatures":[` + strings.Join(signatures, ",") + `]}`
	}
	change := func(old, by string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("no %q", old)
		}
		return strings.Replace(good, old, by, 1)
	}
	foreign := sig("sha256:"+strings.Repeat("0", 64), ours.Sig)
	for name, tt := range map[string]struct{ envelope, says string }{
		"as it was signed":          {good, ""},
		"countersigned":             {with(foreign, sig(ours.KeyID, ours.Sig)), ""},
		"no key id":                 {with(`{"sig":"` + ours.Sig + `"}`), ""},
		"empty":                     {"", "no DSSE envelope"},
		"no object":                 {"[]", "expected an object"},
		"unknown member":            {change(`"payload":`, `"note":1,"payload":`), `unknown member "note"`},
		"other case":                {change(`"payload":`, `"Payload":`), `unknown member "Payload"`},
		"two payloads":              {change(`"payload":`, `"payload":"","payload":`), "duplicate"},
		"two payloads, escaped":     {change(`"payload":`, `"p\u0061yload":"","payload":`), "duplicate"},
		"trailing":                  {good + "{}", "trailing data"},
		"payload is no string":      {change(`"payload":"`, `"payload":1,"x":"`), "unknown member"},
		"payload is a number":       {`{"payload":1,"payloadType":"` + PayloadType + `","signatures":[]}`, `member "payload": expected a string`},
		"no payload":                {`{"payloadType":"` + PayloadType + `","signatures":[]}`, `member "payload": expected a string`},
		"another type":              {change("vnd.in-toto", "vnd.in-toto2"), "expected the payload type"},
		"URL-safe base64":           {change(`"payload":"`, `"payload":"-_`), "payload: expected standard base64"},
		"line feed in base64":       {change(`"payload":"`, `"payload":"\n`), "payload: expected standard base64"},
		"no signatures":             {with(), "expected 1 to 16 signatures, found 0"},
		"signatures are none":       {strings.Replace(with(), "[]", "{}", 1), "expected 1 to 16 signatures, found 0"},
		"many signatures":           {with(strings.Split(strings.Repeat(foreign+";", 17), ";")[:17]...), "found 17"},
		"signature has a member":    {change(`"sig":`, `"cert":"","sig":`), `unknown member "cert"`},
		"signature is no object":    {with(`"x"`), "a signature: expected an object"},
		"no sig":                    {with(`{"keyid":"x"}`), `member "sig": expected a string`},
		"key id is no string":       {with(`{"keyid":1,"sig":"` + ours.Sig + `"}`), `member "keyid": expected a string`},
		"foreign alone":             {with(foreign), "no signature is by a given key"},
		"signed twice":              {with(sig(ours.KeyID, ours.Sig), sig("", ours.Sig)), "a second one by the key"},
		"a second one conflicts":    {with(sig(ours.KeyID, ours.Sig), sig(ours.KeyID, e.Payload[:88])), "signature 2 (key"},
		"a first one conflicts":     {with(sig(ours.KeyID, e.Payload[:88]), sig(ours.KeyID, ours.Sig)), "signature 1 (key"},
		"an unnamed one conflicts":  {with(sig(ours.KeyID, ours.Sig), sig("", e.Payload[:88])), "signature 2 (key"},
		"signature of another":      {string(sealed(t, other, statement)), "no signature is by a given key"},
		"another's under our name":  {strings.Replace(string(sealed(t, other, statement)), other.ID(), key.ID(), 1), "is not valid"},
		"signed without its type":   {with(sig(ours.KeyID, base64.StdEncoding.EncodeToString(key.Sign(statement)))), "is not valid"},
		"signed under another type": {with(sig(ours.KeyID, base64.StdEncoding.EncodeToString(key.Sign(preAuth("text/plain", statement))))), "is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Verify([]byte(tt.envelope), []ed25519.PublicKey{key.Public()}, Expected{})
			switch {
			case tt.says == "":
				if err != nil || s.KeyID != key.ID() {
					t.Errorf("got %+v, %v", s, err)
				}
			case s != nil || fixture.CodeOf(err) != fixture.CodeInvalid || !strings.Contains(err.Error(), tt.says):
				t.Errorf("got %+v, %v, want %q", s, err, tt.says)
			}
		})
	}
}

// A statement that our key signed, but that is none of ours or contradicts itself, says nothing.
func TestStatementIsStrict(t *testing.T) {
	key, good := testKey(t), string(waivedBlock(t))
	for name, tt := range map[string]struct{ old, by, says string }{
		"unknown members are ignored": {`"result":`, `"retries":3,"result":`, ""},
		"type":                        {"Statement/v1", "Statement/v0.1", "expected the type"},
		"predicate type":              {"test-result/v0.1", "test-result/v0.2", "expected the predicate type"},
		"two results":                 {`"result":"WARNED"`, `"result":"WARNED","result":"PASSED"`, "duplicate"},
		"trailing":                    {good, good + "1", "trailing"},
		"no statement":                {good, `[]`, "no in-toto statement"},
		"no subject":                  {`"subject":[`, `"subject":[],"was":[`, "one subject"},
		"two digests":                 {`"digest":{"sha256":"01`, `"digest":{"x":"y","sha256":"01`, "one digest"},
		"weak digest":                 {`"digest":{"sha256":"01`, `"digest":{"md5":"01`, "neither a SHA-256 nor a git commit"},
		"result in lower case":        {`"WARNED"`, `"warned"`, `the result "warned"`},
		"pass over a block":           {`"WARNED"`, `"PASSED"`, "contradicts itself"},
		"another ruling":              {`"ruling":"BLOCK"`, `"ruling":"PASS"`, "contradicts itself"},
		"no waiver":                   {`"name":"waiver"`, `"name":"was"`, "contradicts itself"},
		"waived, and failed":          {`"warnedTests"`, `"failedTests"`, "contradicts itself"},
		"waiver ends before":          {`"expiresAt":"2026-12-01T12:00:00Z","findings"`, `"expiresAt":"2027-12-01T12:00:00Z","findings"`, "ends before"},
		"two decisions":               {`"name":"stubs"`, `"name":"decision"`, "two descriptors"},
		"another release":             {`"name":"v2"`, `"name":"v3"`, `its subject is named "v3"`},
		"count is no number":          {`"expected":3`, `"expected":"3"`, "a whole number"},
		"count is no whole one":       {`"expected":3`, `"expected":2.5`, "a whole number"},
		"count is below zero":         {`"expected":3`, `"expected":-3`, "a whole number"},
		"ruling is no text":           {`"ruling":"BLOCK"`, `"ruling":null`, "expected a string"},
		"causes are no list":          {`"causes":[`, `"causes":"","was":[`, "expected a list"},
		"cause without a count":       {`"count":2,`, ``, "a whole number"},
		"time is none":                {`"decidedAt":"2026-`, `"decidedAt":"26-`, "a time by RFC 3339"},
		"no set":                      {`"name":"set"`, `"name":"was"`, "is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(good, tt.old) {
				t.Fatalf("no %q", tt.old)
			}
			envelope := sealed(t, key, []byte(strings.Replace(good, tt.old, tt.by, 1)))
			s, err := Verify(envelope, []ed25519.PublicKey{key.Public()}, Expected{})
			switch {
			case tt.says == "":
				if err != nil {
					t.Error(err)
				}
			case s != nil || fixture.CodeOf(err) != fixture.CodeInvalid || !strings.Contains(err.Error(), tt.says):
				t.Errorf("got %+v, %v, want %q", s, err, tt.says)
			}
		})
	}
}

func TestVerifyIsBounded(t *testing.T) {
	key := testKey(t)
	if _, err := Verify(make([]byte, MaxEnvelopeBytes+1), []ed25519.PublicKey{key.Public()}, Expected{}); fixture.CodeOf(err) != fixture.CodeTooLarge {
		t.Errorf("got %v", err)
	}
	if _, err := seal(key, make([]byte, MaxEnvelopeBytes)); fixture.CodeOf(err) != fixture.CodeTooLarge {
		t.Errorf("got %v", err)
	}
	for _, keys := range [][]ed25519.PublicKey{nil, {nil}, {key.Public()[:31]}} {
		if _, err := Verify(sealed(t, key, waivedBlock(t)), keys, Expected{}); fixture.CodeOf(err) != fixture.CodeInvalid {
			t.Errorf("%d keys: got %v", len(keys), err)
		}
	}
}

// Whatever an envelope is, Verify says so and does not panic; and it is valid only if its payload was signed.
func FuzzVerify(f *testing.F) {
	key := seededKey(f) // that every process of the fuzzer has
	good := sealed(f, key, waivedBlock(f))
	f.Add(good)
	f.Add(bytes.Replace(good, []byte(`"keyid"`), []byte(`"sig"`), 1))
	f.Add([]byte(`{"payload":"","payloadType":"application/vnd.in-toto+json","signatures":[{"sig":""}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := Verify(b, []ed25519.PublicKey{key.Public()}, Expected{}); (s == nil) == (err == nil) {
			t.Errorf("got %v, %v", s, err)
		}
	})
}

// Whatever a statement is, what is accepted of it tells one story.
func FuzzStatement(f *testing.F) {
	f.Add(waivedBlock(f))
	f.Add(bytes.Replace(waivedBlock(f), []byte(`WARNED`), []byte(`FAILED`), 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := parseStatement(b); err == nil && s.check() != nil {
			t.Errorf("accepted %+v", s)
		}
	})
}
