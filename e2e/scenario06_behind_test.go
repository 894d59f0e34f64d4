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

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// forgetfulCluster is a control plane whose API server forgets its history within
// seconds: etcd is compacted every second, and nothing else keeps it.
var forgetfulCluster = shared("--apiserver-arg", "etcd-compaction-interval=1s", "--apiserver-arg", "watch-cache=false")

const (
	// bigSize is nearly as much as a ConfigMap may have.
	bigSize = 1_000_000
	// beyondWindow is how many changes of so large objects are more than the service
	// remembers step by step: 16 MiB of objects before and after a change.
	beyondWindow = 20
)

func TestScenario06_ATokenFromBehindTheWindowGetsTheLatestStatesAndDeletions(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace, client := newNamespace(ctx, t, cluster(t)), newClient(t, cluster(t))
	write := configMapsIn(ctx, t, cluster(t), namespace)
	request, point, past := watchedPast(ctx, t, client, write)

	changed := past.goOn(write)
	pushOut(ctx, t, client, write)
	touched := write.touch("touched", "at last")

	said := record.ResumeElsewhere(t, client, request, point).Reaches(ctx, touched.ResourceVersion)
	wantCaughtUp(t, said, point, append(changed, modified(touched))...)
}

// At a service that has just started, the API server's history tells what was deleted.
func TestScenario06_ATokenFromBeforeTheServiceStartedGetsTheLatestStatesAndDeletions(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	write := configMapsIn(ctx, t, cluster(t), namespace)
	request, point, past := watchedPast(ctx, t, newClient(t, cluster(t)), write)

	past.goOn(write)
	touched := write.touch("touched", "at last")

	said := record.ResumeElsewhere(t, newClient(t, cluster(t)), request, point).Reaches(ctx, touched.ResourceVersion)
	if said.Model.Resets != 1 {
		t.Errorf("the stream began %d times, want once", said.Model.Resets)
	}
	if want := past.held(write); !maps.Equal(heldVersions(said.Model), want) {
		t.Errorf("the caller holds %v, want %v", heldVersions(said.Model), want)
	}
	wantLatestStates(t, said.Events[len(point.Events):])
}

func TestScenario06_ATokenFromBeforeAllThatIsRememberedGetsRESETAndASnapshot(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, forgetfulCluster(t))
	write := configMapsIn(ctx, t, forgetfulCluster(t), namespace)
	request, point, past := watchedPast(ctx, t, newClient(t, forgetfulCluster(t)), write)

	past.goOn(write)
	touched := write.touch("touched", "at last")
	untilForgotten(ctx, t, forgetfulCluster(t), past.version)

	resumed := record.ResumeElsewhere(t, newClient(t, forgetfulCluster(t)), request, point)
	said := resumed.Reaches(ctx, touched.ResourceVersion)
	if said.Model.Resets != 2 {
		t.Errorf("the stream began %d times, want anew", said.Model.Resets)
	}
	if want := past.held(write); !maps.Equal(heldVersions(said.Model), want) {
		t.Errorf("the caller holds %v, want %v", heldVersions(said.Model), want)
	}
}

// What is to be told here does not fit into one response. A caller may be cut off
// after each of them.
func TestScenario06_ACatchUpThatIsCutOffCanBeGoneOnWith(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace, client := newNamespace(ctx, t, cluster(t)), newClient(t, cluster(t))
	write := configMapsIn(ctx, t, cluster(t), namespace)
	request, point, past := watchedPast(ctx, t, client, write)

	past.goOn(write)
	pushOut(ctx, t, client, write)
	for i := range 4 {
		write.createBig(fmt.Sprintf("big-%d", i), web)
	}
	write.touch("leaves", "while it is out")
	touched := write.touch("touched", "at last")
	want := past.held(write)

	said := record.ResumeElsewhere(t, client, request, point).Reaches(ctx, touched.ResourceVersion)
	if said.Responses < 3 {
		t.Fatalf("all came in %d responses", said.Responses)
	}
	for _, cut := range append([]record.Point{point}, said.Points...) {
		again := record.ResumeElsewhere(t, client, request, cut).Reaches(ctx, touched.ResourceVersion)
		if got := heldVersions(again.Model); !maps.Equal(got, want) {
			t.Errorf("cut off after %d events, the caller holds %v, want %v", len(cut.Events), got, want)
		}
	}
}

