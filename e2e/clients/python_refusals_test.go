package clients_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestPythonClient_ReceivesTheReasonOfLongErrors makes the API server return an error with 300
// causes, and an error with a message that quotes a complete object. Neither fits into gRPC
// trailers.
func TestPythonClient_ReceivesTheReasonOfLongErrors(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for _, way := range []string{"threads", "asyncio"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			kit.RunDeployment(ctx, t, namespace, "web", 0, kit.Labels{})
			deployments := kit.Cluster(t).Client.AppsV1().Deployments(namespace)
			long := fmt.Appendf(nil, `{"metadata":{"annotations":{"long":%q}}}`, strings.Repeat("x", 40_000))
			if _, err := deployments.Patch(ctx, "web", types.MergePatchType, long, metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			bad := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "bad"}, Data: map[string]string{}}
			for n := range 300 {
				bad.Data[fmt.Sprintf("not a key %d", n)] = ""
			}
			_, keys := kit.Cluster(t).Client.CoreV1().ConfigMaps(namespace).Create(ctx, bad, metav1.CreateOptions{})
			_, wrong := deployments.Patch(ctx, "web", types.MergePatchType, []byte(`{"spec":{"replicas":"three"}}`), metav1.PatchOptions{})

			caller := startProgram(t, kit.PythonProgram(t, "python", "refusals.py"), way, service.Address, namespace)
			var failure struct {
				Kind, Reason, Message string
				Causes, Omitted       int
			}
			for step, direct := range map[string]error{"keys": keys, "type": wrong} {
				caller.Step(ctx, step, &failure)
				if want := string(apierrors.ReasonForError(direct)); failure.Reason != want || failure.Kind != want {
					t.Errorf("%s: the program received %s, %q; want %q", step, failure.Kind, failure.Reason, want)
				}
				var status apierrors.APIStatus
				if !errors.As(direct, &status) {
					t.Fatalf("%s: the API server returned %v", step, direct)
				}
				if details := status.Status().Details; details != nil && failure.Causes+failure.Omitted != len(details.Causes) {
					t.Errorf("%s: %d causes and %d omitted, want %d", step, failure.Causes, failure.Omitted, len(details.Causes))
				}
				// The order of the causes is undefined. If the API server omits the object, the
				// service adds it.
				beginning, _, _ := strings.Cut(direct.Error(), " is invalid: ")
				if beginning == ` ""` {
					beginning = `Deployment.apps "web"`
				}
				beginning += " is invalid: "
				if !strings.HasPrefix(failure.Message, beginning) {
					t.Errorf("%s: message %.300q, want %q…", step, failure.Message, beginning)
				}
			}
			caller.Ends(ctx)
		})
	}
}
