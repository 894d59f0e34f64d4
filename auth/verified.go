package auth

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"runtime"
	"time"

	utilcache "k8s.io/apimachinery/pkg/util/cache"

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
	release, err := c.slots.AcquireWithin(ctx, from.network().String(), 1, slotPatience)
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
