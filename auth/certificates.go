package auth

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/asn1"
)

const (
	groupAuthenticated = "system:authenticated"
	// extraCredentialID is the key of a user's extra in which the API server names a credential.
	extraCredentialID = "authentication.kubernetes.io/credential-id"
)

// certificateIdentity returns the identity that the API server gives the holder of a client
// certificate. chain is the examined part of the peer's chain: the peer's own certificate, and
// intermediates that may lead to one of the authorities.
func certificateIdentity(chain []*x509.Certificate, authorities *x509.CertPool) (Identity, error) {
	if len(chain) == 0 {
		return Identity{}, errors.New("the chain has no certificate")
	}
	chains, err := chain[0].Verify(x509.VerifyOptions{
		Roots:         authorities,
		Intermediates: poolOf(chain[1:]),
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return Identity{}, err
	}
	subject := chain[0].Subject
	uid, err := certificateUID(chain[0])
	if err != nil {
		return Identity{}, err
	}
	fingerprint := sha256.Sum256(chain[0].Raw)
	return Identity{
		Username: subject.CommonName,
		UID:      uid,
		Groups:   append(slices.Clone(subject.Organization), groupAuthenticated),
		Extra:    map[string][]string{extraCredentialID: {"X509SHA256=" + hex.EncodeToString(fingerprint[:])}},
		Expires:  lastEnd(chains),
	}, nil
}

func poolOf(certificates []*x509.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, certificate := range certificates {
		pool.AddCert(certificate)
	}
	return pool
}

// certificateUID returns the user's UID from a subject attribute that Kubernetes defines.
func certificateUID(certificate *x509.Certificate) (uid string, err error) {
	for _, attribute := range certificate.Subject.Names {
		if !attribute.Type.Equal(asn1.X509UID()) {
			continue
		}
		text, ok := attribute.Value.(string)
		if !ok || text == "" || uid != "" {
			return "", errors.New("the subject must have at most one UID, and it must be a string")
		}
		uid = text
	}
	return uid, nil
}

// lastEnd returns the time at which the last of the chains expires. A chain expires with the first
// of its certificates.
func lastEnd(chains [][]*x509.Certificate) (last time.Time) {
	for _, chain := range chains {
		first := slices.MinFunc(chain, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
		if first.NotAfter.After(last) {
			last = first.NotAfter
		}
	}
	return last
}
