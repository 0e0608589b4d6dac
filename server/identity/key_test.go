package identity_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/identity"
)

// A note that is signed under an origin is opened by that origin's verifier, and by no other.
func TestNotes(t *testing.T) {
	_, key := created(t)
	const origin = "retrial.example.com/log"
	signer, err := key.NoteSigner(origin)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := note.Sign(&note.Note{Text: origin + "\n3\nAAAA\n"}, signer)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := identity.NoteVerifier(origin, key.Public())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := note.Open(signed, note.VerifierList(verifier)); err != nil {
		t.Error(err)
	}
	_, stranger := created(t)
	for name, other := range map[string]struct {
		origin string
		key    *identity.Key
	}{"another origin": {"other.example.com", key}, "another key": {origin, stranger}} {
		v, err := identity.NoteVerifier(other.origin, other.key.Public())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := note.Open(signed, note.VerifierList(v)); err == nil {
			t.Errorf("%s opens it", name)
		}
	}
	vkey, err := identity.VerifierKey(origin, key.Public())
	if err != nil || !strings.HasPrefix(vkey, origin+"+") {
		t.Errorf("got %q, %v", vkey, err)
	}
}

func TestOriginsAreNames(t *testing.T) {
	_, key := created(t)
	for _, origin := range []string{"", "a b", "a+b", "a\nb", "\xff"} {
		_, signerErr := key.NoteSigner(origin)
		_, verifierErr := identity.NoteVerifier(origin, key.Public())
		_, keyErr := identity.VerifierKey(origin, key.Public())
		for _, err := range []error{signerErr, verifierErr, keyErr} {
			if fixture.CodeOf(err) != fixture.CodeInvalid {
				t.Errorf("%q: got %v", origin, err)
			}
		}
	}
}

func TestPublicPEM(t *testing.T) {
	path, key := created(t)
	public, err := identity.ParsePublicPEM(identity.MarshalPublicPEM(key.Public()))
	if err != nil || !public.Equal(key.Public()) || identity.KeyID(public) != key.ID() {
		t.Errorf("got %v, %v", public, err)
	}
	private, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{private, nil, append(identity.MarshalPublicPEM(key.Public()), identity.MarshalPublicPEM(key.Public())...)} {
		if _, err := identity.ParsePublicPEM(b); fixture.CodeOf(err) != fixture.CodeInvalid {
			t.Errorf("got %v", err)
		}
	}
}

// What Public gives is the caller's own: writing into it does not change the key.
func TestPublicIsACopy(t *testing.T) {
	_, key := created(t)
	id := key.ID()
	clear(key.Public())
	if key.ID() != id || !ed25519.Verify(key.Public(), []byte("m"), key.Sign([]byte("m"))) {
		t.Error("the key has changed")
	}
}

func openssl(t *testing.T, stdin []byte, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "openssl", args...)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("openssl %v: %v\n%s", args, err, out)
	}
	return out
}

// OpenSSL reads a key of ours and agrees about its public half and its id; we read one of OpenSSL's.
func TestOpenSSL(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed: that it reads our keys is not tried")
	}
	path, key := created(t)
	if public := openssl(t, nil, "pkey", "-in", path, "-pubout"); !bytes.Equal(public, identity.MarshalPublicPEM(key.Public())) {
		t.Errorf("openssl says\n%s, we say\n%s", public, identity.MarshalPublicPEM(key.Public()))
	}
	der := openssl(t, identity.MarshalPublicPEM(key.Public()), "pkey", "-pubin", "-outform", "DER")
	sum := openssl(t, der, "dgst", "-sha256", "-r")
	if want := strings.TrimPrefix(key.ID(), "sha256:"); !strings.HasPrefix(string(sum), want) || len(want) != hex.EncodedLen(32) {
		t.Errorf("openssl says %s, we say %s", sum, want)
	}
	theirs := filepath.Join(t.TempDir(), "theirs.key")
	openssl(t, nil, "genpkey", "-algorithm", "ed25519", "-out", theirs)
	if err := os.Chmod(theirs, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := identity.Load(theirs); err != nil {
		t.Error(err)
	}
}
