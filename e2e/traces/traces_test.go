package traces_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// The texts that must not be exported.
const (
	secretName    = "private-name"
	secretContent = "private-content"
	secretBaggage = "private-baggage"
)

// traced is a service that is traced, before a control plane that exports spans too.
type traced struct {
	collector *collector
	service   *harness.Service
	cluster   *harness.Cluster
	namespace string
	token     string // of an account that can edit in the namespace
}

// startTraced starts a service that exports to a new collector.
func startTraced(ctx context.Context, t *testing.T) traced {
	t.Helper()
	collector := startCollector(t)
	cluster := startTracedCluster(t, collector)
	exportTo(t, "http/protobuf", collector.http.URL)
	service := harness.StartService(t, cluster.Kubeconfig, "--auth", "cluster", "--tracing")
	namespace := kit.NewNamespace(ctx, t, cluster)
	return traced{collector, service, cluster, namespace, newEditor(ctx, t, cluster, namespace)}
}

// exportTo sets the variables that a service reads which is started next.
func exportTo(t *testing.T, protocol, endpoint string) {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
}

// startTracedCluster starts a control plane whose API server exports its spans.
func startTracedCluster(t *testing.T, receiver *collector) *harness.Cluster {
	t.Helper()
	config := filepath.Join(t.TempDir(), "tracing.yaml")
	text := fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: %s\nsamplingRatePerMillion: 1000000\n", receiver.grpc)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster, err := harness.StartCluster("--apiserver-arg", "tracing-config-file="+config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	return cluster
}

func newEditor(ctx context.Context, t *testing.T, cluster *harness.Cluster, namespace string) (token string) {
	t.Helper()
	token = kit.NewToken(ctx, t, cluster, namespace, "editor")
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "editor"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "editor"}},
	}
	if _, err := cluster.Client.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return token
}

// sentContext is the context that a caller sends.
type sentContext struct{ trace, span string }

func newContext() sentContext {
	id := make([]byte, 24)
	_, _ = rand.Read(id)
	return sentContext{hex.EncodeToString(id[:16]), hex.EncodeToString(id[16:])}
}

func (s sentContext) headers(token string) http.Header {
	return http.Header{
		"Authorization": {"Bearer " + token}, "Traceparent": {"00-" + s.trace + "-" + s.span + "-01"},
		"Tracestate": {"vendor=value"}, "Baggage": {"key=" + secretBaggage},
	}
}

// calling returns a client, and the context that it sends with its calls.
func (tr traced) calling(t *testing.T, protocol harness.Protocol) (kit.ResourceClient, sentContext) {
	t.Helper()
	sent := newContext()
	return kit.CallingWithHeaders(t, tr.service, protocol, sent.headers(tr.token)).Resources, sent
}

func TestTraces_FollowACallToTheUpstreamRequest(t *testing.T) {
	ctx := kit.Deadline(t)
	tr := startTraced(ctx, t)
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: secretName}, Data: map[string]string{"a": secretContent}}
	if _, err := tr.cluster.Client.CoreV1().ConfigMaps(tr.namespace).Create(ctx, config, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Run("read", func(t *testing.T) { tr.read(ctx, t) })
	t.Run("latest read", func(t *testing.T) { tr.readLatest(ctx, t) })
	t.Run("change", func(t *testing.T) { tr.change(ctx, t) })
	t.Run("denied", func(t *testing.T) { tr.denied(ctx, t) })
	t.Run("rejected", func(t *testing.T) { tr.rejected(ctx, t) })
	t.Run("watch", func(t *testing.T) { tr.watch(ctx, t) })
	t.Run("reflector", func(t *testing.T) { tr.reflector(ctx, t) })
	tr.collector.wantNone(t, map[string]string{
		"a token": tr.token, "a part of a token": strings.Split(tr.token, ".")[2], "a name": secretName, "a content": secretContent,
		"baggage": secretBaggage, "a user": "system:serviceaccount:" + tr.namespace,
	})
}

func (tr traced) read(ctx context.Context, t *testing.T) {
	client, sent := tr.calling(t, harness.GRPC)
	if _, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: tr.namespace, Name: secretName}); err != nil {
		t.Fatal(err)
	}
	call := tr.collector.belowCall(ctx, t, sent, "Get")
	wantAttributes(t, call, map[string]string{
		"rpc.method": "kubeconnect.v1.ResourceService/Get", "rpc.response.status_code": "ok", "kubeconnect.protocol": "grpc",
		"kubeconnect.resource": "configmaps.v1", "kubeconnect.namespace": tr.namespace,
	})
	if call.GetTraceState() != "vendor=value" || call.GetKind() != tracepb.Span_SPAN_KIND_SERVER {
		t.Errorf("the call's span is %v", call)
	}
	tr.collector.below(ctx, t, call, "wait for the first snapshot")
	identity := tr.collector.below(ctx, t, call, "TokenReview")
	tr.collector.below(ctx, t, identity, "POST /apis/authentication.k8s.io/v1/tokenreviews")
	permission := tr.collector.below(ctx, t, call, "SubjectAccessReview")
	tr.collector.below(ctx, t, permission, "POST /apis/authorization.k8s.io/v1/subjectaccessreviews")
}

