package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// forgetfulCluster is a control plane whose API server loses its history within seconds: etcd is
// compacted every second, and there is no watch cache.
var forgetfulCluster = shared("--apiserver-arg", "etcd-compaction-interval=1s", "--apiserver-arg", "watch-cache=false")

const (
	// bigSize is close to the size limit of a ConfigMap.
	bigSize = 1_000_000
	// beyondWindow is a number of changes of such large objects that exceeds the service's window:
	// 16 MiB of objects before and after a change.
	beyondWindow = 20
)

func TestScenario06_TokenBehindTheWindowGetsLatestStates(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace, client := newNamespace(ctx, t, cluster(t)), newClient(t, cluster(t))
	write := configMapsIn(ctx, t, cluster(t), namespace)
	request, point, past := watchedPast(ctx, t, client, write)

	past.changeAll(write)
	pushOut(ctx, t, client, write)
	touched := write.touch("touched", "at last")
	want := past.latestStates(write)

	view := record.ResumeElsewhere(t, client, request, point).Reaches(ctx, touched.ResourceVersion)
	wantChanges(t, view, want...)
	if view.Model.Resets != 1 {
		t.Errorf("%d resets, want one", view.Model.Resets)
	}
	wantLatestStates(t, view.Events[len(point.Events):])
	wantDeletedUIDs(t, view.Events[len(point.Events):], past)
}

// At a service that has just started, the API server's history has the deletions.
func TestScenario06_TokenFromBeforeTheStartGetsLatestStates(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	write := configMapsIn(ctx, t, cluster(t), namespace)
	request, point, past := watchedPast(ctx, t, newClient(t, cluster(t)), write)

	past.changeAll(write)
	touched := write.touch("touched", "at last")

	view := record.ResumeElsewhere(t, newClient(t, cluster(t)), request, point).Reaches(ctx, touched.ResourceVersion)
	if view.Model.Resets != 1 {
		t.Errorf("%d resets, want one", view.Model.Resets)
	}
	if want := past.held(write); !maps.Equal(heldVersions(view.Model), want) {
		t.Errorf("the client has %v, want %v", heldVersions(view.Model), want)
	}
	wantLatestStates(t, view.Events[len(point.Events):])
}

func TestScenario06_CompactedTokenGetsASnapshot(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, forgetfulCluster(t))
	write := configMapsIn(ctx, t, forgetfulCluster(t), namespace)
	request, point, past := watchedPast(ctx, t, newClient(t, forgetfulCluster(t)), write)

	past.changeAll(write)
	touched := write.touch("touched", "at last")
	untilForgotten(ctx, t, forgetfulCluster(t), past.version)

	resumed := record.ResumeElsewhere(t, newClient(t, forgetfulCluster(t)), request, point)
	view := resumed.Reaches(ctx, touched.ResourceVersion)
	if view.Model.Resets != 2 {
		t.Errorf("%d resets, want a second one", view.Model.Resets)
	}
	if want := past.held(write); !maps.Equal(heldVersions(view.Model), want) {
		t.Errorf("the client has %v, want %v", heldVersions(view.Model), want)
	}
}

// The catch-up of this test does not fit into one response. A client may be disconnected after each
// of them.
func TestScenario06_InterruptedCatchUpCanBeResumed(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace, client := newNamespace(ctx, t, cluster(t)), newClient(t, cluster(t))
	write := configMapsIn(ctx, t, cluster(t), namespace)
	request, point, past := watchedPast(ctx, t, client, write)

	past.changeAll(write)
	pushOut(ctx, t, client, write)
	for i := range 4 {
		write.createBig(fmt.Sprintf("big-%d", i), web)
	}
	write.touch("leaves", "while it is out")
	touched := write.touch("touched", "at last")
	want := past.held(write)

	view := record.ResumeElsewhere(t, client, request, point).Reaches(ctx, touched.ResourceVersion)
	if view.Responses < 3 {
		t.Fatalf("everything was sent in %d responses", view.Responses)
	}
	for _, cut := range append([]record.Point{point}, view.Points...) {
		resumed := record.ResumeElsewhere(t, client, request, cut).Reaches(ctx, touched.ResourceVersion)
		if got := heldVersions(resumed.Model); !maps.Equal(got, want) {
			t.Errorf("disconnected after %d events, the client has %v, want %v", len(cut.Events), got, want)
		}
	}
}

var web = labels{"app": "web"}

