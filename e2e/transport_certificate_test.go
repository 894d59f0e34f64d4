package e2e_test

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

// certificate is a self-signed certificate for this machine, in files and as the authority that a
// client must trust.
type certificate struct {
	certFile, keyFile string
	parsed            *x509.Certificate
}

func newCertificate(t *testing.T) certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "kubeconnect e2e"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
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
	return certificate{
		certFile: writePEM(t, "CERTIFICATE", signed),
		keyFile:  writePEM(t, "PRIVATE KEY", private),
		parsed:   parsed,
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

// trusting returns a client configuration that trusts only this certificate.
func (c certificate) trusting() *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(c.parsed)
	return &tls.Config{RootCAs: roots}
}

// startTLSService starts a service that serves TLS with a certificate.
func startTLSService(t *testing.T, before *harness.Cluster, with certificate) *harness.Service {
	t.Helper()
	return harness.StartService(t, before.Kubeconfig,
		"--tls-cert-file", with.certFile, "--tls-private-key-file", with.keyFile)
}
