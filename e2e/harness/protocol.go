package harness

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

// grpcLimit is the default limit of gRPC clients for a message, in bytes. All clients of these
// tests use it.
const grpcLimit = 4 << 20

// Protocol is a protocol that the service supports.
type Protocol struct {
	Name         string
	options      []connecthttp.Option
	interceptors []connect.ClientInterceptor
}

// The protocols that the service supports on its single port.
var (
	Connect = Protocol{Name: "Connect", options: []connecthttp.Option{connecthttp.WithReadMaxBytes(grpcLimit)}}
	// ConnectJSON is Connect with messages in JSON. They are longer, so grpcLimit does not apply.
	ConnectJSON = Protocol{Name: "Connect with JSON", options: []connecthttp.Option{connecthttp.WithReadMaxBytes(0), connecthttp.WithProtoJSON()}}
	// ConnectGET sends a token with every call, because the service rejects a GET without one. A
	// service without authentication accepts any token.
	ConnectGET = Protocol{Name: "Connect with GET", options: []connecthttp.Option{connecthttp.WithReadMaxBytes(grpcLimit), connecthttp.WithHTTPGet()}, interceptors: []connect.ClientInterceptor{withToken}}
	GRPC       = Protocol{Name: "gRPC", options: []connecthttp.Option{connecthttp.WithReadMaxBytes(grpcLimit), connecthttp.WithGRPC()}}
	GRPCWeb    = Protocol{Name: "gRPC-Web", options: []connecthttp.Option{connecthttp.WithReadMaxBytes(grpcLimit), connecthttp.WithGRPCWeb()}}
)

func withToken(next connect.ClientFunc) connect.ClientFunc {
	return func(ctx context.Context, spec connect.Spec) (connect.ClientStream, error) {
		if call, ok := connect.CallInfoForClientContext(ctx); ok {
			call.RequestHeader().Set("Authorization", "Bearer any")
		}
		return next(ctx, spec)
	}
}

// Protocols lists all protocols.
var Protocols = []Protocol{Connect, ConnectJSON, ConnectGET, GRPC, GRPCWeb}

// Clients holds the generated clients of all services, over one HTTP client.
type Clients struct {
	Resources kubeconnectv1connect.ResourceServiceClient
	Discovery kubeconnectv1connect.DiscoveryServiceClient
	Access    kubeconnectv1connect.AccessServiceClient
	Pods      kubeconnectv1connect.PodServiceClient
}

// Dial returns clients that use a protocol over an HTTP client.
func Dial(httpClient *http.Client, address string, protocol Protocol) Clients {
	client := connect.NewClient(connecthttp.NewTransport(httpClient, address, protocol.options...), protocol.interceptors...)
	return Clients{
		Resources: kubeconnectv1connect.NewResourceServiceClient(client),
		Discovery: kubeconnectv1connect.NewDiscoveryServiceClient(client),
		Access:    kubeconnectv1connect.NewAccessServiceClient(client),
		Pods:      kubeconnectv1connect.NewPodServiceClient(client),
	}
}

// HTTP1 returns an HTTP client without HTTP/2. Its connections are closed when the test ends.
func HTTP1(t testing.TB) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return client(t, &http.Transport{Protocols: protocols})
}

// OneCallConnections returns an HTTP1 client that opens a new connection for each call.
func OneCallConnections(t testing.TB) *http.Client {
	httpClient := HTTP1(t)
	httpClient.Transport.(*http.Transport).DisableKeepAlives = true
	return httpClient
}

// HTTP2 returns an HTTP client that supports only HTTP/2, with prior knowledge in plain text.
func HTTP2(t testing.TB) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return client(t, &http.Transport{Protocols: protocols})
}

// HTTP2From returns an HTTP2 client that connects from a local address.
func HTTP2From(t testing.TB, address net.IP) *http.Client {
	httpClient := HTTP2(t)
	httpClient.Transport.(*http.Transport).DialContext = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: address}}).DialContext
	return httpClient
}

// HTTP2OverTLS returns an HTTP client that supports only HTTP/2 over TLS and trusts only the given
// authority.
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
