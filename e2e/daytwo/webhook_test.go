package daytwo_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// webhookTimeout is how long the API server waits for the webhook, in seconds.
const webhookTimeout = 5

// The admission webhook of a namespace does not answer. Changes in that namespace end with the API
// server's error, or with the caller's own deadline, and change nothing. Reads, streams and the changes
// in other namespaces are not affected.
func TestAdmissionWebhook_TimeoutFailsOnlyItsChanges(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	namespace, other := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	one := write.Create("one", nil)
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), other).Create("one", nil)
	client := harness.Dial(harness.HTTP2(t), harness.StartService(t, kit.Cluster(t).Kubeconfig).Address, harness.GRPC).Resources
	stream := record.Watch(t, client, kit.InNamespace("configmaps", namespace))
	stream.Reaches(ctx, one.ResourceVersion)
	patchIn := func(namespace string) *kubeconnectv1.PatchRequest {
		return kit.WithData(&kubeconnectv1.PatchRequest{Resource: "configmaps", Namespace: namespace, Name: "one", Type: kit.MergePatch}, silentChange)
	}
	webhook := startSilentWebhook(ctx, t, namespace, admissionregistrationv1.Fail)
	direct := webhook.directError(ctx, t, write)

	failed := make(chan error, 1)
	go func() {
		_, err := client.Patch(ctx, patchIn(namespace))
		failed <- err
	}()
	webhook.isAsked(ctx, t)
	for name, call := range map[string]func(context.Context) error{
		"a cached read":             kit.ErrorOf(client.Get, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: "one"}),
		"a read at the API server":  kit.ErrorOf(client.List, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, Consistency: kit.Latest}),
		"a change of another place": kit.ErrorOf(client.Patch, patchIn(other)),
		"a watch": func(ctx context.Context) error {
			return kit.WatchError(ctx, client, kit.InNamespace("configmaps", namespace))
		},
		"a read of another namespace": kit.ErrorOf(client.List, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: other}),
	} {
		if err := call(ctx); err != nil {
			t.Errorf("%s during the change: %v", name, err)
		}
	}
	err := <-failed
	kit.WantError(t, err, connect.CodeInternal, "failed calling webhook", "context deadline exceeded")
	kit.WantSameStatus(t, err, direct)

	impatient, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err = client.Patch(impatient, patchIn(namespace))
	kit.WantError(t, err, connect.CodeDeadlineExceeded)
	kit.WantUnchanged(t, write, one)
	if view := stream.Now(); view.Model.Resets != 1 || view.Freshness.GetStale() {
		t.Errorf("the stream had %d snapshots, and is stale: %v", view.Model.Resets, view.Freshness.GetStale())
	}
}

// The webhook's failure policy is Ignore: the change succeeds after the API server has waited.
func TestAdmissionWebhook_TimeoutIsIgnoredByPolicy(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	write.Create("one", nil)
	client := kit.NewClient(t, kit.Cluster(t))
	stream := record.Watch(t, client, kit.InNamespace("configmaps", namespace))
	stream.Synced(ctx)
	webhook := startSilentWebhook(ctx, t, namespace, admissionregistrationv1.Ignore)
	_ = webhook.untilCalled(ctx, t, write) // the dry run of the last call may have timed out
	patched := kit.Patch(ctx, t, client, kit.WithData(&kubeconnectv1.PatchRequest{
		Resource: "configmaps", Namespace: namespace, Name: "one", Type: kit.MergePatch,
	}, silentChange))
	stream.Reaches(ctx, patched.GetObject().GetResourceVersion())
}

const silentChange = `{"data":{"key":"changed"}}`

// silentWebhook is an admission webhook that never answers.
type silentWebhook struct {
	called chan struct{} // has a value for each request, up to its size
}

// startSilentWebhook makes the API server call a webhook before each change of a ConfigMap in a
// namespace, until the test ends.
func startSilentWebhook(ctx context.Context, t *testing.T, namespace string, policy admissionregistrationv1.FailurePolicyType) silentWebhook {
	t.Helper()
	webhook := silentWebhook{called: make(chan struct{}, 100)}
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices the end of a request only after its body
		webhook.called <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	api, none, timeout := kit.Cluster(t).Client.AdmissionregistrationV1().ValidatingWebhookConfigurations(), admissionregistrationv1.SideEffectClassNone, int32(webhookTimeout)
	if _, err := api.Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    namespace + ".example.com",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &server.URL, CABundle: pemOf(server)},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: kit.Labels{corev1.LabelMetadataName: namespace}},
			FailurePolicy:           &policy,
			SideEffects:             &none,
			TimeoutSeconds:          &timeout,
			AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := api.Delete(context.WithoutCancel(ctx), namespace, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return webhook
}

// isAsked blocks until the webhook has a request.
func (w silentWebhook) isAsked(ctx context.Context, t *testing.T) {
	t.Helper()
	select {
	case <-w.called:
	case <-ctx.Done():
		t.Fatalf("the webhook has no request: %v", context.Cause(ctx))
	}
}

// untilCalled blocks until the API server has called the webhook for a dry run, which shows that it
// knows the configuration.
func (w silentWebhook) untilCalled(ctx context.Context, t *testing.T, write kit.ConfigMaps) (err error) {
	t.Helper()
	kit.Eventually(ctx, t, "the API server calls the webhook", func() error {
		_, err = write.API.Patch(ctx, "one", types.MergePatchType, []byte(silentChange), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		select {
		case <-w.called:
			return nil
		default:
			return errors.New("no request yet")
		}
	})
	return err
}

// directError returns the API server's error for a change.
func (w silentWebhook) directError(ctx context.Context, t *testing.T, write kit.ConfigMaps) metav1.Status {
	t.Helper()
	var failed apierrors.APIStatus
	if err := w.untilCalled(ctx, t, write); !errors.As(err, &failed) {
		t.Fatalf("the API server returns %v", err)
	}
	return failed.Status()
}
