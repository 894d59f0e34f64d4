package transport_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

// services are the services of the API.
var services = []string{
	kubeconnectv1connect.AccessServiceName,
	kubeconnectv1connect.DiscoveryServiceName,
	kubeconnectv1connect.PodServiceName,
	kubeconnectv1connect.ResourceServiceName,
}

func TestTransport_HealthChecksCoverEachService(t *testing.T) {
	t.Parallel()
	plain, certificate := harness.StartService(t, kit.Cluster(t).Kubeconfig), kit.NewCertificate(t)
	encrypted := kit.StartTLSService(t, kit.Cluster(t), certificate)
	for name, connection := range map[string]*grpc.ClientConn{
		"in plain text": dialGRPC(t, plain, nil),
		"over TLS":      dialGRPC(t, encrypted, certificate.Trusting()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, client := kit.Deadline(t), healthv1.NewHealthClient(connection)
			for _, service := range append([]string{""}, services...) {
				kit.Eventually(ctx, t, "service "+service+" is healthy", func() error { return isServing(ctx, client, service) })
			}
			if err := isServing(ctx, client, "kubeconnect.v1.Nobody"); status.Code(err) != codes.NotFound {
				t.Errorf("health of a service that does not exist: %v", err)
			}
		})
	}
}

func TestTransport_HealthWatchReportsReadinessAndShutdown(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	link := harness.StartProxy(t, kit.Cluster(t).Address(), harness.Refused)
	service := harness.StartService(t, harness.KubeconfigTo(t, kit.Cluster(t).Kubeconfig, link.Address()))
	watch := watchHealth(ctx, t, service, "")

	wantHealth(t, watch, healthv1.HealthCheckResponse_NOT_SERVING)
	wantProbes(ctx, t, service, http.StatusServiceUnavailable)
	link.Set(harness.None)
	wantHealth(t, watch, healthv1.HealthCheckResponse_SERVING)
	wantProbes(ctx, t, service, http.StatusOK)
	if err := service.Stop(); err != nil {
		t.Error(err)
	}
	wantHealth(t, watch, healthv1.HealthCheckResponse_NOT_SERVING)
	if _, err := watch.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("the watch ended with: %v", err)
	}
}

func TestTransport_HealthWatchReportsAnUnknownService(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	wantHealth(t, watchHealth(ctx, t, service, "kubeconnect.v1.Nobody"), healthv1.HealthCheckResponse_SERVICE_UNKNOWN)
}

// dialGRPC connects with gRPC's own client, in plain text if encryption is nil.
func dialGRPC(t *testing.T, service *harness.Service, encryption *tls.Config) *grpc.ClientConn {
	t.Helper()
	secrecy := insecure.NewCredentials()
	if encryption != nil {
		secrecy = credentials.NewTLS(encryption)
	}
	connection, err := grpc.NewClient(kit.HostPort(service), grpc.WithTransportCredentials(secrecy))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

func isServing(ctx context.Context, client healthv1.HealthClient, service string) error {
	answer, err := client.Check(ctx, &healthv1.HealthCheckRequest{Service: service})
	if err != nil {
		return err
	}
	if answer.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		return fmt.Errorf("status %s", answer.GetStatus())
	}
	return nil
}

func watchHealth(ctx context.Context, t *testing.T, service *harness.Service, name string) healthv1.Health_WatchClient {
	t.Helper()
	client := healthv1.NewHealthClient(dialGRPC(t, service, nil))
	watch, err := client.Watch(ctx, &healthv1.HealthCheckRequest{Service: name})
	if err != nil {
		t.Fatal(err)
	}
	return watch
}

// wantHealth fails the test unless this is the next status of a watch.
func wantHealth(t *testing.T, watch healthv1.Health_WatchClient, want healthv1.HealthCheckResponse_ServingStatus) {
	t.Helper()
	answer, err := watch.Recv()
	if err != nil {
		t.Fatalf("the watch ended before %s: %v", want, err)
	}
	if answer.GetStatus() != want {
		t.Fatalf("the watch reports %s, want %s", answer.GetStatus(), want)
	}
}

// TestTransport_HealthWatchReportsALostAPIServer is about a replica that continues to
// serve its cache without the API server, and reports how old it is.
func TestTransport_HealthWatchReportsALostAPIServer(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	link := harness.StartProxy(t, kit.Cluster(t).Address(), harness.None)
	service := harness.StartService(t, harness.KubeconfigTo(t, kit.Cluster(t).Kubeconfig, link.Address()))
	watch := watchHealth(ctx, t, service, "kubeconnect.upstream")
	wantHealth(t, watch, healthv1.HealthCheckResponse_SERVING) // nothing is cached yet
	configMaps := &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: "default"}
	if _, err := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources.List(ctx, configMaps); err != nil {
		t.Fatal(err)
	}

	link.Set(harness.Refused)
	wantHealth(t, watch, healthv1.HealthCheckResponse_NOT_SERVING)
	wantAnswers(ctx, t, service, map[string]int{"/upstreamz": http.StatusServiceUnavailable, "/readyz": http.StatusOK})
	link.Set(harness.None)
	wantHealth(t, watch, healthv1.HealthCheckResponse_SERVING)
	wantAnswers(ctx, t, service, map[string]int{"/upstreamz": http.StatusOK})
}

// wantProbes fails the test unless the service is live, and a readiness probe returns this status.
func wantProbes(ctx context.Context, t *testing.T, service *harness.Service, ready int) {
	t.Helper()
	wantAnswers(ctx, t, service, map[string]int{"/livez": http.StatusOK, "/readyz": ready})
}

func wantAnswers(ctx context.Context, t *testing.T, service *harness.Service, statuses map[string]int) {
	t.Helper()
	for path, want := range statuses {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, service.Address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := harness.OneCallConnections(t).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s returned %d, want %d", path, response.StatusCode, want)
		}
	}
}
