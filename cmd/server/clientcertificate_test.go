package main

import (
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
)

func TestClientCertificateExpiry_IsThatOfTheConfiguration(t *testing.T) {
	first, second := expiringIn(t, time.Hour), expiringIn(t, 2*time.Hour)
	file := filepath.Join(t.TempDir(), "client.crt")
	succeeds(t, os.WriteFile(file, first, 0o600))
	inFile := newClientCertificateExpiry(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CertFile: file}})
	if got := valueOf(t, inFile); got != expiryOf(t, first) {
		t.Errorf("a file: %.0f", got)
	}
	succeeds(t, os.WriteFile(file, second, 0o600))
	if got := valueOf(t, inFile); got != expiryOf(t, second) {
		t.Errorf("a file that has changed: %.0f", got)
	}
	for name, test := range map[string]struct {
		config rest.TLSClientConfig
		want   float64
	}{
		"data":           {rest.TLSClientConfig{CertData: first}, expiryOf(t, first)},
		"none":           {rest.TLSClientConfig{}, 0},
		"missing file":   {rest.TLSClientConfig{CertFile: file + ".missing"}, 0},
		"no certificate": {rest.TLSClientConfig{CertData: []byte("text")}, 0},
	} {
		if got := valueOf(t, newClientCertificateExpiry(&rest.Config{TLSClientConfig: test.config})); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// expiringIn returns a certificate in PEM that expires after a time.
func expiringIn(t *testing.T, life time.Duration) []byte {
	t.Helper()
	certificate, _, err := cert.GenerateSelfSignedCertKeyWithOptions(cert.SelfSignedCertKeyOptions{Host: "127.0.0.1", MaxAge: life})
	succeeds(t, err)
	first, _ := pem.Decode(certificate) // without that of its authority
	return pem.EncodeToMemory(first)
}

func expiryOf(t *testing.T, certificate []byte) float64 {
	t.Helper()
	parsed, err := cert.ParseCertsPEM(certificate)
	succeeds(t, err)
	return float64(parsed[0].NotAfter.Unix())
}
