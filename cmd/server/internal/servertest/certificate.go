package servertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"testing"
)

// Signed returns the self-signed certificate of a template, and its key, in PEM.
func Signed(t *testing.T, template *x509.Certificate) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return inPEM("CERTIFICATE", signed), inPEM("PRIVATE KEY", encoded)
}

func inPEM(kind string, content []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}))
}
