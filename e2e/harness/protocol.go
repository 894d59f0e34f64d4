package harness

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"testing"

	"connectrpc.com/connect"

	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

// grpcLimit is how long a message may be for gRPC clients unless they say
// something else. Every caller here keeps to it.
const grpcLimit = 4 << 20

// Protocol is a way to speak to the service.
type Protocol struct {
	Name    string
	options []connect.ClientOption
}

// The protocols that the service speaks on its one port.
var (
	Connect = Protocol{Name: "Connect", options: []connect.ClientOption{connect.WithReadMaxBytes(grpcLimit)}}
	// ConnectJSON is Connect with messages that people can read. They are longer,
	// so the limit is not for them.
	ConnectJSON = Protocol{Name: "Connect with JSON", options: []connect.ClientOption{connect.WithProtoJSON()}}
	// ConnectGET sends a token with every call, because a call by GET is refused without one. A
	// service without authentication takes any.
	ConnectGET = Protocol{Name: "Connect with GET", options: []connect.ClientOption{connect.WithReadMaxBytes(grpcLimit), connect.WithHTTPGet(), connect.WithInterceptors(connect.UnaryInterceptorFunc(withToken))}}
	GRPC       = Protocol{Name: "gRPC", options: []connect.ClientOption{connect.WithReadMaxBytes(grpcLimit), connect.WithGRPC()}}
	GRPCWeb    = Protocol{Name: "gRPC-Web", options: []connect.ClientOption{connect.WithReadMaxBytes(grpcLimit), connect.WithGRPCWeb()}}
)

func withToken(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		request.Header().Set("Authorization", "Bearer any")
		return next(ctx, request)
	}
}

// Protocols are all of them.
var Protocols = []Protocol{Connect, ConnectJSON, ConnectGET, GRPC, GRPCWeb}

// Clients are the generated clients of all services, over one HTTP client.
type Clients struct {
	Resources kubeconnectv1connect.ResourceServiceClient
	Discovery kubeconnectv1connect.DiscoveryServiceClient
	Access    kubeconnectv1connect.AccessServiceClient
	Pods      kubeconnectv1connect.PodServiceClient
}

// Dial returns clients that speak a protocol over an HTTP client.
func Dial(httpClient *http.Client, address string, protocol Protocol) Clients {
	return Clients{
		Resources: kubeconnectv1connect.NewResourceServiceClient(httpClient, address, protocol.options...),
		Discovery: kubeconnectv1connect.NewDiscoveryServiceClient(httpClient, address, protocol.options...),
		Access:    kubeconnectv1connect.NewAccessServiceClient(httpClient, address, protocol.options...),
		Pods:      kubeconnectv1connect.NewPodServiceClient(httpClient, address, protocol.options...),
	}
}

// HTTP1 is an HTTP client without HTTP/2. Its connections end with the test.
func HTTP1(t testing.TB) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return client(t, &http.Transport{Protocols: protocols})
}

// OneCallConnections is HTTP1 with a connection of its own for each call.
func OneCallConnections(t testing.TB) *http.Client {
	made := HTTP1(t)
	made.Transport.(*http.Transport).DisableKeepAlives = true
	return made
}

// HTTP2 is an HTTP client that speaks nothing but HTTP/2, also in plain text.
func HTTP2(t testing.TB) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return client(t, &http.Transport{Protocols: protocols})
}

// HTTP2From is HTTP2 from a local address.
func HTTP2From(t testing.TB, address net.IP) *http.Client {
	made := HTTP2(t)
	made.Transport.(*http.Transport).DialContext = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: address}}).DialContext
	return made
}

// HTTP2OverTLS is an HTTP client that speaks nothing but HTTP/2, over TLS, and
// trusts only the given authority.
func HTTP2OverTLS(t testing.TB, authority *x509.Certificate) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	roots := x509.NewCertPool()
	roots.AddCert(authority)
	return client(t, &http.Transport{Protocols: protocols, TLSClientConfig: &tls.Config{RootCAs: roots}})
}

func client(t testing.TB, transport *http.Transport) *http.Client {
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