var web = labels{"app": "web"}

// past is some objects that a caller held once.
type past struct {
	gone, leaves, again *corev1.ConfigMap
	version             string // at which they were held
}

// watchedPast makes objects, and a point of a watch at which all of them are held.
func watchedPast(ctx context.Context, t *testing.T, client resourceClient, write configMaps) (*kubeconnectv1.WatchRequest, record.Point, past) {
	t.Helper()
	p := past{gone: write.create("gone", web), leaves: write.create("leaves", web), again: write.create("again", web)}
	write.create("stays", web)
	untilRead(ctx, t, client, "configmaps", write.create("touched", web))
	request := &kubeconnectv1.WatchRequest{
		Resource: "configmaps", Namespace: p.gone.Namespace, LabelSelector: "app=web",
		Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF,
	}
	stream := record.Watch(t, client, request)
	said := stream.Synced(ctx)
	stream.Close()
	p.version = said.Model.Version
	return request, lastPoint(t, said), p
}

// goOn changes the objects in every way, and returns what of that there is to tell.
func (p past) goOn(write configMaps) []string {
	write.delete("gone")
	write.delete("again")
	again := write.create("again", web)
	left := write.relabel("leaves", map[string]any{"app": "other"})
	comes := write.create("comes", web)
	write.create("comes-and-goes", web)
	write.delete("comes-and-goes")
	return []string{deleted(p.gone), deleted(p.again), added(again), deleted(left), added(comes)}
}

// held is what the cluster holds of the selection now.
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

// createBig makes a ConfigMap that is nearly as large as one may be.
func (c configMaps) createBig(name string, with labels) *corev1.ConfigMap {
	c.t.Helper()
	return c.must(c.api.Create(c.ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: with},
		Data:       map[string]string{"big": strings.Repeat("x", bigSize)},
	}, metav1.CreateOptions{}))
}

// pushOut changes so much that the service does not remember every step any more.
func pushOut(ctx context.Context, t *testing.T, client resourceClient, write configMaps) {
	t.Helper()
	last := write.createBig("pushes-out", nil)
	for i := range beyondWindow {
		last = write.touch("pushes-out", fmt.Sprint(i))
	}
	untilRead(ctx, t, client, "configmaps", last)
}

// wantCaughtUp fails unless a resumed stream has told exactly these changes, in latest
// states, without beginning anew.
func wantCaughtUp(t *testing.T, said record.View, point record.Point, want ...string) {
	t.Helper()
	wantChangesInAnyOrder(t, said, want...)
	if said.Model.Resets != 1 {
		t.Errorf("the stream began %d times, want once", said.Model.Resets)
	}
	wantLatestStates(t, said.Events[len(point.Events):])
}

// wantLatestStates fails unless deletions, and only these, come without content.
func wantLatestStates(t *testing.T, events []*kubeconnectv1.Event) {
	t.Helper()
	for _, event := range events {
		isDeleted := event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED
		if event.GetObject() != nil && (event.GetObject().GetContent() == nil) != isDeleted {
			t.Errorf("%s has content: %v", record.Line(event), !isDeleted)
		}
	}
}

// untilForgotten waits until the API server does not know any more what happened
// since a version.
func untilForgotten(ctx context.Context, t *testing.T, in *harness.Cluster, version string) {
	t.Helper()
	seconds := int64(1)
	eventually(ctx, t, "history is forgotten", func() error {
		events, err := in.Client.CoreV1().ConfigMaps("").Watch(ctx, metav1.ListOptions{ResourceVersion: version, TimeoutSeconds: &seconds})
		if err != nil {
			return ignoreExpired(err)
		}
		defer events.Stop()
		for event := range events.ResultChan() {
			if status, ok := event.Object.(*metav1.Status); ok {
				return ignoreExpired(apierrors.FromObject(status))
			}
		}
		return fmt.Errorf("it is still known what happened since %s", version)
	})
}

func ignoreExpired(err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return nil
	}
	return err
}
