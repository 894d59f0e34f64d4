package auth

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/asn1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

const (
	// maxVerified bounds the cached accepted chains, and maxUnverified the rejected ones, which are
	// cached separately so that invalid chains cannot evict valid ones. Each takes about 500 bytes.
	maxVerified   = 4096
	maxUnverified = 4096
	// unverifiedTTL is the maximum time for which a rejected chain is cached.
	unverifiedTTL = 10 * time.Minute
	// maxUnverifiedOfPeer bounds the waiting verifications of one peer.
	maxUnverifiedOfPeer = 128
)

// certificates verifies the chains of client certificates, each chain once: the result is cached
// until the authorities change or a certificate expires. Verifications are shared fairly by the
// address of the connection. Its methods are safe for concurrent use.
type certificates struct {
	authorities *clientCA
	verify      func([]*x509.Certificate, *x509.CertPool) (Identity, error) // set once
	slots       *fairqueue.Queue
	accepted    *utilcache.LRUExpireCache // by fingerprint, with the field below
	rejected    *utilcache.LRUExpireCache
}

// verification is the result for a chain, by some authorities.
type verification struct {
	authorities *x509.CertPool
	identity    Identity
	rejected    error // nil if the chain is accepted
}

func newCertificates(authorities *clientCA) *certificates {
	processors := int64(max(2, runtime.GOMAXPROCS(0)))
	return &certificates{
		authorities: authorities,
		verify:      certificateIdentity,
		slots: fairqueue.New(fairqueue.Limits{
			Name: "other certificates", Total: processors, PerKey: processors / 2, Waiting: maxUnverifiedOfPeer,
		}),
		accepted: utilcache.NewLRUExpireCache(maxVerified),
		rejected: utilcache.NewLRUExpireCache(maxUnverified),
	}
}

// authenticate returns the identity that the API server gives the holder of a chain.
func (c *certificates) authenticate(ctx context.Context, from peer) (Identity, error) {
	authorities, read := c.authorities.authorities()
	if !read {
		return Identity{}, unavailable(ctx, "for its authorities of client certificates", nil)
	}
	if authorities == nil {
		return Identity{}, unauthenticated("the cluster accepts no client certificates: " +
			"send \"Authorization: Bearer TOKEN\"")
	}
	chain, err := boundedChain(from.certificates)
	if err != nil {
		return Identity{}, notAccepted(err)
	}
	found, err := c.find(ctx, from, chain, authorities)
	switch {
	case errors.Is(err, errNoSlot):
		return Identity{}, throttledError(err)
	case err != nil:
		return Identity{}, err
	case found.rejected != nil:
		return Identity{}, notAccepted(explainBounds(found.rejected, len(from.certificates), len(chain)))
	}
	return found.identity, checkUser(found.identity.Username, found.identity.Groups)
}

func notAccepted(err error) error {
	return unauthenticated("the client certificate is not accepted: %w", err)
}

// find returns the cached verification of a chain, or verifies it. Concurrent calls of one
// connection wait for the first of them.
func (c *certificates) find(
	ctx context.Context, from peer, chain []*x509.Certificate, authorities *x509.CertPool,
) (verification, error) {
	fingerprint := fingerprintOf(chain)
	if found, ok := c.cached(fingerprint, authorities); ok {
		return found, nil
	}
	release, err := c.slots.AcquireWithin(ctx, from.network().String(), 1, slotTimeout)
	if errors.Is(err, fairqueue.ErrFull) {
		err = errNoSlotForVerification
	}
	if err != nil {
		return verification{}, err
	}
	defer release()
	if found, ok := c.cached(fingerprint, authorities); ok {
		return found, nil
	}
	found := verification{authorities: authorities}
	found.identity, found.rejected = c.verify(chain, authorities)
	c.cacheResult(fingerprint, chain, found)
	return found, nil
}

