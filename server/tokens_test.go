package server

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
)

// A file of tokens that is read again while the server runs is held against the certificates too: nobody is both by having one
// of each. Such a file admits nobody.
func TestTokenOfACallerWithACertificate(t *testing.T) {
	_, token, err := NewToken("alice", []Role{Approver}, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := WriteTokens(path, []Token{token}); err != nil {
		t.Fatal(err)
	}
	for role, fits := range map[Role]bool{Submitter: false, Reader: true} {
		c := AuthConfig{Tokens: path, Certificates: []CertificateConfig{{Name: "alice", Roles: []Role{role}}}}
		_, ok, err := newAuthenticator(c, time.Now, zap.NewNop()).tokens.find(token.SHA256)
		if ok != fits || (err == nil) != fits || !fits && !strings.Contains(err.Error(), "nobody is both") {
			t.Errorf("beside a certificate of %s: %t, %v", role, ok, err)
		}
	}
}
