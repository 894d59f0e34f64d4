package transport_test

import (
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// allTypes maps protocols to the content types that identify their responses: those of unary calls,
// then those of streams.
var allTypes = map[string][2]string{
	harness.Connect.Name:     {"POST application/proto", "POST application/connect+proto"},
	harness.ConnectJSON.Name: {"POST application/json", "POST application/connect+json"},
	harness.ConnectGET.Name:  {"GET application/proto", "POST application/connect+proto"},
	harness.GRPC.Name:        {"POST application/grpc", "POST application/grpc"},
	harness.GRPCWeb.Name:     {"POST application/grpc-web+proto", "POST application/grpc-web+proto"},
}

// withoutHTTP2 are the protocols that work over HTTP/1.1: gRPC requires HTTP/2.
var withoutHTTP2 = []harness.Protocol{harness.Connect, harness.ConnectJSON, harness.ConnectGET, harness.GRPCWeb}

func TestTransport_PlainHTTP2CarriesAllProtocols(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	overTransport(t, service, harness.HTTP2, harness.Protocols, "HTTP/2.0 in plain text")
}

func TestTransport_PlainHTTP1CarriesConnectAndGRPCWeb(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	overTransport(t, service, harness.HTTP1, withoutHTTP2, "HTTP/1.1 in plain text")
}

func TestTransport_TLSHTTP2CarriesAllProtocols(t *testing.T) {
	t.Parallel()
	certificate := kit.NewCertificate(t)
	service := kit.StartTLSService(t, kit.Cluster(t), certificate)
	client := func(t testing.TB) *http.Client { return harness.HTTP2OverTLS(t, certificate.Parsed) }
	overTransport(t, service, client, harness.Protocols, "HTTP/2.0 over TLS")
}

func TestTransport_TLSHTTP1CarriesConnectAndGRPCWeb(t *testing.T) {
	t.Parallel()
	certificate := kit.NewCertificate(t)
	service := kit.StartTLSService(t, kit.Cluster(t), certificate)
	client := func(t testing.TB) *http.Client {
		client := harness.HTTP1(t)
		client.Transport.(*http.Transport).TLSClientConfig = certificate.Trusting()
		return client
	}
	overTransport(t, service, client, withoutHTTP2, "HTTP/1.1 over TLS")
}

// overTransport reads and watches an object over each protocol, and checks the transport of the
// responses.
func overTransport(t *testing.T, service *harness.Service, newClient func(testing.TB) *http.Client, protocols []harness.Protocol, want string) {
	for _, protocol := range protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t)
			noted := &notingTransport{next: client.Transport, answers: make(map[string]bool)}
			client.Transport = noted
			readAndWatch(t, harness.Dial(client, service.Address, protocol).Resources)
			types := allTypes[protocol.Name]
			noted.want(t, want+": "+types[0], want+": "+types[1])
		})
	}
}

func readAndWatch(t *testing.T, client kit.ResourceClient) {
	t.Helper()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	held := write.Create("one", nil)
	kit.UntilRead(ctx, t, client, "configmaps", held)
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{
		Resource: "configmaps", Namespace: namespace, Name: "one",
	})
	stream.Synced(ctx)
	touched := write.Touch("one", "touched")
	kit.WantChanges(t, stream.Reaches(ctx, touched.ResourceVersion), kit.Modified(touched))
	stream.Close()
}

// notingTransport records the transport of responses: the version of HTTP, whether it is encrypted,
// the method and the content type. It skips errors, which Connect always encodes in JSON.
type notingTransport struct {
	next http.RoundTripper

	mu      sync.Mutex // guards answers
	answers map[string]bool
}

// RoundTrip implements http.RoundTripper.
func (n *notingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := n.next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	encryption := "in plain text"
	if response.TLS != nil {
		encryption = "over TLS"
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers[response.Proto+" "+encryption+": "+request.Method+" "+response.Header.Get("Content-Type")] = true
	return response, nil
}

// want fails the test unless the responses used exactly these transports.
func (n *notingTransport) want(t *testing.T, want ...string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	got := slices.Sorted(maps.Keys(n.answers))
	slices.Sort(want)
	if want = slices.Compact(want); !slices.Equal(got, want) {
		t.Errorf("transports of the responses %q, want %q", got, want)
	}
}
