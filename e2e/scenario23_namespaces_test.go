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
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// TestScenario23_ACallerSeesTheNamespacesThatItMaySee gives rights in two of many
// namespaces, then in a third, then takes away all, one after another.
func TestScenario23_ACallerSeesTheNamespacesThatItMaySee(t *testing.T) {
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
	caller := newAccount(ctx, t, one, "reader")
	read := to("configmaps", "list", "watch")
	for _, namespace := range []string{one, two, three} {
		configMapsIn(ctx, t, cluster(t), namespace).create("mine", nil)
	}
	client := caller.calling(service, protocol).Resources
	_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps"})
	wantError(t, err, connect.CodePermissionDenied, caller.user(), "cannot list", "at the cluster scope")
	caller.may(one, "reader", read)
	caller.may(two, "reader", read)
	eventually(ctx, t, "two namespaces are listed", func() error { return listsNamespaces(ctx, client, one, two) })

	stream := watchPlain(ctx, t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps"})
	wantHeld(t, stream.until(func(view *record.View) bool { return view.Model.Synced }), one, two)
	caller.may(three, "reader", read)
	wantHeld(t, stream.until(func(view *record.View) bool { return slices.Contains(heldIn(view), three) }), one, two, three)
	caller.mayNoMore(two, "reader")
	configMapsIn(ctx, t, cluster(t), two).create("secret", nil)
	view := stream.until(func(view *record.View) bool { return !slices.Contains(heldIn(view), two) })
	wantHeld(t, view, one, three)
	wantGoneWithoutContent(t, view, two)
	touched := configMapsIn(ctx, t, cluster(t), three).touch("mine", "touched")
	stream.until(func(view *record.View) bool {
		return view.Events[len(view.Events)-1].GetObject().GetResourceVersion() == touched.ResourceVersion
	})
	caller.mayNoMore(one, "reader")
	caller.mayNoMore(three, "reader")
	wantError(t, stream.end(), connect.CodePermissionDenied, "configmaps is forbidden")
}

// plainStream is a watch whose rights change: what these change has rules of its own.
type plainStream struct {
	t      *testing.T
	stream *connect.ServerStreamForClient[kubeconnectv1.WatchResponse]
	view   record.View
}

func watchPlain(ctx context.Context, t *testing.T, client resourceClient, request *kubeconnectv1.WatchRequest) *plainStream {
	t.Helper()
	stream, err := client.Watch(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	return &plainStream{t: t, stream: stream, view: record.View{Model: validate.Model{Objects: map[validate.Key]*kubeconnectv1.Object{}}}}
}

func (p *plainStream) receive() bool {
	if !p.stream.Receive() {
		return false
	}
	for _, event := range p.stream.Msg().GetEvents() {
		p.view.Model.Apply(event)
		p.view.Events = append(p.view.Events, event)
	}
	return true
}

func (p *plainStream) until(condition func(*record.View) bool) record.View {
	p.t.Helper()
	for !condition(&p.view) {
		if !p.receive() {
			p.t.Fatal(p.stream.Err())
		}
	}
	return p.view
}

func (p *plainStream) end() error {
	for p.receive() {
	}
	return p.stream.Err()
}

// makeNamespaces makes some, for nobody.
func makeNamespaces(ctx context.Context, t *testing.T, count int) {
	t.Helper()
	template := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-others-"}}
	for range count {
		if _, err := cluster(t).Client.CoreV1().Namespaces().Create(ctx, template, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// namespacesOf are those of some objects, in order.
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
		return fmt.Errorf("there is something of %q, not %q", got, want)
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

// heldIn are the namespaces of what a caller holds.
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

// wantGoneWithoutContent fails unless the last that came of a namespace is DELETED,
// without content.
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
			t.Errorf("the last of %s is %v", name, event)
		}
	}
}
