package identity

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// NoteSigner gives a signer of notes such as checkpoints, under an origin: the name of the log, such as
// "retrial.example.com/log". CodeInvalid for an origin that is empty, or has white space or a plus sign.
func (k *Key) NoteSigner(origin string) (note.Signer, error) {
	v, err := NoteVerifier(origin, k.Public())
	if err != nil {
		return nil, err
	}
	return &noteSigner{v, k}, nil
}

// NoteVerifier gives the verifier of what NoteSigner's signer signs, and fails as it does.
func NoteVerifier(origin string, public ed25519.PublicKey) (note.Verifier, error) {
	vkey, err := VerifierKey(origin, public)
	if err != nil {
		return nil, err
	}
	v, err := note.NewVerifier(vkey)
	if err != nil {
		return nil, badOrigin(origin)
	}
	return v, nil
}

// VerifierKey gives a public key as verifiers of notes are told it: "origin+hash+key", the hash of eight hexadecimal
// digits, the key in base64. It fails as NoteSigner does.
func VerifierKey(origin string, public ed25519.PublicKey) (string, error) {
	vkey, err := note.NewEd25519VerifierKey(origin, public)
	if err == nil {
		_, err = note.NewVerifier(vkey) // which looks at the name
	}
	if err != nil {
		return "", badOrigin(origin)
	}
	return vkey, nil
}

func badOrigin(origin string) error {
	return fixture.NewError(fixture.CodeInvalid, "origin", fmt.Sprintf("%q", origin), fmt.Errorf("expected a name without white space and plus sign, such as retrial.example.com/log"))
}

// noteSigner signs notes. Name and key hash are those of its verifier.
type noteSigner struct {
	note.Verifier
	key *Key
}

// Sign implements note.Signer.
func (s *noteSigner) Sign(msg []byte) ([]byte, error) { return s.key.Sign(msg), nil }

// ParseVerifierKey is the inverse of VerifierKey. CodeInvalid for a text that is none, or is for another origin.
func ParseVerifierKey(origin, text string) (ed25519.PublicKey, error) {
	parts := strings.SplitN(text, "+", 3) // the key's own base64 may have more of them
	b, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
	if err != nil || len(b) != 1+ed25519.PublicKeySize {
		return nil, invalid("it is no verifier key")
	}
	public := ed25519.PublicKey(b[1:])
	if want, err := VerifierKey(origin, public); err != nil || want != text {
		return nil, invalid("it is no verifier key of %s", origin)
	}
	return public, nil
}
