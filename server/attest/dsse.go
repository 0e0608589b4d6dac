package attest

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/identity"
)

// MaxEnvelopeBytes is the largest envelope that is made or read, in bytes.
const MaxEnvelopeBytes = 1 << 20

// maxSignatures bounds the signatures of an envelope: each costs a verification.
const maxSignatures = 16

// envelope is a DSSE envelope as JSON (https://github.com/secure-systems-lab/dsse/blob/master/envelope.md).
type envelope struct {
	Payload     string      `json:"payload"`
	PayloadType string      `json:"payloadType"`
	Signatures  []signature `json:"signatures"`
}

type signature struct {
	KeyID string `json:"keyid"`
	Sig   string `json:"sig"`
}

// preAuth is DSSE's pre-authentication encoding: what is signed
// (https://github.com/secure-systems-lab/dsse/blob/master/protocol.md).
func preAuth(payloadType string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload)
}

// seal signs a payload.
func seal(key *identity.Key, payload []byte) ([]byte, error) {
	sig := key.Sign(preAuth(PayloadType, payload))
	b, err := json.Marshal(envelope{base64.StdEncoding.EncodeToString(payload), PayloadType, []signature{{key.ID(), base64.StdEncoding.EncodeToString(sig)}}})
	if err == nil && len(b) > MaxEnvelopeBytes {
		err = fixture.NewError(fixture.CodeTooLarge, "attest decision", "", fmt.Errorf("the envelope has %d bytes, over the limit of %d", len(b), MaxEnvelopeBytes))
	}
	return b, err
}

// open gives the payload of an envelope and the id of a key that signed it.
//
// DSSE lets a verifier ignore signatures by keys that it does not have, and so does this: an envelope may be countersigned.
// But a signature that names a given key, or no key at all, must be valid, and no key may have signed twice.
func open(b []byte, keys []ed25519.PublicKey) (payload []byte, keyID string, err error) {
	e, err := parseEnvelope(b)
	if err != nil {
		return nil, "", err
	}
	if payload, err = decode64(e.Payload); err != nil {
		return nil, "", fmt.Errorf("payload: %w", err)
	}
	message := preAuth(e.PayloadType, payload)
	signed := map[string]bool{}
	for i, s := range e.Signatures {
		sig, err := decode64(s.Sig)
		if err != nil {
			return nil, "", fmt.Errorf("signature %d: %w", i+1, err)
		}
		id, known := signer(s.KeyID, message, sig, keys)
		switch {
		case !known:
			continue
		case id == "":
			return nil, "", fmt.Errorf("signature %d (key %q) is not valid: the envelope was changed, or another key signed it", i+1, s.KeyID)
		case signed[id]:
			return nil, "", fmt.Errorf("signature %d is a second one by the key %s", i+1, id)
		}
		signed[id] = true
		if keyID == "" {
			keyID = id
		}
	}
	if keyID == "" {
		return nil, "", fmt.Errorf("no signature is by a given key: it says %q", e.Signatures[0].KeyID)
	}
	return payload, keyID, nil
}

// signer says which of the keys made a signature; id is empty if none did. known is false for a signature that names a key
// which is none of them.
func signer(keyID string, message, sig []byte, keys []ed25519.PublicKey) (id string, known bool) {
	for _, key := range keys {
		if of := identity.KeyID(key); keyID == of || keyID == "" {
			known = true
			if ed25519.Verify(key, message, sig) {
				return of, true
			}
		}
	}
	return "", known || keyID == ""
}

// parseEnvelope reads an envelope strictly: exactly its members, each once, exactly named, of its type, and nothing behind.
func parseEnvelope(b []byte) (*envelope, error) {
	doc, err := fixture.Canonicalize(nil, b)
	if err != nil {
		return nil, fmt.Errorf("it is no DSSE envelope: %w", err)
	}
	if err := fixture.OnlyMembers(doc, "payload", "payloadType", "signatures"); err != nil {
		return nil, fmt.Errorf("it is no DSSE envelope: %w", err)
	}
	e := &envelope{}
	signatures, _ := fixture.Lookup(doc, "signatures")
	if err := errors.Join(text(doc, "payload", &e.Payload), text(doc, "payloadType", &e.PayloadType)); err != nil {
		return nil, err
	}
	if e.PayloadType != PayloadType {
		return nil, fmt.Errorf("expected the payload type %q, found %q", PayloadType, e.PayloadType)
	}
	for item := range fixture.Items(signatures) {
		s := signature{}
		if err := fixture.OnlyMembers(item, "keyid", "sig"); err != nil {
			return nil, fmt.Errorf("a signature: %w", err)
		}
		if _, ok := fixture.Lookup(item, "keyid"); ok {
			if err := text(item, "keyid", &s.KeyID); err != nil {
				return nil, err
			}
		}
		if err := text(item, "sig", &s.Sig); err != nil {
			return nil, err
		}
		e.Signatures = append(e.Signatures, s)
	}
	if n := len(e.Signatures); n == 0 || n > maxSignatures {
		return nil, fmt.Errorf("expected 1 to %d signatures, found %d", maxSignatures, n)
	}
	return e, nil
}

// text reads a member that must be a string.
func text(doc []byte, name string, to *string) error {
	value, _ := fixture.Lookup(doc, name)
	if len(value) == 0 || value[0] != '"' {
		return fmt.Errorf("member %q: expected a string, found %.40q", name, value)
	}
	return json.Unmarshal(value, to)
}

// decode64 reads standard base64 in its one form: with padding, without line feeds and stray bits. DSSE admits the URL-safe
// alphabet as well; Sign does not write it.
func decode64(s string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || base64.StdEncoding.EncodeToString(b) != s {
		return nil, errors.New("expected standard base64")
	}
	return b, nil
}
