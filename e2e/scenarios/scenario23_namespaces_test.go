package scenarios_test

import (
	"context"
	"testing"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// TestScenario23_CallerSeesTheAllowedNamespaces grants permissions in two of many namespaces,
// then in a third, then revokes all of them, one after another.
func TestScenario23_CallerSeesTheAllowedNamespaces(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), kit.StartForCallers(t)
	makeNamespaces(ctx, t, 35)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			followRights(t, service, protocol)
		})
	}
}

func followRights(t *testing.T, service *harness.Service, protocol harness.Protocol) {
	ctx := kit.Deadline(t)
	one, two, three := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t))
	caller := kit.RbacAccount{Account: kit.NewAccount(ctx, t, one, "reader"), Resource: "configmaps"}
	for _, namespace := range []string{one, two, three} {
		kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("mine", nil)
	}
	client := caller.Calling(service, protocol).Resources
	_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps"})
	kit.WantError(t, err, connect.CodePermissionDenied, caller.User(), "cannot list", "at the cluster scope")
	caller.Grant(one)
	caller.Grant(two)
	kit.Eventually(ctx, t, "two namespaces are listed", func() error { return kit.ListsNamespaces(ctx, client, one, two) })

	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps"})
	stream.JudgeBy(caller.Evidence)
	kit.WantHeld(t, stream.Synced(ctx), one, two)
	caller.Grant(three)
	kit.WantHeld(t, stream.Until(ctx, "the third namespace is delivered", kit.HoldsOf(three)), one, two, three)
	caller.Revoke(two)
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), two).Create("secret", nil)
	view := stream.Until(ctx, "the second namespace is deleted from the stream", func(view *record.View) bool { return !kit.HoldsOf(two)(view) })
	kit.WantHeld(t, view, one, three)
	wantGoneWithoutContent(t, view, two)
	touched := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), three).Touch("mine", "touched")
	stream.Reaches(ctx, touched.ResourceVersion)
	caller.Revoke(one)
	caller.Revoke(three)
	kit.WantError(t, stream.End(ctx), connect.CodePermissionDenied, "configmaps is forbidden")
}

// makeNamespaces creates namespaces without permissions for any caller.
func makeNamespaces(ctx context.Context, t *testing.T, count int) {
	t.Helper()
	template := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-others-"}}
	for range count {
		if _, err := kit.Cluster(t).Client.CoreV1().Namespaces().Create(ctx, template, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
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
