package server_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	"github.com/retrial-dev/retrial/server"
)

// authority issues certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	n    int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key, n: 1, cert: &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

// issue writes a certificate and its key to NAME.pem and NAME.key.
func (a *authority) issue(t *testing.T, dir, name, uri string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a.n++
	leaf := &x509.Certificate{SerialNumber: big.NewInt(a.n), Subject: pkix.Name{CommonName: name}, NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter, DNSNames: []string{"localhost"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	if uri != "" {
		u, err := url.Parse(uri)
		if err != nil {
			t.Fatal(err)
		}
		leaf.URIs = []*url.URL{u}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM, keyPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	for file, b := range map[string][]byte{name + ".pem": certPEM, name + ".key": keyPEM} {
		if err := os.WriteFile(filepath.Join(dir, file), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// TLS 1.3 and no less; a client certificate stands for a caller where its authority and its name are known.
func TestTLS(t *testing.T) {
	dir, ours, theirs := t.TempDir(), newAuthority(t), newAuthority(t)
	ours.issue(t, dir, "server", "")
	ci, stranger, forged := ours.issue(t, dir, "ci", "spiffe://example.org/ci"), ours.issue(t, dir, "stranger", ""), theirs.issue(t, dir, "forged", "spiffe://example.org/ci")
	ca := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ours.cert.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	c := server.Config{TLS: server.TLSConfig{Cert: filepath.Join(dir, "server.pem"), Key: filepath.Join(dir, "server.key"), ClientCA: ca},
		Auth: server.AuthConfig{Certificates: []server.CertificateConfig{{Name: "spiffe://example.org/ci", Roles: []server.Role{server.Reader}}}}}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	store, key, err := server.OpenStore(filepath.Join(dir, "retrial.db"), "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(c, server.Parts{Store: store, Checkers: server.NewCheckers(c), Key: key, Log: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	defer func() {
		for _, end := range []func() error{s.Stop, func() error { return <-served }, store.Close} {
			if err := end(); err != nil {
				t.Error(err)
			}
		}
	}()
	pool := x509.NewCertPool()
	pool.AddCert(ours.cert)
	ask := func(creds credentials.TransportCredentials) error {
		conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(creds))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err = fixturev1.NewFixtureServiceClient(conn).ListSets(ctx, &fixturev1.ListSetsRequest{})
		return err
	}
	with := func(certs ...tls.Certificate) *tls.Config {
		return &tls.Config{RootCAs: pool, ServerName: "localhost", Certificates: certs, MinVersion: tls.VersionTLS12}
	}
	old := with(ci)
	old.MaxVersion = tls.VersionTLS12
	for name, tt := range map[string]struct {
		creds credentials.TransportCredentials
		want  codes.Code
	}{
		"a known certificate":    {credentials.NewTLS(with(ci)), codes.OK},
		"none":                   {credentials.NewTLS(with()), codes.Unauthenticated},
		"an unknown name":        {credentials.NewTLS(with(stranger)), codes.Unauthenticated},
		"another authority":      {credentials.NewTLS(with(forged)), codes.Unavailable},
		"TLS 1.2":                {credentials.NewTLS(old), codes.Unavailable},
		"in the clear":           {insecure.NewCredentials(), codes.Unavailable},
		"a server of no concern": {credentials.NewTLS(&tls.Config{RootCAs: x509.NewCertPool(), ServerName: "localhost"}), codes.Unavailable},
	} {
		if got := status.Code(ask(tt.creds)); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	// A renewed certificate needs no restart.
	next := newAuthority(t)
	next.issue(t, dir, "server", "")
	renewed := x509.NewCertPool()
	renewed.AddCert(next.cert)
	config := with(ci)
	config.RootCAs = renewed
	if err := ask(credentials.NewTLS(config)); err != nil {
		t.Errorf("a renewed certificate: %v", err)
	}
}
