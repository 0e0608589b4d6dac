package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"google.golang.org/grpc/credentials"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// TLSConfig says how a server encrypts. Its zero value does not. TLS 1.3 is the least.
type TLSConfig struct {
	// Cert and Key are the paths of the server's certificate chain and key, as PEM. They are read at every handshake, so that
	// a renewed certificate needs no restart.
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	// ClientCA is the path of the authorities that issue client certificates, as PEM. A caller that shows one must show a
	// valid one.
	ClientCA string `yaml:"client_ca"`
}

func (c TLSConfig) on() bool { return c.Cert != "" }

// credentials gives nil where nothing is encrypted.
func (c TLSConfig) credentials() (credentials.TransportCredentials, error) {
	if !c.on() {
		return nil, nil
	}
	if _, err := tls.LoadX509KeyPair(c.Cert, c.Key); err != nil {
		return nil, fixture.NewError(fixture.CodeInvalid, "read the server's certificate", c.Cert, err)
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			cert, err := tls.LoadX509KeyPair(c.Cert, c.Key)
			return &cert, err
		},
	}
	if c.ClientCA != "" {
		pool, err := readPool(c.ClientCA)
		if err != nil {
			return nil, err
		}
		config.ClientCAs, config.ClientAuth = pool, tls.VerifyClientCertIfGiven
	}
	return credentials.NewTLS(config), nil
}

func readPool(path string) (*x509.CertPool, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fixture.NewError(fixture.CodeInvalid, "read certificate authorities", "", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b) {
		return nil, fixture.NewError(fixture.CodeInvalid, "read certificate authorities", path, errors.New("there is no certificate in it"))
	}
	return pool, nil
}

func (c TLSConfig) validate(auth AuthConfig) error {
	switch {
	case (c.Cert == "") != (c.Key == ""):
		return errors.New("cert and key come together")
	case c.ClientCA != "" && !c.on():
		return errors.New("client_ca needs cert and key")
	case len(auth.Certificates) > 0 && c.ClientCA == "":
		return fmt.Errorf("auth.certificates needs tls.client_ca")
	}
	return nil
}
