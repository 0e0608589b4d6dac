package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// AuthConfig says whom a server knows. Its zero value knows nobody, and admits everybody who reaches it.
type AuthConfig struct {
	// Tokens is the path of a file of tokens, as `retrial token create` writes it. It is read again when it changes.
	Tokens string `yaml:"tokens"`
	// Certificates are callers by their client certificates, which tls.client_ca must have issued.
	Certificates []CertificateConfig `yaml:"certificates"`
}

// CertificateConfig is one caller that a certificate stands for.
type CertificateConfig struct {
	// Name is a URI or DNS name of the certificate, or its subject's common name; it is the caller's name.
	Name string `yaml:"name"`
	// Roles are what the caller may do.
	Roles []Role `yaml:"roles"`
}

func (c AuthConfig) on() bool { return c.Tokens != "" || len(c.Certificates) > 0 }

// authenticator finds out who calls. A nil one lets everybody do everything.
type authenticator struct {
	tokens       *tokenFile // nil where no file is configured
	certificates map[string][]Role
	now          func() time.Time
	log          *zap.Logger
}

func newAuthenticator(c AuthConfig, now func() time.Time, log *zap.Logger) *authenticator {
	if !c.on() {
		return nil
	}
	a := &authenticator{certificates: map[string][]Role{}, now: now, log: log}
	if c.Tokens != "" {
		a.tokens = &tokenFile{path: c.Tokens, certificates: c.Certificates}
	}
	for _, cert := range c.Certificates {
		a.certificates[cert.Name] = cert.Roles
	}
	return a
}

// admit gives ctx with the caller, or says why the call may not be made. The context ends when what the caller showed does.
func (a *authenticator) admit(ctx context.Context, method string) (context.Context, context.CancelFunc, error) {
	if a == nil || public(method) {
		return ctx, func() {}, nil
	}
	p, until, err := a.identify(ctx)
	if err != nil {
		return nil, nil, fixture.NewError(fixture.CodeUnauthenticated, "call", method, err)
	}
	if !permits(p, method) {
		return nil, nil, fixture.NewError(fixture.CodeDenied, "call", method, fmt.Errorf("%s has the roles %s; it takes one of %s", p.Name, roleList(p.Roles), roleList(permissions[method])))
	}
	ctx, cancel := context.WithTimeoutCause(withPrincipal(ctx, p), until.Sub(a.now()), errExpired)
	return ctx, cancel, nil
}

var (
	errExpired   = fixture.NewError(fixture.CodeUnauthenticated, "", "", errors.New("the caller's token or certificate has expired"))
	errNoToken   = errors.New("the server knows its callers: send a token (RETRIAL_TOKEN) or a client certificate")
	errBadToken  = errors.New("the token is unknown or has expired")
	errManyToken = errors.New("more than one authorization header")
)

// identify never says which of unknown and expired a token is.
func (a *authenticator) identify(ctx context.Context) (Principal, time.Time, error) {
	headers := metadata.ValueFromIncomingContext(ctx, "authorization")
	switch {
	case len(headers) > 1:
		return Principal{}, time.Time{}, errManyToken
	case len(headers) == 1:
		return a.byToken(headers[0])
	}
	return a.byCertificate(ctx)
}

func (a *authenticator) byToken(header string) (Principal, time.Time, error) {
	scheme, secret, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "bearer") || a.tokens == nil {
		return Principal{}, time.Time{}, errBadToken
	}
	t, ok, err := a.tokens.find(hashToken(secret))
	if err != nil {
		a.log.Error("the tokens cannot be read, and nobody is admitted", zap.Error(err))
		return Principal{}, time.Time{}, errBadToken
	}
	if !ok || !a.now().Before(t.ExpiresAt) {
		return Principal{}, time.Time{}, errBadToken
	}
	return Principal{Name: t.Name, Roles: t.Roles}, t.ExpiresAt, nil
}

func (a *authenticator) byCertificate(ctx context.Context) (Principal, time.Time, error) {
	from, _ := peer.FromContext(ctx)
	if from == nil {
		return Principal{}, time.Time{}, errNoToken
	}
	info, ok := from.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 {
		return Principal{}, time.Time{}, errNoToken
	}
	leaf := info.State.VerifiedChains[0][0]
	var names []string
	for _, u := range leaf.URIs {
		names = append(names, u.String())
	}
	names = append(append(names, leaf.DNSNames...), leaf.Subject.CommonName)
	if !a.now().Before(leaf.NotAfter) {
		return Principal{}, time.Time{}, errExpired // the connection outlived it
	}
	for _, name := range names {
		if have, ok := a.certificates[name]; ok && name != "" {
			return Principal{Name: name, Roles: have}, leaf.NotAfter, nil
		}
	}
	return Principal{}, time.Time{}, errors.New("the server knows no caller by the names of this certificate")
}

// hasRole says whether the caller has a role. On a server that does not know its callers everybody has every role.
func hasRole(ctx context.Context, r Role) bool {
	p, known := ctx.Value(principalKey{}).(Principal)
	return !known || slices.Contains(p.Roles, r)
}
