package server

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/retrial-dev/retrial/internal/durable"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

// TokenPrefix begins every token, so that one that leaked is found by those who look for such.
const TokenPrefix = "retrial_"

// Token is a bearer token as its file has it: what the caller sends is not in it, and cannot be computed from it.
type Token struct {
	// Name is the caller's.
	Name string `yaml:"name"`
	// SHA256 is over the token as the caller sends it, as 64 hexadecimal digits. A token has 256 random bits, so that no slow
	// hash is needed.
	SHA256 string `yaml:"sha256"`
	Roles  []Role `yaml:"roles"`
	// ExpiresAt is the instant from which on it admits nobody. Mandatory.
	ExpiresAt time.Time `yaml:"expires_at"`
}

// NewToken makes a token: what the caller sends, once, and what the file gets.
func NewToken(name string, roles []Role, expiresAt time.Time) (secret string, t Token, err error) {
	secret = TokenPrefix + strings.ToLower(rand.Text()+rand.Text())
	t = Token{Name: name, SHA256: hashToken(secret), Roles: roles, ExpiresAt: expiresAt.UTC()}
	return secret, t, t.validate()
}

func hashToken(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func (t Token) validate() error {
	if err := fixture.CheckName(t.Name, 128); err != nil {
		return fmt.Errorf("name: %w", err)
	}
	if b, err := hex.DecodeString(t.SHA256); err != nil || len(b) != sha256.Size || strings.ToLower(t.SHA256) != t.SHA256 {
		return fmt.Errorf("token of %q: sha256: not 64 hexadecimal digits in lower case", t.Name)
	}
	if t.ExpiresAt.IsZero() {
		return fmt.Errorf("token of %q: expires_at: missing", t.Name)
	}
	if err := checkRoles(t.Roles); err != nil {
		return fmt.Errorf("token of %q: %w", t.Name, err)
	}
	return nil
}

// tokensFile is the file.
type tokensFile struct {
	Tokens []Token `yaml:"tokens"`
}

// ReadTokens reads a file of tokens. Unknown keys are errors with their line, and so are two tokens with one hash.
func ReadTokens(path string) ([]Token, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fixture.NewError(fixture.CodeInvalid, "read tokens", "", err)
	}
	var f tokensFile
	if err := yaml.UnmarshalWithOptions(b, &f, yaml.Strict()); err != nil {
		return nil, fixture.NewError(fixture.CodeInvalid, "read tokens", path, errors.New(yaml.FormatError(err, false, true)))
	}
	seen := map[string]bool{}
	var errs []error
	for _, t := range f.Tokens {
		if err := t.validate(); err != nil {
			errs = append(errs, err)
		}
		if seen[t.SHA256] {
			errs = append(errs, fmt.Errorf("token of %q: another has the same hash", t.Name))
		}
		seen[t.SHA256] = true
	}
	errs = append(errs, checkCallers(f.Tokens, nil))
	if err := errors.Join(errs...); err != nil {
		return nil, fixture.NewError(fixture.CodeInvalid, "read tokens", path, err)
	}
	return f.Tokens, nil
}

// checkCallers holds the rules on roles for each caller, whatever it shows: two tokens, or a token and a certificate, of one name
// are one caller's.
func checkCallers(tokens []Token, certificates []CertificateConfig) error {
	have, seen := map[string][]Role{}, map[string]bool{}
	var errs []error
	for _, t := range tokens {
		have[t.Name] = append(have[t.Name], t.Roles...)
	}
	for _, c := range certificates {
		if seen[c.Name] {
			errs = append(errs, fmt.Errorf("certificate %q stands there twice", c.Name))
		}
		seen[c.Name] = true
		have[c.Name] = append(have[c.Name], c.Roles...)
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if err := checkRoles(have[name]); err != nil {
			errs = append(errs, fmt.Errorf("%q: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// WriteTokens replaces a file of tokens, which keeps its mode. Only its owner can read a new one.
func WriteTokens(path string, tokens []Token) error {
	b, err := yaml.Marshal(tokensFile{tokens})
	if err != nil {
		return err
	}
	return durable.ReplaceFile(path, b)
}

// tokenFile is a file of tokens that is read again whenever it changes. Safe for concurrent use.
type tokenFile struct {
	path         string
	certificates []CertificateConfig // of the same callers

	mu     sync.Mutex       // guards the rest
	read   os.FileInfo      // the file that was read
	tokens map[string]Token // by hash
	err    error
}

// find gives the token with a hash. A file that cannot be read admits nobody.
func (f *tokenFile) find(hash string) (Token, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if err != nil {
		return Token{}, false, err
	}
	if f.read == nil || !os.SameFile(info, f.read) || info.Size() != f.read.Size() || !info.ModTime().Equal(f.read.ModTime()) {
		f.read = info
		list, err := ReadTokens(f.path)
		if err = errors.Join(err, checkCallers(list, f.certificates)); err != nil {
			list = nil
		}
		f.tokens, f.err = map[string]Token{}, err
		for _, t := range list {
			f.tokens[t.SHA256] = t
		}
	}
	t, ok := f.tokens[hash]
	return t, ok, f.err
}
