package identity

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// The types of the PEM blocks.
const (
	privateBlock = "PRIVATE KEY"
	publicBlock  = "PUBLIC KEY"
)

// Key is a server's key. It is made by Load and LoadOrCreate, and does not change. Safe for concurrent use.
type Key struct{ private ed25519.PrivateKey }

// Public gives the public key: 32 bytes, the caller's own.
func (k *Key) Public() ed25519.PublicKey {
	return bytes.Clone(k.private[ed25519.SeedSize:])
}

// ID gives the id of the key: KeyID of its public key.
func (k *Key) ID() string { return KeyID(k.Public()) }

// Sign signs a message: 64 bytes, by RFC 8032, the same for the same message. What is signed must say for what it is
// signed, as the pre-authentication encoding of DSSE and a checkpoint's origin do: one key signs both.
func (k *Key) Sign(message []byte) []byte { return ed25519.Sign(k.private, message) }

// MarshalPublicPEM gives a public key as PEM around PKIX: what `openssl pkey -pubout` prints. It is the inverse of ParsePublicPEM.
func MarshalPublicPEM(public ed25519.PublicKey) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: publicBlock, Bytes: pkix(public)})
}

// Format implements fmt.Formatter for every verb: no print shows the key.
func (k *Key) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, "Ed25519 key "+k.ID()) }

// KeyID gives the id of a public key: "sha256:" and 64 hexadecimal digits, over its PKIX form. It is what
// `openssl pkey -pubin -outform DER | sha256sum` prints.
func KeyID(public ed25519.PublicKey) string {
	sum := sha256.Sum256(pkix(public))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ParsePublicPEM reads one Ed25519 public key from PEM around PKIX. CodeInvalid for anything else.
func ParsePublicPEM(b []byte) (ed25519.PublicKey, error) {
	der, err := onlyBlock(b, publicBlock)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, invalid("it is no public key in PKIX form")
	}
	public, ok := key.(ed25519.PublicKey)
	if !ok {
		return nil, invalid("expected an Ed25519 key, found another kind (%T)", key)
	}
	return public, nil
}

func generate() (*Key, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return &Key{private}, nil
}

func parsePrivatePEM(b []byte) (*Key, error) {
	der, err := onlyBlock(b, privateBlock)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		// The cause stays here: what it quotes is none of a reader's business.
		return nil, invalid("it is no private key in PKCS#8 form")
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, invalid("expected an Ed25519 key, found another kind (%T); `openssl genpkey -algorithm ed25519` makes one", key)
	}
	return &Key{private}, nil
}

func (k *Key) privatePEM() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: privateBlock, Bytes: der}), nil
}

// onlyBlock gives the bytes of the one PEM block that b is.
func onlyBlock(b []byte, kind string) ([]byte, error) {
	block, rest := pem.Decode(b)
	switch {
	case block == nil:
		return nil, invalid("expected PEM (-----BEGIN %s-----), found none", kind)
	case block.Type != kind && block.Type == "ENCRYPTED "+kind:
		return nil, invalid("the key is encrypted, and there is nobody to ask for a passphrase; `openssl pkey` takes it off")
	case block.Type != kind:
		return nil, invalid("expected a PEM block of type %q, found %q", kind, block.Type)
	case len(block.Headers) > 0:
		return nil, invalid("the PEM block has headers, and a key has none")
	case !bytes.HasPrefix(bytes.TrimSpace(b), []byte("-----BEGIN")) || len(bytes.TrimSpace(rest)) > 0:
		return nil, invalid("expected one PEM block and nothing beside it")
	}
	return block.Bytes, nil
}

// pkix encodes a public key. An Ed25519 key has one such form, and encoding it cannot fail.
func pkix(public ed25519.PublicKey) []byte {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		panic(err)
	}
	return der
}

func invalid(format string, args ...any) error {
	return fixture.NewError(fixture.CodeInvalid, "", "", fmt.Errorf(format, args...))
}
