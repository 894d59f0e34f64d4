package kit

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"testing"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// Authority signs certificates.
type Authority struct {
	Certificate *x509.Certificate
	key         crypto.Signer
}

// ClusterAuthority returns the authority of a control plane: it signs the API server's certificate, and
// the certificates of the users that the API server accepts.
func ClusterAuthority(t *testing.T, controlPlane *harness.Cluster) Authority {
	t.Helper()
	parsed, err := certutil.CertsFromFile(controlPlane.PKI("ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := keyutil.PrivateKeyFromFile(controlPlane.PKI("ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	return Authority{parsed[0], key.(crypto.Signer)}
}

// NewAuthority returns an authority that no cluster has yet.
func NewAuthority(t *testing.T, name string) Authority {
	t.Helper()
	key, _ := newKey(t)
	parsed, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: name}, key)
	if err != nil {
		t.Fatal(err)
	}
	return Authority{parsed, key}
}

// PEM returns the certificate of the authority, which its clients have to trust.
func (a Authority) PEM(t *testing.T) []byte {
	t.Helper()
	return encoded(t, a.Certificate.Raw)
}

// Sign creates a key and its certificate, both as PEM.
func (a Authority) Sign(t *testing.T, template *x509.Certificate) (certificate, key []byte) {
	t.Helper()
	signer, key := newKey(t)
	signed, err := x509.CreateCertificate(rand.Reader, template, a.Certificate, signer.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return encoded(t, signed), key
}

func encoded(t *testing.T, certificate []byte) []byte {
	t.Helper()
	text, err := certutil.EncodeCertificates(&x509.Certificate{Raw: certificate})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func newKey(t *testing.T) (key crypto.Signer, encoded []byte) {
	t.Helper()
	encoded, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.(crypto.Signer), encoded
}
