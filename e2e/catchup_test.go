package e2e_test

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// untilRead blocks until a read through the service returns an object as it is in the cluster.
// Reads from the cache may be older than a write that was just sent to the API server.
func untilRead(ctx context.Context, t *testing.T, client resourceClient, resource string, want metav1.Object) {
	t.Helper()
	eventually(ctx, t, "the service returns the object", func() error {
		answer, err := client.Get(ctx, &kubeconnectv1.GetRequest{
			Resource: resource, Namespace: want.GetNamespace(), Name: want.GetName(),
		})
		if err != nil {
			return err
		}
		if got := answer.GetObject().GetResourceVersion(); got != want.GetResourceVersion() {
			return fmt.Errorf("%s is at version %s, want %s", want.GetName(), got, want.GetResourceVersion())
		}
		return nil
	})
}
