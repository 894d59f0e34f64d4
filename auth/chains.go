package auth

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
)

const (
	// maxIntermediates bounds the certificates that are examined in addition to the caller's own.
	maxIntermediates = 5
	// maxChainBytes bounds the examined bytes of a chain. A certificate has about 1 KiB.
	maxChainBytes = 32 << 10
	// maxRSABits is the longest RSA key of an intermediate.
	maxRSABits = 4096
)

var errLongCertificate = errors.New("the certificate is longer than 32 KiB")

// boundedChain returns the part of a chain that is verified: the caller's own certificate, and the
// first acceptable intermediates. Every client can send a chain of invented issuers, and the
// verification of each costs signature checks. Therefore the number of intermediates is bounded.
// Intermediates with an expensive key are skipped, and so are those with the names and the key of
// another one, because x509 would try them in every order. The chain must not be empty.
func boundedChain(chain []*x509.Certificate) ([]*x509.Certificate, error) {
	bounded, size := chain[:1:1], len(chain[0].Raw)
	if size > maxChainBytes {
		return nil, errLongCertificate
	}
	for _, issuer := range chain[1:] {
		if len(bounded) > maxIntermediates {
			break
		}
		if size+len(issuer.Raw) > maxChainBytes || !isCheapKey(issuer.PublicKey) || hasTwin(bounded[1:], issuer) {
			continue
		}
		bounded, size = append(bounded, issuer), size+len(issuer.Raw)
	}
	return bounded, nil
}

// isCheapKey reports whether a signature by the key can be checked in less than a millisecond.
func isCheapKey(key any) bool {
	switch key := key.(type) {
	case ed25519.PublicKey:
		return true
	case *ecdsa.PublicKey:
		return key.Curve == elliptic.P256() || key.Curve == elliptic.P384()
	case *rsa.PublicKey:
		return key.N.BitLen() <= maxRSABits
	}
	return false
}

// hasTwin reports whether one of the others has the same names and key as a certificate.
// Cross-signed certificates have different issuers, and are not twins.
func hasTwin(others []*x509.Certificate, certificate *x509.Certificate) bool {
	return slices.ContainsFunc(others, func(other *x509.Certificate) bool {
		return bytes.Equal(other.RawSubjectPublicKeyInfo, certificate.RawSubjectPublicKeyInfo) &&
			bytes.Equal(other.RawSubject, certificate.RawSubject) && bytes.Equal(other.RawIssuer, certificate.RawIssuer)
	})
}

// fingerprintOf returns a hash that identifies a chain.
func fingerprintOf(chain []*x509.Certificate) [sha256.Size]byte {
	d := digest{sha256.New()}
	for _, certificate := range chain {
		d.length(len(certificate.Raw))
		_, _ = d.Write(certificate.Raw)
	}
	return [sha256.Size]byte(d.Sum(nil))
}

// explainBounds adds to an error that only a part of the chain was examined.
func explainBounds(err error, sent, verified int) error {
	if err == nil || sent == verified {
		return err
	}
	return fmt.Errorf("%w (%d of the %d additional certificates were examined: at most %d, "+
		"with keys of Ed25519, P-256, P-384 or RSA up to %d bits)",
		err, verified-1, sent-1, maxIntermediates, maxRSABits)
}
