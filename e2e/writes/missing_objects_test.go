package writes_test

import (
	"context"
	"testing"

	"connectrpc.com/connect/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// absentWrite is a write of an object "absent" under preconditions.
type absentWrite func(ctx context.Context, client kit.ResourceClient, namespace string, unmet *kubeconnectv1.Preconditions) error

func updateAbsent(resource string) absentWrite {
	return func(ctx context.Context, client kit.ResourceClient, namespace string, unmet *kubeconnectv1.Preconditions) error {
		_, err := client.Update(ctx, &kubeconnectv1.UpdateRequest{
			Resource: resource, Namespace: namespace, Name: "absent", Preconditions: unmet,
			Body: &kubeconnectv1.UpdateRequest_Data{Data: []byte(`{"metadata":{"name":"absent"}}`)},
		})
		return err
	}
}

func patchAbsent(patchType kubeconnectv1.PatchType, body string) absentWrite {
	return func(ctx context.Context, client kit.ResourceClient, namespace string, unmet *kubeconnectv1.Preconditions) error {
		request := &kubeconnectv1.PatchRequest{Resource: "configmaps", Namespace: namespace, Name: "absent", Type: patchType, Preconditions: unmet}
		if patchType == applyPatch {
			request.FieldManager = "test"
		}
		_, err := client.Patch(ctx, kit.WithData(request, body))
		return err
	}
}

func deleteAbsent(ctx context.Context, client kit.ResourceClient, namespace string, unmet *kubeconnectv1.Preconditions) error {
	_, err := client.Delete(ctx, &kubeconnectv1.DeleteRequest{Resource: "configmaps", Namespace: namespace, Name: "absent", Preconditions: unmet})
	return err
}

// TestPreconditions_OfAMissingObjectAreNotMet sends writes that cannot create the object, under both
// preconditions, and writes that can, under a UID.
func TestPreconditions_OfAMissingObjectAreNotMet(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	unmet := unmetPreconditions()
	for name, test := range map[string]struct {
		write absentWrite
		under []*kubeconnectv1.Preconditions
		code  connect.Code
	}{
		"an update":      {write: updateAbsent("configmaps"), under: unmet, code: connect.CodeNotFound},
		"a merge patch":  {write: patchAbsent(kit.MergePatch, `{}`), under: unmet, code: connect.CodeNotFound},
		"a JSON patch":   {write: patchAbsent(jsonPatch, `[]`), under: unmet, code: connect.CodeNotFound},
		"a deletion":     {write: deleteAbsent, under: unmet, code: connect.CodeNotFound},
		"an apply patch": {write: patchAbsent(applyPatch, absentManifest), under: unmet[1:], code: connect.CodeAborted},
		"an update of a kind that updates create": {write: updateAbsent("leases"), under: unmet[1:], code: connect.CodeAborted},
	} {
		for _, preconditions := range test.under {
			if err := kit.HasCode(test.write(ctx, client, namespace, preconditions), test.code); err != nil {
				t.Errorf("%s under %v: %v", name, preconditions, err)
			}
		}
	}
	wantAbsent(ctx, t, namespace)
}

const absentManifest = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"absent"}}`

// wantAbsent fails the test unless the API server has no object "absent".
func wantAbsent(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	if _, err := kit.Cluster(t).Client.CoreV1().ConfigMaps(namespace).Get(ctx, "absent", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("ConfigMap: %v, want not found", err)
	}
	if _, err := kit.Cluster(t).Client.CoordinationV1().Leases(namespace).Get(ctx, "absent", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("Lease: %v, want not found", err)
	}
}
