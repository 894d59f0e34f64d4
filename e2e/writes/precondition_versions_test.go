package writes_test

import (
	"context"
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const absentService = `{"apiVersion":"v1","kind":"Service","metadata":{"name":"absent"},"spec":{"ports":[{"port":80}]}}`

// updateAbsentWith updates with a body instead of the shortest one.
func updateAbsentWith(resource, subresource, body string) absentWrite {
	return func(ctx context.Context, client kit.ResourceClient, namespace string, unmet *kubeconnectv1.Preconditions) error {
		_, err := client.Update(ctx, &kubeconnectv1.UpdateRequest{
			Resource: resource, Subresource: subresource, Namespace: namespace, Name: "absent", Preconditions: unmet,
			Body: &kubeconnectv1.UpdateRequest_Data{Data: []byte(body)},
		})
		return err
	}
}

func applyAbsentServiceStatus(ctx context.Context, client kit.ResourceClient, namespace string, unmet *kubeconnectv1.Preconditions) error {
	_, err := client.Patch(ctx, kit.WithData(&kubeconnectv1.PatchRequest{
		Resource: "services", Subresource: "status", Namespace: namespace, Name: "absent", Preconditions: unmet, Type: applyPatch, FieldManager: "test",
	}, absentService))
	return err
}

// TestPreconditions_VersionOfAMissingObjectIsNotMet sends writes that create a missing object unless
// their precondition prevents it. "If one is not met, the call fails with ABORTED and nothing is
// changed."
func TestPreconditions_VersionOfAMissingObjectIsNotMet(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	for name, write := range map[string]absentWrite{
		"an apply patch":                          patchAbsent(applyPatch, absentManifest),
		"an apply patch in YAML":                  patchAbsent(applyPatch, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: absent\n"),
		"an apply patch of a service's status":    applyAbsentServiceStatus,
		"an update of a kind that updates create": updateAbsent("leases"),
		"an update of limits":                     updateAbsent("limitranges"),
		"an update of endpoints":                  updateAbsent("endpoints"),
		"an update of a role":                     updateAbsent("roles"),
		"an update of a service":                  updateAbsentWith("services", "", absentService),
		"an update of a service's status":         updateAbsentWith("services", "status", absentService),
	} {
		t.Run(name, func(t *testing.T) {
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			if err := kit.HasCode(write(ctx, client, namespace, &kubeconnectv1.Preconditions{ResourceVersion: "1"}), connect.CodeAborted); err != nil {
				t.Error(err)
			}
			wantAbsent(ctx, t, namespace)
		})
	}
}

// TestPreconditions_VersionInTheBodyIsNotMetByAMissingObject is the same for a resource version in
// the metadata of the object. "A resource version in its metadata must be the cluster's current one."
func TestPreconditions_VersionInTheBodyIsNotMetByAMissingObject(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	for name, write := range map[string]absentWrite{
		"an apply patch": patchAbsent(applyPatch, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"absent","resourceVersion":"1"}}`),
		"an update":      updateAbsentWith("leases", "", `{"metadata":{"name":"absent","resourceVersion":"1"}}`),
	} {
		if err := kit.HasCode(write(ctx, client, namespace, nil), connect.CodeAborted); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantAbsent(ctx, t, namespace)
}

// TestPreconditions_VersionOfAnExistingObjectIsCompared applies a patch to an object at its version,
// then again at that version.
func TestPreconditions_VersionOfAnExistingObjectIsCompared(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	current := &kubeconnectv1.Preconditions{ResourceVersion: write.Create("absent", nil).ResourceVersion}
	apply := patchAbsent(applyPatch, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"absent"},"data":{"a":"b"}}`)
	if err := apply(ctx, client, namespace, current); err != nil {
		t.Error(err)
	}
	kit.WantError(t, apply(ctx, client, namespace, current), connect.CodeAborted)
}

// TestPreconditions_VersionZeroIsNotMet sends the version for which the API server itself updates and
// patches any version.
func TestPreconditions_VersionZeroIsNotMet(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	before := write.Create("absent", nil)
	for name, change := range map[string]absentWrite{
		"an update":     updateAbsentWith("configmaps", "", `{"metadata":{"name":"absent"},"data":{"a":"b"}}`),
		"a merge patch": patchAbsent(kit.MergePatch, `{"data":{"a":"b"}}`),
		"a JSON patch":  patchAbsent(jsonPatch, `[{"op":"add","path":"/data","value":{"a":"b"}}]`),
		"a deletion":    deleteAbsent,
	} {
		t.Run(name, func(t *testing.T) {
			err := change(ctx, client, namespace, &kubeconnectv1.Preconditions{ResourceVersion: "0"})
			wantRefusedUnchanged(t, write, before, err)
		})
	}
}