func (tr traced) readLatest(ctx context.Context, t *testing.T) {
	client, sent := tr.calling(t, harness.Connect)
	_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: tr.namespace, Consistency: kubeconnectv1.Consistency_CONSISTENCY_LATEST})
	if err != nil {
		t.Fatal(err)
	}
	call := tr.collector.belowCall(ctx, t, sent, "List")
	tr.collector.below(ctx, t, call, "GET /api/v1/namespaces/{namespace}/configmaps")
}

// change patches an object. The API server does not let callers continue their trace, but links its span.
func (tr traced) change(ctx context.Context, t *testing.T) {
	client, sent := tr.calling(t, harness.Connect)
	if _, err := client.Patch(ctx, kit.WithData(&kubeconnectv1.PatchRequest{
		Resource: "configmaps", Namespace: tr.namespace, Name: secretName, Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE,
	}, `{"data":{"b":"`+secretContent+`"}}`)); err != nil {
		t.Fatal(err)
	}
	call := tr.collector.belowCall(ctx, t, sent, "Patch")
	request := tr.collector.below(ctx, t, call, "PATCH /api/v1/namespaces/{namespace}/configmaps/{name}")
	wantAttributes(t, request, map[string]string{"http.request.method": "PATCH", "http.response.status_code": "200"})
	if request.GetKind() != tracepb.Span_SPAN_KIND_CLIENT {
		t.Errorf("the request's span is %v", request)
	}
	tr.collector.until(ctx, t, "the API server", func(s span) bool {
		for _, link := range s.GetLinks() {
			if s.service == "apiserver" && bytes.Equal(link.GetTraceId(), request.GetTraceId()) && bytes.Equal(link.GetSpanId(), request.GetSpanId()) {
				return true
			}
		}
		return false
	})
}

func (tr traced) denied(ctx context.Context, t *testing.T) {
	client, sent := tr.calling(t, harness.Connect)
	_, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: "kube-system", Name: secretName})
	kit.WantError(t, err, connect.CodePermissionDenied)
	call := tr.collector.belowCall(ctx, t, sent, "Get")
	wantAttributes(t, call, map[string]string{"rpc.response.status_code": "permission_denied", "error.type": ""})
	tr.collector.below(ctx, t, call, "SubjectAccessReview")
}

func (tr traced) rejected(ctx context.Context, t *testing.T) {
	tr.token = "invalid"
	client, sent := tr.calling(t, harness.Connect)
	_, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: tr.namespace, Name: secretName})
	kit.WantError(t, err, connect.CodeUnauthenticated)
	call := tr.collector.belowCall(ctx, t, sent, "Get")
	wantAttributes(t, call, map[string]string{"rpc.response.status_code": "unauthenticated"})
}

// watch opens a stream. Its span ends while the stream is open, and its end has a span of its own.
func (tr traced) watch(ctx context.Context, t *testing.T) {
	client, sent := tr.calling(t, harness.Connect)
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := responses.Of(client.Watch(watching, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: tr.namespace}))
	if err != nil {
		t.Fatal(err)
	}
	if !stream.Receive() {
		t.Fatal(stream.Err())
	}
	call := tr.collector.belowCall(ctx, t, sent, "Watch")
	if len(call.GetEvents()) != 1 || call.GetEvents()[0].GetName() != "begin with a snapshot" {
		t.Errorf("the events of the span are %v", call.GetEvents())
	}
	cancel()
	_ = stream.Close()
	end := tr.collector.below(ctx, t, call, "kubeconnect.v1.ResourceService/Watch end")
	wantAttributes(t, end, map[string]string{"rpc.response.status_code": "canceled", "kubeconnect.resource": "configmaps.v1"})
}

// reflector has the trace of the cache, which belongs to no caller.
func (tr traced) reflector(ctx context.Context, t *testing.T) {
	watch := tr.collector.until(ctx, t, "the watch of the cache", func(s span) bool {
		return s.GetName() == "watch" && attribute(s.GetAttributes(), "kubeconnect.resource") == "configmaps.v1"
	})
	if len(watch.GetParentSpanId()) > 0 {
		t.Errorf("the watch of the cache is below %x", watch.GetParentSpanId())
	}
	tr.collector.below(ctx, t, watch, "GET /api/v1/configmaps")
}
