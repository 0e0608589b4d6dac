package attest

import (
	"crypto/ed25519"
	"errors"
	"fmt"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// Expected is what the verifying side knows of the release by itself. What is empty is not compared.
type Expected struct {
	// Digest is that of what is to be released: "sha256:" or "gitCommit:" and lower-case hexadecimal digits.
	Digest string
	// Release is the name of the release.
	Release string
}

// Verify gives what an envelope attests, if one of the keys signed it as it stands. Whether that is a pass is the summary's to
// say, with Passes. Keys are Ed25519 public keys, at least one.
//
// CodeInvalid for an envelope that is malformed in any way, that no given key signed, that has another type of payload,
// statement or predicate, or whose statement is incomplete or contradicts itself; CodeTooLarge for one over
// MaxEnvelopeBytes; CodePrecondition for a sound one that is about something else than expected.
func Verify(envelope []byte, keys []ed25519.PublicKey, want Expected) (*Summary, error) {
	const op = "verify attestation"
	if len(envelope) > MaxEnvelopeBytes {
		return nil, fixture.NewError(fixture.CodeTooLarge, op, "", fmt.Errorf("it has %d bytes, over the limit of %d", len(envelope), MaxEnvelopeBytes))
	}
	s, err := verify(envelope, keys)
	if err != nil {
		return nil, fixture.NewError(fixture.CodeInvalid, op, "", err)
	}
	switch {
	case want.Digest != "" && want.Digest != s.Subject.String():
		err = fmt.Errorf("it is about %s, not about %s", s.Subject, want.Digest)
	case want.Release != "" && want.Release != s.Release:
		err = fmt.Errorf("it is about the release %q, not about %q", s.Release, want.Release)
	default:
		return s, nil
	}
	return nil, fixture.NewError(fixture.CodePrecondition, op, "", err)
}

func verify(envelope []byte, keys []ed25519.PublicKey) (*Summary, error) {
	if len(keys) == 0 {
		return nil, errors.New("no key was given to verify it with")
	}
	for _, key := range keys {
		if len(key) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("a key has %d bytes, and an Ed25519 public key has %d", len(key), ed25519.PublicKeySize)
		}
	}
	payload, keyID, err := open(envelope, keys)
	if err != nil {
		return nil, err
	}
	s, err := parseStatement(payload)
	if err != nil {
		return nil, fmt.Errorf("the statement: %w", err)
	}
	s.KeyID = keyID
	return s, nil
}
