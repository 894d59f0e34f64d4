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
	// maxIntermediates bounds the certificates that are looked at beside the caller's own.
	maxIntermediates = 5
	// maxChainBytes bounds what is looked at of a chain. A certificate has about 1 KiB.
	maxChainBytes = 32 << 10
	// maxRSABits is the longest RSA key of an intermediate.
	maxRSABits = 4096
)

var errLongCertificate = errors.New("it is longer than 32 KiB")

// boundedChain returns the part of a chain that is verified: the caller's own certificate, and the
// first intermediates that may be looked at. Every client can send a chain of issuers of its
// own making, each of which costs signatures to check: so their number is bounded, one with an
// expensive key is left out, and so is one with the names and the key of another, for x509 would
// try them in every order. The chain must not be empty.
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

// isCheapKey reports whether a signature of a key can be checked in less than a millisecond.
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

// hasTwin reports whether a certificate has the names and the key of one of others. Those that are
// cross-signed have different issuers.
func hasTwin(others []*x509.Certificate, one *x509.Certificate) bool {
	return slices.ContainsFunc(others, func(other *x509.Certificate) bool {
		return bytes.Equal(other.RawSubjectPublicKeyInfo, one.RawSubjectPublicKeyInfo) &&
			bytes.Equal(other.RawSubject, one.RawSubject) && bytes.Equal(other.RawIssuer, one.RawIssuer)
	})
}

// fingerprintOf tells chains apart.
func fingerprintOf(chain []*x509.Certificate) [sha256.Size]byte {
	d := digest{sha256.New()}
	for _, certificate := range chain {
		d.length(len(certificate.Raw))
		_, _ = d.Write(certificate.Raw)
	}
	return [sha256.Size]byte(d.Sum(nil))
}

// explainBounds adds to an error that not all of a chain was looked at.
func explainBounds(err error, sent, verified int) error {
	if err == nil || sent == verified {
		return err
	}
	return fmt.Errorf("%w (%d of the %d certificates that came with it were looked at: at most %d, with keys of Ed25519, P-256, P-384 or RSA up to %d bits)",
		err, verified-1, sent-1, maxIntermediates, maxRSABits)
}
