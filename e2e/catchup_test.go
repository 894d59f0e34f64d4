package e2e_test

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// untilRead waits until a read through the service sees an object as it is in
// the cluster. Reads come from memory, a moment behind what was written straight
// to the API server.
func untilRead(ctx context.Context, t *testing.T, client resourceClient, resource string, want metav1.Object) {
	t.Helper()
	eventually(ctx, t, "the object is read", func() error {
		answer, err := client.Get(ctx, &kubeconnectv1.GetRequest{
			Resource: resource, Namespace: want.GetNamespace(), Name: want.GetName(),
		})
		if err != nil {
			return err
		}
		if got := answer.GetObject().GetResourceVersion(); got != want.GetResourceVersion() {
			return fmt.Errorf("%s is at version %s, not yet %s", want.GetName(), got, want.GetResourceVersion())
		}
		return nil
	})
}
