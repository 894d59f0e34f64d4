package auth

import (
	"context"
	"crypto/x509"
	"net/http"
	"net/netip"
)

type peerKey struct{}

// peer is the other end of a request's connection.
type peer struct {
	address      string              // IP:PORT
	certificates []*x509.Certificate // sent by TLS, the peer's own first
}

// WithPeer stores the address of a connection's peer, and the certificates that it has sent by TLS,
// in the request's context for [ClusterAuthenticator], because code after a protocol's interceptors
// does not have the connection. Addresses in headers, such as X-Forwarded-For, are ignored, because
// any client can send them.
func WithPeer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := peer{address: r.RemoteAddr}
		if r.TLS != nil {
			from.certificates = r.TLS.PeerCertificates
		}
		next.ServeHTTP(w, r.WithContext(contextWithPeer(r.Context(), from)))
	})
}

func contextWithPeer(ctx context.Context, from peer) context.Context {
	return context.WithValue(ctx, peerKey{}, from)
}

func peerFrom(ctx context.Context) peer {
	from, _ := ctx.Value(peerKey{}).(peer)
	return from
}

// network returns the network that identifies the peer.
func (p peer) network() netip.Prefix { return PeerNetwork(p.address) }

// PeerNetwork returns the network that identifies a peer, given the address of a connection,
// IP:PORT: the IP address, and for IPv6 its first 64 bits, because a host with one such address has
// all addresses with these bits. Addresses that cannot be parsed are one network.
func PeerNetwork(address string) netip.Prefix {
	from, _ := netip.ParseAddrPort(address)
	ip := from.Addr().Unmap().WithZone("")
	network, _ := ip.Prefix(min(ip.BitLen(), 64))
	return network
}
