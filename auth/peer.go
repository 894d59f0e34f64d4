package auth

import (
	"context"
	"crypto/x509"
	"net/http"
)

type peerKey struct{}

// PeerCertificates hands the certificates that the peer of a TLS connection has sent
// on to [Cluster] in the request's context, for what stands behind a protocol's
// interceptors does not see the connection.
func PeerCertificates(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
			r = r.WithContext(withPeer(r.Context(), r.TLS.PeerCertificates))
		}
		next.ServeHTTP(w, r)
	})
}

func withPeer(ctx context.Context, chain []*x509.Certificate) context.Context {
	return context.WithValue(ctx, peerKey{}, chain)
}

func peerFrom(ctx context.Context) []*x509.Certificate {
	chain, _ := ctx.Value(peerKey{}).([]*x509.Certificate)
	return chain
}
