package permissions_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"connectrpc.com/connect/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// metricsAPI is the server behind metrics.k8s.io: it supports lists and gets without a resource
// version, and no watch. The metrics of pods are invented; the users of requests are recorded.
type metricsAPI struct {
	mu    sync.Mutex
	users map[string]bool
}

var podMetrics = schema.GroupVersionResource{Group: "metrics.k8s.io", Version: "v1beta1", Resource: "pods"}

// startMetricsAPI makes the API server forward requests for metrics.k8s.io to a server of the test,
// until the test ends.
func startMetricsAPI(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, namespace string) *metricsAPI {
	t.Helper()
	api := &metricsAPI{users: make(map[string]bool)}
	serveAggregated(ctx, t, controlPlane, namespace, podMetrics.GroupVersion(), api)
	kit.Eventually(ctx, t, "metrics.k8s.io is served", func() error {
		_, err := controlPlane.Dynamic.Resource(podMetrics).Namespace(namespace).List(ctx, metav1.ListOptions{})
		return err
	})
	return api
}

// serveAggregated makes the API server forward requests for a version of a group to a server of the
// test, until the test ends.
func serveAggregated(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, namespace string, groupVersion schema.GroupVersion, api http.Handler) {
	t.Helper()
	server := httptest.NewTLSServer(api)
	t.Cleanup(server.Close)
	kit.ServeAggregated(ctx, t, controlPlane, namespace, groupVersion, server.Listener.Addr().String())
}

func (api *metricsAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	api.mu.Lock()
	api.users[r.Header.Get("X-Remote-User")] = true
	api.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	answer := func(status int, content any) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(content)
	}
	mux := http.NewServeMux()
	const prefix = "GET /apis/metrics.k8s.io/v1beta1"
	mux.HandleFunc(prefix, func(http.ResponseWriter, *http.Request) {
		answer(http.StatusOK, metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: "metrics.k8s.io/v1beta1",
			APIResources: []metav1.APIResource{{Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: []string{"get", "list"}}},
		})
	})
	mux.HandleFunc(prefix+"/namespaces/{namespace}/pods", func(_ http.ResponseWriter, r *http.Request) {
		namespace := r.PathValue("namespace")
		answer(http.StatusOK, map[string]any{
			"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetricsList", "metadata": map[string]any{},
			"items": []any{metricsOf(namespace, "idle", "3m"), metricsOf(namespace, "busy", "950m")},
		})
	})
	mux.HandleFunc(prefix+"/namespaces/{namespace}/pods/{name}", func(_ http.ResponseWriter, r *http.Request) {
		if r.PathValue("name") != "busy" {
			status := apierrors.NewNotFound(podMetrics.GroupResource(), r.PathValue("name")).Status()
			status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
			answer(http.StatusNotFound, status)
			return
		}
		answer(http.StatusOK, metricsOf(r.PathValue("namespace"), "busy", "950m"))
	})
	mux.ServeHTTP(w, r)
}

func metricsOf(namespace, pod, cpu string) map[string]any {
	return map[string]any{
		"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
		"metadata":  map[string]any{"name": pod, "namespace": namespace, "creationTimestamp": "2026-01-02T03:04:05Z"},
		"timestamp": "2026-01-02T03:04:05Z", "window": "15s",
		"containers": []any{map[string]any{"name": "web", "usage": map[string]any{"cpu": cpu, "memory": "20Mi"}}},
	}
}

// hasRequestFrom reports whether a user has sent a request.
func (api *metricsAPI) hasRequestFrom(user string) bool {
	api.mu.Lock()
	defer api.mu.Unlock()
	return api.users[user]
}

// TestAggregatedAPI_MetricsAreReadFromTheAPIServer reads an aggregated API, whose objects have no
// version and cannot be watched, as a caller with permission and as a caller without.
func TestAggregatedAPI_MetricsAreReadFromTheAPIServer(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	api := startMetricsAPI(ctx, t, kit.Cluster(t), namespace)
	reader := kit.NewAccount(ctx, t, namespace, "reader")
	reader.GrantIn(namespace, "metrics", rbacv1.PolicyRule{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{"metrics.k8s.io"}, Resources: []string{"pods"}})
	stranger := kit.NewAccount(ctx, t, namespace, "stranger")
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--auth", "cluster")
	const resource = "pods.metrics.k8s.io"

	client := reader.Calling(service, harness.GRPC).Resources
	list, err := client.List(ctx, &kubeconnectv1.ListRequest{
		Resource: resource, Namespace: namespace, Fields: []string{"metadata.name", "containers[*].usage.cpu"}, OrderBy: "metadata.name desc",
		Encoding: kubeconnectv1.Encoding_ENCODING_JSON,
	})
	if err != nil {
		t.Fatal(err)
	}
	kit.WantAPIServer(t, list)
	if names := kit.NamesOf(list.GetObjects()); len(names) != 2 || names[0] != "idle" || names[1] != "busy" {
		t.Errorf("listed %v", names)
	}
	if got, want := string(list.GetObjects()[1].GetJson()), `{"containers":[{"usage":{"cpu":"950m"}}],"metadata":{"name":"busy"}}`; got != want {
		t.Errorf("metrics of the busy pod: %s, want %s", got, want)
	}
	hot, err := client.Count(ctx, &kubeconnectv1.CountRequest{
		Resource: resource, Namespace: namespace, Filter: "object.containers.exists(c, quantity(c.usage.cpu).isGreaterThan(quantity('500m')))",
	})
	if err != nil || hot.GetTotalCount() != 1 {
		t.Errorf("%d busy pods (%v), want 1", hot.GetTotalCount(), err)
	}
	got, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: resource, Namespace: namespace, Name: "busy"})
	if err != nil || got.GetObject().GetName() != "busy" {
		t.Errorf("got %v (%v)", got, err)
	}
	kit.WantAPIServer(t, got)
	_, err = client.Get(ctx, &kubeconnectv1.GetRequest{Resource: resource, Namespace: namespace, Name: "none"})
	kit.WantError(t, err, connect.CodeNotFound, `"none" not found`)
	stream, err := responses.Of(client.Watch(ctx, &kubeconnectv1.WatchRequest{Resource: resource, Namespace: namespace}))
	if err == nil {
		stream.Receive()
		err = stream.Err()
	}
	kit.WantError(t, err, connect.CodeUnimplemented, "cannot be watched", "List or Get")
	if !api.hasRequestFrom(reader.User()) {
		t.Errorf("the aggregated server has no request of %s", reader.User())
	}

	_, err = stranger.Calling(service, harness.GRPC).Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: resource, Namespace: namespace})
	kit.WantError(t, err, connect.CodePermissionDenied, "cannot list", `"pods"`, `"metrics.k8s.io"`)
	if api.hasRequestFrom(stranger.User()) {
		t.Error("a call without permission has reached the aggregated server")
	}
}
