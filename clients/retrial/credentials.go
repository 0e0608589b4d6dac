package retrial

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Access says how a client reaches a server and who it is. Its zero value is in the clear, and nobody.
type Access struct {
	// TLS encrypts, with the authorities that the system trusts, or those of CA.
	TLS bool
	// CA is the path of the authorities that issued the server's certificate, as PEM; it implies TLS.
	CA string
	// Cert and Key are the paths of a client certificate and its key, as PEM; they imply TLS.
	Cert, Key string
	// Token is a bearer token.
	Token string
	// InsecureToken sends Token in the clear. Only for a server that this machine alone reaches.
	InsecureToken bool
}

// DialOptions gives the options of a connection. TLS 1.3 is the least. The certificate files are read once.
func (a Access) DialOptions() ([]grpc.DialOption, error) {
	encrypted := a.TLS || a.CA != "" || a.Cert != "" || a.Key != ""
	if a.Token != "" && !encrypted && !a.InsecureToken {
		return nil, errors.New("a token is not sent in the clear to another machine: use TLS")
	}
	creds := insecure.NewCredentials()
	if encrypted {
		config := &tls.Config{MinVersion: tls.VersionTLS13}
		if a.CA != "" {
			b, err := os.ReadFile(a.CA)
			if err != nil {
				return nil, err
			}
			if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(b) {
				return nil, fmt.Errorf("%s: there is no certificate in it", a.CA)
			}
		}
		if a.Cert != "" || a.Key != "" {
			cert, err := tls.LoadX509KeyPair(a.Cert, a.Key)
			if err != nil {
				return nil, fmt.Errorf("client certificate: %w", err)
			}
			config.Certificates = []tls.Certificate{cert}
		}
		creds = credentials.NewTLS(config)
	}
	opts := []grpc.DialOption{grpc.WithTransportCredentials(creds)}
	if a.Token != "" {
		opts = append(opts, grpc.WithPerRPCCredentials(bearer{a.Token, !a.InsecureToken}))
	}
	return opts, nil
}

// bearer sends a token with every call.
type bearer struct {
	token  string
	secure bool
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + b.token}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (b bearer) RequireTransportSecurity() bool { return b.secure }
