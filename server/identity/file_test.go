package identity_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/identity"
)

func created(t *testing.T) (path string, key *identity.Key) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "server.key")
	key, err := identity.LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, key
}

// What was created is what is read afterwards, of mode 0600, with nothing left beside it.
func TestCreatedOnce(t *testing.T) {
	path, key := created(t)
	for name, load := range map[string]func(string) (*identity.Key, error){"Load": identity.Load, "LoadOrCreate": identity.LoadOrCreate} {
		again, err := load(path)
		if err != nil || !again.Public().Equal(key.Public()) {
			t.Errorf("%s: got %v, %v, want %v", name, again, err, key)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("got %v, %v, want the key alone", files, err)
	}
}

// Whoever is first makes the key; all others get it.
func TestCreatedByManyAtOnce(t *testing.T) {
	for range 20 {
		path := filepath.Join(t.TempDir(), "server.key")
		ids := make([]string, 16)
		start := make(chan struct{})
		var all sync.WaitGroup
		for i := range ids {
			all.Go(func() {
				<-start
				key, err := identity.LoadOrCreate(path)
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = key.ID()
			})
		}
		close(start)
		all.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Fatalf("two keys: %v", ids)
			}
		}
	}
}

// A key that others can read is none: the error says the mode and how to mend it.
func TestModesAreRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing here")
	}
	path, _ := created(t)
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o644: false, 0o620: false, 0o610: false, 0o777: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		for name, load := range map[string]func(string) (*identity.Key, error){"Load": identity.Load, "LoadOrCreate": identity.LoadOrCreate} {
			_, err := load(path)
			if ok {
				if err != nil {
					t.Errorf("%s with mode %04o: %v", name, mode, err)
				}
				continue
			}
			want := fmt.Sprintf("load key %s: its mode is %04o, and only its owner may have access: run chmod 600 %s", path, mode, path)
			if fixture.CodeOf(err) != fixture.CodePrecondition || err.Error() != want {
				t.Errorf("%s: got %v, want %s", name, err, want)
			}
		}
	}
}

// What is no Ed25519 key is refused by name, without a byte of what stands in the file.
func TestOtherFilesAreRefused(t *testing.T) {
	path, key := created(t)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(other)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(good)
	encode := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	for name, tt := range map[string]struct {
		file []byte
		says string
	}{
		"empty":          {nil, "expected PEM"},
		"no PEM":         {block.Bytes, "expected PEM"},
		"public":         {identity.MarshalPublicPEM(key.Public()), `expected a PEM block of type "PRIVATE KEY", found "PUBLIC KEY"`},
		"encrypted":      {encode("ENCRYPTED PRIVATE KEY", block.Bytes), "is encrypted"},
		"another kind":   {encode("PRIVATE KEY", der), "expected an Ed25519 key"},
		"cut":            {encode("PRIVATE KEY", block.Bytes[:len(block.Bytes)-1]), "no private key in PKCS#8 form"},
		"two keys":       {append(bytes.Clone(good), good...), "one PEM block and nothing beside it"},
		"text before it": {append([]byte("secret\n"), good...), "one PEM block and nothing beside it"},
		"headers":        {pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED"}, Bytes: block.Bytes}), "headers"},
		"huge":           {append(bytes.Clone(good), bytes.Repeat([]byte("\n"), 1<<20)...), "over 16384 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.key")
			if err := os.WriteFile(file, tt.file, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := identity.LoadOrCreate(file)
			if fixture.CodeOf(err) != fixture.CodeInvalid || !strings.Contains(err.Error(), "load key "+file+": ") || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
			if now, readErr := os.ReadFile(file); readErr != nil || !bytes.Equal(now, tt.file) {
				t.Errorf("the file has changed (%v)", readErr)
			}
			showsNoKey(t, fmt.Sprint(err), block.Bytes)
		})
	}
}

// What cannot be read or made is told with its file.
func TestMissing(t *testing.T) {
	dir := t.TempDir()
	if _, err := identity.Load(filepath.Join(dir, "none.key")); fixture.CodeOf(err) != fixture.CodeNotFound || !strings.Contains(err.Error(), "none.key") {
		t.Errorf("got %v", err)
	}
	if _, err := identity.Load(dir); fixture.CodeOf(err) != fixture.CodeInvalid {
		t.Errorf("a directory: got %v", err)
	}
	if _, err := identity.LoadOrCreate(filepath.Join(dir, "no", "server.key")); fixture.CodeOf(err) != fixture.CodeUnavailable || !strings.Contains(err.Error(), "server.key") {
		t.Errorf("no directory: got %v", err)
	}
}

// No verb prints the key.
func TestPrintsNoKey(t *testing.T) {
	path, key := created(t)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(file)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d", "%q"} {
		out := fmt.Sprintf(verb, key)
		if !strings.Contains(out, key.ID()) {
			t.Errorf("%s prints %s", verb, out)
		}
		showsNoKey(t, out, block.Bytes)
	}
}

func showsNoKey(t *testing.T, text string, der []byte) {
	t.Helper()
	seed := der[len(der)-ed25519.SeedSize:]
	for _, form := range []string{hex.EncodeToString(seed[:8]), base64.StdEncoding.EncodeToString(seed)[:8], base64.StdEncoding.EncodeToString(der)[24:], strings.Trim(fmt.Sprintf("%d", seed[:4]), "[]"), string(seed)} {
		if strings.Contains(text, form) {
			t.Errorf("shows the key: %s", text)
		}
	}
}
