package limits_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

const (
	// floodOf is the number of concurrent calls of the flood: more than can wait.
	floodOf = 1536
	// floodRest is the pause of a rejected caller of the flood: the error asks for seconds, and the
	// flood ignores that.
	floodRest = 200 * time.Millisecond
	// longerThanRemembered is a time after which the service must review every accepted token
	// again.
	longerThanRemembered = 12 * time.Second
)

// floodAddress is the address of the flood: on this machine, but different from that of the other
// callers.
var floodAddress = net.IPv4(127, 0, 0, 2)

// TestTokenFlood_DoesNotDelayOtherCallers uses a cluster that is slow to reject invalid tokens:
// this machine could not flood a fast one.
func TestTokenFlood_DoesNotDelayOtherCallers(t *testing.T) {
	t.Parallel()
	skipWithout(t, floodAddress)
	controlPlane := startClusterWithSlowWebhook(t)
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, controlPlane)
	letAllView(ctx, t, controlPlane, namespace)
	write := kit.ConfigMapsIn(ctx, t, controlPlane, namespace)
	service := harness.StartService(t, controlPlane.Kubeconfig, append([]string{"--auth", "cluster", "--recheck-interval", "1s"}, kit.MetricsFlags...)...)

	known := kit.CallingWith(t, service, harness.GRPC, kit.NewToken(ctx, t, controlPlane, namespace, "known")).Resources
	kit.Eventually(ctx, t, "the caller has permission to list", func() error { return kit.UncachedCalls(known, namespace)["List"](ctx) })
	stream := record.Watch(t, known, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace})
	stream.Synced(ctx)

	flood := startFlood(t, service)
	kit.Eventually(ctx, t, "the flood is rejected for both reasons", flood.isRefused)
	for i, protocol := range harness.Protocols {
		newCaller := kit.CallingWith(t, service, protocol, kit.NewToken(ctx, t, controlPlane, namespace, fmt.Sprint("new-", i)))
		if _, err := newCaller.Access.WhoAmI(ctx, &kubeconnectv1.WhoAmIRequest{}); err != nil {
			t.Errorf("a new caller is rejected over %s: %v", protocol.Name, err)
		}
	}
	select {
	case <-time.After(longerThanRemembered):
	case <-ctx.Done():
	}
	stream.Reaches(ctx, write.Create("one", nil).ResourceVersion)
	scrapeOf(ctx, t, service).wantAtLeast(t, map[string]float64{"kubeconnect_auth_review_rejections_total{review=TokenReview}": 1})
}

// skipWithout skips the test on machines without an address.
func skipWithout(t *testing.T, address net.IP) {
	t.Helper()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: address})
	if err != nil {
		t.Skipf("this machine has no address %s: %v", address, err)
	}
	_ = listener.Close()
}

// flood is a number of concurrent calls, floodOf, each with another invalid token.
type flood struct {
	t      *testing.T
	client kit.ResourceClient
	tokens atomic.Int64

	refused, turnedAway atomic.Int64
	reportOnce          sync.Once // reports one unexpected response
}

// startFlood starts a flood, which ends with the test.
func startFlood(t *testing.T, service *harness.Service) *flood {
	f := &flood{t: t}
	httpClient := harness.HTTP2From(t, floodAddress)
	httpClient.Transport = f.tokensFor(httpClient.Transport)
	f.client = harness.Dial(httpClient, service.Address, harness.Connect).Resources
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var calling sync.WaitGroup
	for range floodOf {
		calling.Go(func() { f.run(ctx) })
	}
	t.Cleanup(func() { stop(); calling.Wait() })
	return f
}

type roundTripperFunc func(*http.Request) (*http.Response, error)

func (f roundTripperFunc) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// tokensFor sends a new token with each request.
func (f *flood) tokensFor(base http.RoundTripper) http.RoundTripper {
	return roundTripperFunc(func(request *http.Request) (*http.Response, error) {
		token := fmt.Sprint("Bearer invalid-", f.tokens.Add(1))
		return kit.HeaderTransport{Headers: http.Header{"Authorization": {token}}, Base: base}.RoundTrip(request)
	})
}

func (f *flood) run(ctx context.Context) {
	for {
		_, err := f.client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "namespaces", Name: "default"})
		switch code := connect.CodeOf(err); {
		case ctx.Err() != nil:
			return
		case err != nil && code == connect.CodeUnauthenticated:
			f.refused.Add(1)
		case err != nil && retryAfter(err) > 0:
			f.turnedAway.Add(1)
			time.Sleep(floodRest)
		default:
			f.reportOnce.Do(func() { f.t.Errorf("call with an invalid token: %v", err) })
		}
	}
}

func (f *flood) isRefused() error {
	if refused, turnedAway := f.refused.Load(), f.turnedAway.Load(); refused == 0 || turnedAway == 0 {
		return fmt.Errorf("%d tokens were rejected as invalid and %d because of the limit", refused, turnedAway)
	}
	return nil
}

// letAllView grants every service account of a namespace permission to read the namespace.
func letAllView(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, namespace string) {
	t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "all-view"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:serviceaccounts:" + namespace}},
	}
	if _, err := controlPlane.Client.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
