package kit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// Certificate is a self-signed certificate for this machine, in files and as the authority that a
// client must trust.
type Certificate struct {
	CertFile, KeyFile string
	Parsed            *x509.Certificate
}

// NewCertificate returns a self-signed certificate for 127.0.0.1, in files.
func NewCertificate(t *testing.T) Certificate {
	t.Helper()
	return NewCertificateUntil(t, time.Now().Add(24*time.Hour))
}

// NewCertificateUntil returns a certificate as NewCertificate does that expires at a time, which may be
// in the past.
func NewCertificateUntil(t *testing.T, expires time.Time) Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "kubeconnect e2e"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              expires,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(signed)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Certificate{
		CertFile: writePEM(t, "CERTIFICATE", signed),
		KeyFile:  writePEM(t, "PRIVATE KEY", private),
		Parsed:   parsed,
	}
}

func writePEM(t *testing.T, kind string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// PEM returns the content of the certificate's file.
func (c Certificate) PEM(t *testing.T) []byte {
	t.Helper()
	content, err := os.ReadFile(c.CertFile)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Trusting returns a client configuration that trusts only this certificate.
func (c Certificate) Trusting() *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(c.Parsed)
	return &tls.Config{RootCAs: roots}
}

// StartTLSService starts a service that serves TLS with a certificate.
func StartTLSService(t *testing.T, before *harness.Cluster, with Certificate) *harness.Service {
	t.Helper()
	return harness.StartService(t, before.Kubeconfig,
		"--tls-cert-file", with.CertFile, "--tls-private-key-file", with.KeyFile)
}

// Replace overwrites the files of this certificate with another one.
func (c Certificate) Replace(t *testing.T, next Certificate) {
	t.Helper()
	for from, to := range map[string]string{next.CertFile: c.CertFile, next.KeyFile: c.KeyFile} {
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