func (c *certificates) cached(fingerprint [sha256.Size]byte, authorities *x509.CertPool) (verification, bool) {
	for _, cache := range []*utilcache.LRUExpireCache{c.accepted, c.rejected} {
		value, _ := cache.Get(fingerprint)
		if found, ok := value.(verification); ok && found.authorities == authorities {
			return found, true
		}
	}
	return verification{}, false
}

// cacheResult caches a verification as long as it is valid: an accepted chain until it expires, a
// rejected one until the next of its certificates becomes valid or expires.
func (c *certificates) cacheResult(fingerprint [sha256.Size]byte, chain []*x509.Certificate, found verification) {
	if found.rejected != nil {
		c.rejected.Add(fingerprint, found, min(unverifiedTTL, untilNextChange(chain)))
		return
	}
	if left := time.Until(found.identity.Expires); left > 0 {
		c.accepted.Add(fingerprint, found, left)
	}
}

// untilNextChange returns the time until the first of some certificates becomes valid or expires.
func untilNextChange(chain []*x509.Certificate) time.Duration {
	next := unverifiedTTL
	for _, certificate := range chain {
		for _, at := range []time.Time{certificate.NotBefore, certificate.NotAfter} {
			if left := time.Until(at); left > 0 {
				next = min(next, left)
			}
		}
	}
	return next
}

const (
	// clientCANamespace, clientCAConfigMap and clientCAKey are the location at which the API server
	// publishes the authorities of client certificates. Reading it requires the role
	// extension-apiserver-authentication-reader.
	clientCANamespace = "kube-system"
	clientCAConfigMap = "extension-apiserver-authentication"
	clientCAKey       = "client-ca-file"
	// clientCAInterval is how often the authorities are read, and clientCARetry the delay after an
	// error.
	clientCAInterval = time.Minute
	clientCARetry    = 5 * time.Second
)

// clientCA reads and keeps the authorities of the cluster's client certificates. Its methods are
// safe for concurrent use.
type clientCA struct {
	configMaps corev1client.ConfigMapInterface

	mu    sync.RWMutex   // guards the fields below
	read  bool           // whether they have been read at least once
	pool  *x509.CertPool // nil if the cluster has none
	bytes string         // the PEM data that pool was parsed from
}

func newClientCA(core corev1client.ConfigMapsGetter) *clientCA {
	return &clientCA{configMaps: core.ConfigMaps(clientCANamespace)}
}

// run reads the authorities until the context is done. While they cannot be read, the last ones
// remain in use.
func (c *clientCA) run(ctx context.Context) {
	for failed := false; ; {
		pause := clientCAInterval
		if err := c.reload(ctx); err != nil {
			pause = clientCARetry
			if !failed && ctx.Err() == nil {
				slog.WarnContext(ctx, "cannot read the authorities of client certificates", "error", err)
			}
			failed = true
		} else {
			failed = false
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

func (c *clientCA) reload(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	published, err := c.configMaps.Get(ctx, clientCAConfigMap, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return c.set(published.Data[clientCAKey])
}

func (c *clientCA) set(bytes string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read && c.bytes == bytes {
		return nil
	}
	var pool *x509.CertPool
	if bytes != "" {
		pool = x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(bytes)) {
			return errors.New(clientCAKey + " in ConfigMap " + clientCANamespace + "/" + clientCAConfigMap +
				" contains no certificate")
		}
	}
	c.read, c.bytes, c.pool = true, bytes, pool
	return nil
}

// authorities returns the authorities, or nil if the cluster has none. read is false if they have
// not been read yet.
func (c *clientCA) authorities() (pool *x509.CertPool, read bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.pool, c.read
}

// requestCertificates returns a copy of base that requests a client certificate of the cluster's current
// authorities from each client. It does not verify the certificate: calls do.
func (c *clientCA) requestCertificates(base *tls.Config) *tls.Config {
	config := base.Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		pool, read := c.authorities()
		if read && pool == nil {
			return nil, nil // while the authorities are not known, every certificate is requested
		}
		config := base.Clone()
		config.ClientAuth, config.ClientCAs = tls.RequestClientCert, pool
		return config, nil
	}
	return config
}

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
