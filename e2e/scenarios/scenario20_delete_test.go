package scenarios_test

import (
	"context"
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const (
	orphan     = kubeconnectv1.PropagationPolicy_PROPAGATION_POLICY_ORPHAN
	background = kubeconnectv1.PropagationPolicy_PROPAGATION_POLICY_BACKGROUND
	foreground = kubeconnectv1.PropagationPolicy_PROPAGATION_POLICY_FOREGROUND
)

// TestScenario20_DeletionChecksPreconditions deletes objects under preconditions that are not
// met, then as a dry run, then actually.
func TestScenario20_DeletionChecksPreconditions(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		for sort, resource := range kit.WritableResources(ctx, t, namespace) {
			t.Run(sort, func(t *testing.T) { deleteUnderPreconditions(ctx, t, client, resource, namespace) })
		}
	})
}

func deleteUnderPreconditions(ctx context.Context, t *testing.T, client kit.ResourceClient, resource kit.Writable, namespace string) {
	t.Helper()
	created := resource.Create(ctx, t, client, namespace, resource.Object("one", "red"))
	remove := func(preconditions *kubeconnectv1.Preconditions, dryRun bool) (*kubeconnectv1.DeleteResponse, error) {
		return client.Delete(ctx, &kubeconnectv1.DeleteRequest{
			Resource: resource.Name, Namespace: namespace, Name: "one", Preconditions: preconditions, DryRun: dryRun,
		})
	}
	for description, wrong := range map[string]*kubeconnectv1.Preconditions{
		"the UID in the precondition": {Uid: "8f3c5a3e-0000-4000-8000-000000000000"},
		"ResourceVersion":             {ResourceVersion: "1"},
	} {
		_, err := remove(wrong, false)
		kit.WantError(t, err, connect.CodeAborted, description)
		kit.WantStatus(t, err, "Conflict")
	}
	right := &kubeconnectv1.Preconditions{Uid: created.GetUid(), ResourceVersion: created.GetResourceVersion()}
	if _, err := remove(right, true); err != nil {
		t.Error(err)
	}
	resource.Get(ctx, t, "one")
	response, err := remove(right, false)
	if err != nil {
		t.Fatal(err)
	}
	if response.GetObject() != nil || response.GetResource().GetKind() == "Status" {
		t.Errorf("response for the deleted object: %v", response)
	}
	_, err = remove(nil, false)
	kit.WantError(t, err, connect.CodeNotFound, `"one" not found`)
}

// TestScenario20_DependentsFollowThePropagationPolicy deletes owners with each propagation policy.
func TestScenario20_DependentsFollowThePropagationPolicy(t *testing.T) {
	t.Parallel()
	client := kit.NewClient(t, kit.Cluster(t))
	for policy, wantGone := range map[kubeconnectv1.PropagationPolicy]bool{orphan: false, background: true, foreground: true} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
			owner := write.Create("owner", nil)
			owned := kit.OwnedBy(ctx, t, owner)
			answer, err := client.Delete(ctx, &kubeconnectv1.DeleteRequest{
				Resource: "configmaps", Namespace: namespace, Name: "owner", PropagationPolicy: policy, Encoding: kit.EncodingJSON,
			})
			if err != nil {
				t.Fatal(err)
			}
			// The response contains an object that is not deleted at once.
			if waits := policy != background; waits != (answer.GetObject().GetName() == "owner") {
				t.Errorf("response %v", answer)
			}
			kit.Eventually(ctx, t, "the owner is deleted", func() error { return kit.CheckDeleted(ctx, t, owner) })
			if wantGone {
				kit.Eventually(ctx, t, "the dependent is deleted", func() error { return kit.CheckDeleted(ctx, t, owned) })
			} else if owners := write.Get("owned").OwnerReferences; len(owners) != 0 {
				t.Errorf("owners of the orphan: %v", owners)
			}
		})
	}
}

// TestDelete_ReturnsTheDeletedPod deletes a pod with a grace period, and then without one.
func TestDelete_ReturnsTheDeletedPod(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	kit.CreateUnscheduledPod(ctx, t, namespace, "one")
	seconds := int64(-1)
	request := &kubeconnectv1.DeleteRequest{Resource: "pods", Namespace: namespace, Name: "one", GracePeriodSeconds: &seconds}
	_, err := client.Delete(ctx, request)
	kit.WantError(t, err, connect.CodeInvalidArgument, "grace_period_seconds")
	seconds = 0
	response, err := client.Delete(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	if response.GetObject().GetName() != "one" || response.GetResource().GetKind() != "Pod" {
		t.Errorf("response %v", response)
	}
}

func TestDeleteCollection_DeletesOnlyMatchingObjects(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		for sort, resource := range kit.WritableResources(ctx, t, namespace) {
			t.Run(sort, func(t *testing.T) { deleteWhatMatches(ctx, t, client, resource, namespace) })
		}
	})
}

func deleteWhatMatches(ctx context.Context, t *testing.T, client kit.ResourceClient, resource kit.Writable, namespace string) {
	t.Helper()
	for name, color := range map[string]string{"one": "red", "two": "red", "three": "blue"} {
		object := resource.Object(name, color)
		object["metadata"].(map[string]any)["labels"] = map[string]any{"color": color}
		resource.Create(ctx, t, client, namespace, object)
	}
	clear := func(labels, fields string, dryRun bool, want int64) {
		t.Helper()
		answer, err := client.DeleteCollection(ctx, &kubeconnectv1.DeleteCollectionRequest{
			Resource: resource.Name, Namespace: namespace, LabelSelector: labels, FieldSelector: fields, DryRun: dryRun,
		})
		if err != nil || answer.GetDeletedCount() != want {
			t.Errorf("labels %q, fields %q: deleted %d, %v; want %d", labels, fields, answer.GetDeletedCount(), err, want)
		}
	}
	clear("color=red", "", true, 2)
	clear("color=red", "metadata.name=one", false, 1)
	clear("color=red", "", false, 1)
	clear("color=red", "", false, 0)
	resource.Get(ctx, t, "three")
	_, err := client.DeleteCollection(ctx, &kubeconnectv1.DeleteCollectionRequest{Resource: resource.Name})
	kit.WantError(t, err, connect.CodeInvalidArgument, "namespace is required")
	_, err = client.DeleteCollection(ctx, &kubeconnectv1.DeleteCollectionRequest{Resource: resource.Name, Namespace: namespace, LabelSelector: "color in"})
	kit.WantError(t, err, connect.CodeInvalidArgument)
	resource.Get(ctx, t, "three")
	clear("color=blue", "", false, 1)
}
