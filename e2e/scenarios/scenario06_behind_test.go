package scenarios_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario06_TokenBehindTheWindowGetsLatestStates(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	request, point, past := watchedPast(ctx, t, client, write)

	past.changeAll(write)
	kit.ExceedWindow(ctx, t, client, write)
	touched := write.Touch("touched", "at last")
	want := past.latestStates(write)

	view := record.ResumeElsewhere(t, client, request, point).Reaches(ctx, touched.ResourceVersion)
	kit.WantChanges(t, view, want...)
	if view.Model.Resets != 1 {
		t.Errorf("%d resets, want one", view.Model.Resets)
	}
	wantLatestStates(t, view.Events[len(point.Events):])
	wantDeletedUIDs(t, view.Events[len(point.Events):], past)
}

// At a service that has just started, the API server's history has the deletions.
func TestScenario06_TokenFromBeforeTheStartGetsLatestStates(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	request, point, past := watchedPast(ctx, t, kit.NewClient(t, kit.Cluster(t)), write)

	past.changeAll(write)
	touched := write.Touch("touched", "at last")

	view := record.ResumeElsewhere(t, kit.NewClient(t, kit.Cluster(t)), request, point).Reaches(ctx, touched.ResourceVersion)
	if view.Model.Resets != 1 {
		t.Errorf("%d resets, want one", view.Model.Resets)
	}
	if want := past.held(write); !maps.Equal(kit.HeldVersions(view.Model), want) {
		t.Errorf("the client has %v, want %v", kit.HeldVersions(view.Model), want)
	}
	wantLatestStates(t, view.Events[len(point.Events):])
}

func TestScenario06_CompactedTokenGetsASnapshot(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.CompactingCluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.CompactingCluster(t), namespace)
	request, point, past := watchedPast(ctx, t, kit.NewClient(t, kit.CompactingCluster(t)), write)

	past.changeAll(write)
	touched := write.Touch("touched", "at last")
	kit.UntilCompacted(ctx, t, kit.CompactingCluster(t), past.version)

	resumed := record.ResumeElsewhere(t, kit.NewClient(t, kit.CompactingCluster(t)), request, point)
	view := resumed.Reaches(ctx, touched.ResourceVersion)
	if view.Model.Resets != 2 {
		t.Errorf("%d resets, want a second one", view.Model.Resets)
	}
	if want := past.held(write); !maps.Equal(kit.HeldVersions(view.Model), want) {
		t.Errorf("the client has %v, want %v", kit.HeldVersions(view.Model), want)
	}
}

// The catch-up of this test does not fit into one response. A client may be disconnected after each
// of them.
func TestScenario06_InterruptedCatchUpCanBeResumed(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	request, point, past := watchedPast(ctx, t, client, write)

	past.changeAll(write)
	kit.ExceedWindow(ctx, t, client, write)
	for i := range 4 {
		write.CreateBig(fmt.Sprintf("big-%d", i), web)
	}
	write.Touch("leaves", "while it is out")
	touched := write.Touch("touched", "at last")
	want := past.held(write)

	view := record.ResumeElsewhere(t, client, request, point).Reaches(ctx, touched.ResourceVersion)
	if view.Responses < 3 {
		t.Fatalf("everything was sent in %d responses", view.Responses)
	}
	for _, cut := range append([]record.Point{point}, view.Points...) {
		resumed := record.ResumeElsewhere(t, client, request, cut).Reaches(ctx, touched.ResourceVersion)
		if got := kit.HeldVersions(resumed.Model); !maps.Equal(got, want) {
			t.Errorf("disconnected after %d events, the client has %v, want %v", len(cut.Events), got, want)
		}
	}
}

var web = kit.Labels{"app": "web"}

// past holds some objects that a client had once.
type past struct {
	removed, leaves, recreated *corev1.ConfigMap
	version                    string // the version of that time
}

// watchedPast creates objects, and returns a point of a watch at which the client has all of them.
func watchedPast(ctx context.Context, t *testing.T, client kit.ResourceClient, write kit.ConfigMaps) (*kubeconnectv1.WatchRequest, record.Point, past) {
	t.Helper()
	p := past{removed: write.Create("gone", web), leaves: write.Create("leaves", web), recreated: write.Create("again", web)}
	write.Create("stays", web)
	kit.UntilRead(ctx, t, client, "configmaps", write.Create("touched", web))
	request := &kubeconnectv1.WatchRequest{
		Resource: "configmaps", Namespace: p.removed.Namespace, LabelSelector: "app=web",
		Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF,
	}
	stream := record.Watch(t, client, request)
	view := stream.Synced(ctx)
	stream.Close()
	p.version = view.Model.Version
	return request, kit.LastPoint(t, view), p
}

// changeAll changes the objects in every way.
func (p past) changeAll(write kit.ConfigMaps) {
	write.Delete("gone")
	write.Delete("again")
	write.Create("again", web)
	write.Relabel("leaves", map[string]any{"app": "other"})
	write.Create("comes", web)
	write.Create("comes-and-goes", web)
	write.Delete("comes-and-goes")
}

// latestStates returns the lines of the changes made by changeAll as latest states, and of the last
// change of "touched": a deletion, and a leaving, at its own version. Only the API server's watch
// has the version of a deletion.
func (p past) latestStates(write kit.ConfigMaps) []string {
	deletedLine := func(object *corev1.ConfigMap) string {
		object = object.DeepCopy()
		object.ResourceVersion = write.DeletedAt(object, p.version)
		return kit.Deleted(object)
	}
	return []string{
		deletedLine(p.removed), deletedLine(p.recreated), kit.Added(write.Get("again")), kit.Deleted(write.Get("leaves")),
		kit.Added(write.Get("comes")), kit.Modified(write.Get("touched")),
	}
}

// held returns the current objects of the selection in the cluster.
func (p past) held(write kit.ConfigMaps) kit.Versions {
	list, err := write.API.List(write.Ctx, metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		write.T.Fatal(err)
	}
	held := kit.Versions{}
	for _, item := range list.Items {
		held.Add(&item)
	}
	return held
}

// wantLatestStates fails the test unless exactly the deletions have no content, and each object has
// the version of its event.
func wantLatestStates(t *testing.T, events []*kubeconnectv1.Event) {
	t.Helper()
	for _, event := range record.Changes(events) {
		isDeleted := event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED
		if (event.GetObject().GetContent() == nil) != isDeleted {
			t.Errorf("%s has content: %v", record.Line(event), !isDeleted)
		}
		if own, ofObject := event.GetResourceVersion(), event.GetObject().GetResourceVersion(); own != ofObject {
			t.Errorf("%s has event version %s", record.Line(event), own)
		}
	}
}

// wantDeletedUIDs fails the test unless the deletions have the UIDs of the client's objects.
func wantDeletedUIDs(t *testing.T, events []*kubeconnectv1.Event, p past) {
	t.Helper()
	for _, event := range record.Changes(events) {
		for _, held := range []*corev1.ConfigMap{p.removed, p.leaves, p.recreated} {
			object := event.GetObject()
			if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED && object.GetName() == held.Name && object.GetUid() != string(held.UID) {
				t.Errorf("%s has UID %q, want %q", record.Line(event), object.GetUid(), held.UID)
			}
		}
	}
}