// past holds some objects that a client had once.
type past struct {
	removed, leaves, recreated *corev1.ConfigMap
	version                    string // the version of that time
}

// watchedPast creates objects, and returns a point of a watch at which the client has all of them.
func watchedPast(ctx context.Context, t *testing.T, client resourceClient, write configMaps) (*kubeconnectv1.WatchRequest, record.Point, past) {
	t.Helper()
	p := past{removed: write.create("gone", web), leaves: write.create("leaves", web), recreated: write.create("again", web)}
	write.create("stays", web)
	untilRead(ctx, t, client, "configmaps", write.create("touched", web))
	request := &kubeconnectv1.WatchRequest{
		Resource: "configmaps", Namespace: p.removed.Namespace, LabelSelector: "app=web",
		Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF,
	}
	stream := record.Watch(t, client, request)
	view := stream.Synced(ctx)
	stream.Close()
	p.version = view.Model.Version
	return request, lastPoint(t, view), p
}

// changeAll changes the objects in every way.
func (p past) changeAll(write configMaps) {
	write.delete("gone")
	write.delete("again")
	write.create("again", web)
	write.relabel("leaves", map[string]any{"app": "other"})
	write.create("comes", web)
	write.create("comes-and-goes", web)
	write.delete("comes-and-goes")
}

// latestStates returns the lines of the changes made by changeAll as latest states, and of the last
// change of "touched": a deletion, and a leaving, at its own version. Only the API server's watch
// has the version of a deletion.
func (p past) latestStates(write configMaps) []string {
	deletedLine := func(object *corev1.ConfigMap) string {
		object = object.DeepCopy()
		object.ResourceVersion = write.deletedAt(object, p.version)
		return deleted(object)
	}
	return []string{
		deletedLine(p.removed), deletedLine(p.recreated), added(write.get("again")), deleted(write.get("leaves")),
		added(write.get("comes")), modified(write.get("touched")),
	}
}

// deletedAt returns the version at which an object was deleted, from a watch of the API server that
// begins at an older version.
func (c configMaps) deletedAt(object *corev1.ConfigMap, since string) string {
	c.t.Helper()
	events, err := c.api.Watch(c.ctx, metav1.ListOptions{ResourceVersion: since, FieldSelector: "metadata.name=" + object.Name})
	if err != nil {
		c.t.Fatal(err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		if deleted, ok := event.Object.(*corev1.ConfigMap); ok && event.Type == watch.Deleted && deleted.UID == object.UID {
			return deleted.ResourceVersion
		}
	}
	c.t.Fatalf("the API server's watch does not return the deletion of %s", object.Name)
	return ""
}

// held returns the current objects of the selection in the cluster.
func (p past) held(write configMaps) versions {
	list, err := write.api.List(write.ctx, metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		write.t.Fatal(err)
	}
	held := versions{}
	for _, item := range list.Items {
		held.add(&item)
	}
	return held
}

// createBig creates a ConfigMap close to the size limit.
func (c configMaps) createBig(name string, with labels) *corev1.ConfigMap {
	c.t.Helper()
	return c.must(c.api.Create(c.ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: with},
		Data:       map[string]string{"big": strings.Repeat("x", bigSize)},
	}, metav1.CreateOptions{}))
}

// pushOut makes enough changes for the window of the service to lose the earlier ones.
func pushOut(ctx context.Context, t *testing.T, client resourceClient, write configMaps) {
	t.Helper()
	last := write.createBig("pushes-out", nil)
	for i := range beyondWindow {
		last = write.touch("pushes-out", fmt.Sprint(i))
	}
	untilRead(ctx, t, client, "configmaps", last)
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

// untilForgotten blocks until the API server has lost the history since a version.
func untilForgotten(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, version string) {
	t.Helper()
	seconds := int64(1)
	eventually(ctx, t, "the history is compacted", func() error {
		events, err := controlPlane.Client.CoreV1().ConfigMaps("").Watch(ctx, metav1.ListOptions{ResourceVersion: version, TimeoutSeconds: &seconds})
		if err != nil {
			return ignoreExpired(err)
		}
		defer events.Stop()
		for event := range events.ResultChan() {
			if status, ok := event.Object.(*metav1.Status); ok {
				return ignoreExpired(apierrors.FromObject(status))
			}
		}
		return fmt.Errorf("the API server still has the history since %s", version)
	})
}

func ignoreExpired(err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return nil
	}
	return err
}
