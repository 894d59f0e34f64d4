package writes_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// errorLimit bounds the size of an error in gRPC trailers, as HTTP/2 counts it.
const errorLimit = 8 << 10

// TestErrors_LongOnesKeepTheirReasonAndFitTrailers makes the API server return long errors: one
// with 300 causes, and one that quotes an object of 60 KB three times.
func TestErrors_LongOnesKeepTheirReasonAndFitTrailers(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	createIdleDeployment(ctx, t, namespace, "web", strings.Repeat(`é "quoted" \ text `, 3000))
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			ctx, httpClient := kit.Deadline(t), harness.HTTP2(t)
			counted := &countTrailers{base: httpClient.Transport}
			httpClient.Transport = counted
			client := harness.Dial(httpClient, service.Address, protocol).Resources

			t.Run("300 causes", func(t *testing.T) {
				var data strings.Builder
				for i := range 300 {
					fmt.Fprintf(&data, "%q: x\n  ", fmt.Sprintf("a bad key %d", i))
				}
				_, err := client.Create(ctx, &kubeconnectv1.CreateRequest{
					Resource: "configmaps", Namespace: namespace,
					Body: &kubeconnectv1.CreateRequest_Data{Data: []byte("metadata: {name: bad}\ndata:\n  " + data.String())},
				})
				status := wantBounded(t, err, counted)
				if kept := len(status.GetCauses()); kept < 5 || kept+int(status.GetOmittedCauseCount()) != 300 {
					t.Errorf("%d causes, and %d omitted", kept, status.GetOmittedCauseCount())
				}
				for _, cause := range status.GetCauses() {
					kit.WantWords(t, cause.GetField(), "data[a bad key ")
					kit.WantWords(t, cause.GetMessage(), "a valid config key must consist of")
				}
				if !strings.HasSuffix(status.GetMessage(), "…") {
					t.Errorf("the message is not truncated: %q", status.GetMessage())
				}
			})
			t.Run("a large object", func(t *testing.T) {
				_, err := client.Patch(ctx, kit.WithData(&kubeconnectv1.PatchRequest{
					Resource: "deployments", Namespace: namespace, Name: "web", Type: kit.MergePatch,
				}, `{"spec":{"replicas":"3"}}`))
				status := wantBounded(t, err, counted)
				kit.WantError(t, err, connect.CodeInvalidArgument, `"web" is invalid`, "spec.replicas", "int32")
				kit.WantWords(t, status.GetMessage(), `"web" is invalid`, "spec.replicas", "int32")
				if status.GetOmittedCauseCount() != 0 {
					t.Errorf("%d causes omitted, want none", status.GetOmittedCauseCount())
				}
			})
		})
	}
}

// wantBounded fails the test unless an error is Invalid, and within the limit.
func wantBounded(t *testing.T, err error, trailers *countTrailers) *kubeconnectv1.Status {
	t.Helper()
	kit.WantError(t, err, connect.CodeInvalidArgument)
	status := kit.WantStatus(t, err, "Invalid")
	var failure *connect.Error
	if errors.As(err, &failure) && (!utf8.ValidString(failure.Message()) || len(failure.Message())+proto.Size(status) > errorLimit) {
		t.Errorf("message of %d bytes, status of %d", len(failure.Message()), proto.Size(status))
	}
	if size := trailers.last.Load(); size > errorLimit {
		t.Errorf("trailers of %d bytes", size)
	}
	return status
}

// countTrailers records the size of the trailers of the last response, 0 if it had none.
type countTrailers struct {
	base http.RoundTripper
	last atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (c *countTrailers) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.base.RoundTrip(request)
	if err == nil {
		response.Body = &countedBody{ReadCloser: response.Body, response: response, size: &c.last}
	}
	return response, err
}

// countedBody counts the trailers at the end of a body, because they are not available earlier.
type countedBody struct {
	io.ReadCloser
	response *http.Response
	size     *atomic.Int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		const overhead = 32
		size := 0
		for name, values := range b.response.Trailer {
			for _, value := range values {
				size += len(name) + len(value) + overhead
			}
		}
		b.size.Store(int64(size))
	}
	return n, err
}

// createIdleDeployment creates a Deployment without replicas, with an annotation.
func createIdleDeployment(ctx context.Context, t *testing.T, namespace, name, note string) *appsv1.Deployment {
	t.Helper()
	app := kit.Labels{"app": name}
	created, err := kit.Cluster(t).Client.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"note": note}},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32),
			Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: app}, Spec: kit.UnscheduledPod("").Spec},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}
