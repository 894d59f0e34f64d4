package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// TestScenario23_CallerSeesTheAllowedNamespaces grants permissions in two of many namespaces,
// then in a third, then revokes all of them, one after another.
func TestScenario23_CallerSeesTheAllowedNamespaces(t *testing.T) {
	t.Parallel()
	ctx, service := deadline(t), startForCallers(t)
	makeNamespaces(ctx, t, 35)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			followRights(t, service, protocol)
		})
	}
}

func followRights(t *testing.T, service *harness.Service, protocol harness.Protocol) {
	ctx := deadline(t)
	one, two, three := newNamespace(ctx, t, cluster(t)), newNamespace(ctx, t, cluster(t)), newNamespace(ctx, t, cluster(t))
	caller := rbacAccount{account: newAccount(ctx, t, one, "reader"), resource: "configmaps"}
	for _, namespace := range []string{one, two, three} {
		configMapsIn(ctx, t, cluster(t), namespace).create("mine", nil)
	}
	client := caller.calling(service, protocol).Resources
	_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps"})
	wantError(t, err, connect.CodePermissionDenied, caller.user(), "cannot list", "at the cluster scope")
	caller.grant(one)
	caller.grant(two)
	eventually(ctx, t, "two namespaces are listed", func() error { return listsNamespaces(ctx, client, one, two) })

	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps"})
	stream.JudgeBy(caller.evidence)
	wantHeld(t, stream.Synced(ctx), one, two)
	caller.grant(three)
	wantHeld(t, stream.Until(ctx, "the third namespace is delivered", holdsOf(three)), one, two, three)
	caller.revoke(two)
	configMapsIn(ctx, t, cluster(t), two).create("secret", nil)
	view := stream.Until(ctx, "the second namespace is deleted from the stream", func(view *record.View) bool { return !holdsOf(two)(view) })
	wantHeld(t, view, one, three)
	wantGoneWithoutContent(t, view, two)
	touched := configMapsIn(ctx, t, cluster(t), three).touch("mine", "touched")
	stream.Reaches(ctx, touched.ResourceVersion)
	caller.revoke(one)
	caller.revoke(three)
	wantError(t, stream.End(ctx), connect.CodePermissionDenied, "configmaps is forbidden")
}

// holdsOf returns a function that reports whether a client has objects of a namespace.
func holdsOf(namespace string) func(*record.View) bool {
	return func(view *record.View) bool { return slices.Contains(heldIn(view), namespace) }
}

// makeNamespaces creates namespaces without permissions for any caller.
func makeNamespaces(ctx context.Context, t *testing.T, count int) {
	t.Helper()
	template := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-others-"}}
	for range count {
		if _, err := cluster(t).Client.CoreV1().Namespaces().Create(ctx, template, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// namespacesOf returns the namespaces of some objects, in order.
func namespacesOf(objects []*kubeconnectv1.Object) []string {
	var namespaces []string
	for _, object := range objects {
		namespaces = append(namespaces, object.GetNamespace())
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

func sameNamespaces(got, want []string) error {
	if want = slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
		return fmt.Errorf("objects in the namespaces %q, want %q", got, want)
	}
	return nil
}

func listsNamespaces(ctx context.Context, client resourceClient, want ...string) error {
	list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps"})
	if err != nil {
		return err
	}
	return sameNamespaces(namespacesOf(list.GetObjects()), want)
}

// heldIn returns the namespaces of a client's objects.
func heldIn(view *record.View) []string {
	var objects []*kubeconnectv1.Object
	for _, object := range view.Model.Objects {
		objects = append(objects, object)
	}
	return namespacesOf(objects)
}

func wantHeld(t *testing.T, view record.View, namespaces ...string) {
	t.Helper()
	if err := sameNamespaces(heldIn(&view), namespaces); err != nil {
		t.Error(err)
	}
}

// wantGoneWithoutContent fails the test unless the last event of a namespace is a DELETED without
// content.
func wantGoneWithoutContent(t *testing.T, view record.View, namespace string) {
	t.Helper()
	last := map[string]*kubeconnectv1.Event{}
	for _, event := range view.Events {
		if object := event.GetObject(); object.GetNamespace() == namespace {
			last[object.GetName()] = event
		}
	}
	for name, event := range last {
		if event.GetType() != kubeconnectv1.EventType_EVENT_TYPE_DELETED || event.GetObject().GetContent() != nil {
			t.Errorf("last event of %s: %v", name, event)
		}
	}
}
