package e2e_test

import (
	"context"
	"fmt"
	"testing"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
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
	overEachProtocol(t, cluster(t), func(t *testing.T, client resourceClient) {
		ctx := deadline(t)
		namespace := newNamespace(ctx, t, cluster(t))
		for sort, resource := range bothSorts(ctx, t, namespace) {
			t.Run(sort, func(t *testing.T) { deleteUnderPreconditions(ctx, t, client, resource, namespace) })
		}
	})
}

func deleteUnderPreconditions(ctx context.Context, t *testing.T, client resourceClient, resource writable, namespace string) {
	t.Helper()
	created := resource.create(ctx, t, client, namespace, resource.object("one", "red"))
	remove := func(preconditions *kubeconnectv1.Preconditions, dryRun bool) (*kubeconnectv1.DeleteResponse, error) {
		return client.Delete(ctx, &kubeconnectv1.DeleteRequest{
			Resource: resource.name, Namespace: namespace, Name: "one", Preconditions: preconditions, DryRun: dryRun,
		})
	}
	for description, wrong := range map[string]*kubeconnectv1.Preconditions{
		"the UID in the precondition": {Uid: "8f3c5a3e-0000-4000-8000-000000000000"},
		"ResourceVersion":             {ResourceVersion: "1"},
	} {
		_, err := remove(wrong, false)
		wantError(t, err, connect.CodeAborted, description)
		wantStatus(t, err, "Conflict")
	}
	right := &kubeconnectv1.Preconditions{Uid: created.GetUid(), ResourceVersion: created.GetResourceVersion()}
	if _, err := remove(right, true); err != nil {
		t.Error(err)
	}
	resource.get(ctx, t, "one")
	response, err := remove(right, false)
	if err != nil {
		t.Fatal(err)
	}
	if response.GetObject() != nil || response.GetKind().GetKind() == "Status" {
		t.Errorf("response for the deleted object: %v", response)
	}
	_, err = remove(nil, false)
	wantError(t, err, connect.CodeNotFound, `"one" not found`)
}

// TestScenario20_DependentsFollowThePropagationPolicy deletes owners with each propagation policy.
func TestScenario20_DependentsFollowThePropagationPolicy(t *testing.T) {
	t.Parallel()
	client := newClient(t, cluster(t))
	for policy, wantGone := range map[kubeconnectv1.PropagationPolicy]bool{orphan: false, background: true, foreground: true} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			ctx := deadline(t)
			namespace := newNamespace(ctx, t, cluster(t))
			write := configMapsIn(ctx, t, cluster(t), namespace)
			owner := write.create("owner", nil)
			owned := ownedBy(ctx, t, owner)
			answer, err := client.Delete(ctx, &kubeconnectv1.DeleteRequest{
				Resource: "configmaps", Namespace: namespace, Name: "owner", PropagationPolicy: policy, Encoding: encodingJSON,
			})
			if err != nil {
				t.Fatal(err)
			}
			// The response contains an object that is not deleted at once.
			if waits := policy != background; waits != (answer.GetObject().GetName() == "owner") {
				t.Errorf("response %v", answer)
			}
			eventually(ctx, t, "the owner is deleted", func() error { return isGone(ctx, t, owner) })
			if wantGone {
				eventually(ctx, t, "the dependent is deleted", func() error { return isGone(ctx, t, owned) })
			} else if owners := write.get("owned").OwnerReferences; len(owners) != 0 {
				t.Errorf("owners of the orphan: %v", owners)
			}
		})
	}
}

func ownedBy(ctx context.Context, t *testing.T, owner *corev1.ConfigMap) *corev1.ConfigMap {
	t.Helper()
	blocks := true
	owned, err := cluster(t).Client.CoreV1().ConfigMaps(owner.Namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name:            "owned",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: &blocks}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return owned
}

func isGone(ctx context.Context, t *testing.T, object *corev1.ConfigMap) error {
	t.Helper()
	_, err := cluster(t).Client.CoreV1().ConfigMaps(object.Namespace).Get(ctx, object.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%s exists: %w", object.Name, err)
}

// TestDelete_ReturnsTheDeletedPod deletes a pod with a grace period, and then without one.
func TestDelete_ReturnsTheDeletedPod(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace, client := newNamespace(ctx, t, cluster(t)), newClient(t, cluster(t))
	createUnscheduledPod(ctx, t, namespace, "one")
	seconds := int64(-1)
	request := &kubeconnectv1.DeleteRequest{Resource: "pods", Namespace: namespace, Name: "one", GracePeriodSeconds: &seconds}
	_, err := client.Delete(ctx, request)
	wantError(t, err, connect.CodeInvalidArgument, "grace_period_seconds")
	seconds = 0
	response, err := client.Delete(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	if response.GetObject().GetName() != "one" || response.GetKind().GetKind() != "Pod" {
		t.Errorf("response %v", response)
	}
}

func TestDeleteCollection_DeletesOnlyMatchingObjects(t *testing.T) {
	t.Parallel()
	overEachProtocol(t, cluster(t), func(t *testing.T, client resourceClient) {
		ctx := deadline(t)
		namespace := newNamespace(ctx, t, cluster(t))
		for sort, resource := range bothSorts(ctx, t, namespace) {
			t.Run(sort, func(t *testing.T) { deleteWhatMatches(ctx, t, client, resource, namespace) })
		}
	})
}

func deleteWhatMatches(ctx context.Context, t *testing.T, client resourceClient, resource writable, namespace string) {
	t.Helper()
	for name, color := range map[string]string{"one": "red", "two": "red", "three": "blue"} {
		object := resource.object(name, color)
		object["metadata"].(map[string]any)["labels"] = map[string]any{"color": color}
		resource.create(ctx, t, client, namespace, object)
	}
	clear := func(labels, fields string, dryRun bool, want int64) {
		t.Helper()
		answer, err := client.DeleteCollection(ctx, &kubeconnectv1.DeleteCollectionRequest{
			Resource: resource.name, Namespace: namespace, LabelSelector: labels, FieldSelector: fields, DryRun: dryRun,
		})
		if err != nil || answer.GetDeleted() != want {
			t.Errorf("labels %q, fields %q: deleted %d, %v; want %d", labels, fields, answer.GetDeleted(), err, want)
		}
	}
	clear("color=red", "", true, 2)
	clear("color=red", "metadata.name=one", false, 1)
	clear("color=red", "", false, 1)
	clear("color=red", "", false, 0)
	resource.get(ctx, t, "three")
	_, err := client.DeleteCollection(ctx, &kubeconnectv1.DeleteCollectionRequest{Resource: resource.name})
	wantError(t, err, connect.CodeInvalidArgument, "namespace is required")
	_, err = client.DeleteCollection(ctx, &kubeconnectv1.DeleteCollectionRequest{Resource: resource.name, Namespace: namespace, LabelSelector: "color in"})
	wantError(t, err, connect.CodeInvalidArgument)
	resource.get(ctx, t, "three")
	clear("color=blue", "", false, 1)
}
