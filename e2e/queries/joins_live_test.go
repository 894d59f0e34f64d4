package queries_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"connectrpc.com/connect/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// joinedPage is a client of a page of which each object has one join.
type joinedPage struct {
	t      *testing.T
	stream *responses.Stream[kubeconnectv1.WatchResponse]
	held   []*kubeconnectv1.Object
}

func watchJoinedPage(ctx context.Context, t *testing.T, client kit.ResourceClient, request *kubeconnectv1.WatchRequest) *joinedPage {
	t.Helper()
	stream, err := responses.Of(client.Watch(ctx, request))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	return &joinedPage{t: t, stream: stream}
}

// until receives until the page has exactly these objects, with these results of their joins.
func (p *joinedPage) until(want map[string]string) {
	p.t.Helper()
	for p.stream.Receive() {
		for _, event := range p.stream.Msg().GetEvents() {
			p.apply(event)
		}
		if p.hasExactly(want) {
			return
		}
	}
	p.t.Fatalf("the stream ended with %v; it has %v, want %v", p.stream.Err(), p.held, want)
}

// apply applies an event as the comment of Event.index says.
func (p *joinedPage) apply(event *kubeconnectv1.Event) {
	at := int(event.GetIndex())
	isSame := func(object *kubeconnectv1.Object) bool { return object.GetName() == event.GetObject().GetName() }
	switch event.GetType() {
	case kubeconnectv1.EventType_EVENT_TYPE_RESET:
		p.held = nil
	case kubeconnectv1.EventType_EVENT_TYPE_ADDED:
		p.held = slices.Insert(p.held, at, event.GetObject())
	case kubeconnectv1.EventType_EVENT_TYPE_MODIFIED:
		p.held = slices.Insert(slices.DeleteFunc(p.held, isSame), at, event.GetObject())
	case kubeconnectv1.EventType_EVENT_TYPE_DELETED:
		p.held = slices.Delete(p.held, at, at+1)
	}
}

func (p *joinedPage) hasExactly(want map[string]string) bool {
	for _, object := range p.held {
		if joined := object.GetJoined(); len(joined) != 1 || want[object.GetName()] != resultText(joined[0]) {
			return false
		}
	}
	return len(p.held) == len(want)
}

// resultText returns the number of related objects, and their versions.
func resultText(joined *kubeconnectv1.JoinedObjects) string {
	text := fmt.Sprint(joined.GetCount())
	for _, related := range joined.GetObjects() {
		text += " " + related.GetResourceVersion()
	}
	return text
}

// TestLiveJoins_FollowBothSides changes the objects of a page and their related objects.
func TestLiveJoins_FollowBothSides(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
		kit.CreateUnscheduledPod(ctx, t, namespace, "a")
		kit.CreateUnscheduledPod(ctx, t, namespace, "b")
		page := watchJoinedPage(ctx, t, client, &kubeconnectv1.WatchRequest{
			Resource: "pods", Namespace: namespace, Limit: 2, Fields: []string{"metadata.name"}, Joins: []*kubeconnectv1.Join{
				{Name: "config", Type: kubeconnectv1.JoinType_JOIN_TYPE_NAMED_BY, Resource: "configmaps", Path: "metadata.name", Fields: []string{"data"}}}})
		page.until(map[string]string{"a": "0", "b": "0"})
		created := write.Create("a", nil)
		page.until(map[string]string{"a": "1 " + created.ResourceVersion, "b": "0"})
		changed := write.Patch("a", map[string]any{"data": map[string]string{"key": "value"}})
		page.until(map[string]string{"a": "1 " + changed.ResourceVersion, "b": "0"})
		kit.CreateUnscheduledPod(ctx, t, namespace, "aa")
		page.until(map[string]string{"a": "1 " + changed.ResourceVersion, "aa": "0"})
		write.Delete("a")
		page.until(map[string]string{"a": "0", "aa": "0"})
	})
}

// TestLiveJoins_HaveTheNumberOfReadyPods scales a deployment while its pods are counted.
func TestLiveJoins_HaveTheNumberOfReadyPods(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	f := newRelatedFixture(ctx, t)
	page := watchJoinedPage(ctx, t, client, &kubeconnectv1.WatchRequest{
		Resource: "deployments.apps", Namespace: f.namespace, Limit: 10, Fields: []string{"metadata.name"}, Joins: []*kubeconnectv1.Join{{
			Name: "ready", Type: kubeconnectv1.JoinType_JOIN_TYPE_SELECTED_BY, Resource: "pods",
			Filter: "object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
		}}})
	page.until(map[string]string{"web": "4", "db": "2"}) // with the pod without an owner
	_, err := kit.Cluster(t).Client.AppsV1().Deployments(f.namespace).Patch(ctx, "db", "application/merge-patch+json", []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{})
	f.must(err)
	page.until(map[string]string{"web": "4", "db": "3"})
}

// TestLiveJoins_OfManyWatches watches two pages with joins in one stream.
func TestLiveJoins_OfManyWatches(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	kit.CreateUnscheduledPod(ctx, t, namespace, "a")
	named := []*kubeconnectv1.Join{{Name: "named", Type: kubeconnectv1.JoinType_JOIN_TYPE_NAMED_BY, Resource: "configmaps", Path: "metadata.name"}}
	stream, err := responses.Of(client.WatchMany(ctx, &kubeconnectv1.WatchManyRequest{Watches: []*kubeconnectv1.WatchSpec{
		{Resource: "pods", Namespace: namespace, Limit: 1, Joins: named},
		{Resource: "configmaps", Namespace: namespace, Limit: 500, Joins: []*kubeconnectv1.Join{
			{Name: "naming", Type: kubeconnectv1.JoinType_JOIN_TYPE_NAMES, Resource: "pods", Path: "metadata.name"}}},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	counts := make(map[int32]int64) // of the object "a", by watch
	for created := false; stream.Receive(); {
		for _, event := range stream.Msg().GetResponse().GetEvents() {
			if event.GetObject().GetName() == "a" {
				counts[stream.Msg().GetWatchIndex()] = event.GetObject().GetJoined()[0].GetCount()
			}
		}
		if _, known := counts[0]; known && !created {
			created = true
			write.Create("a", nil)
		}
		if counts[0] == 1 && counts[1] == 1 {
			return
		}
	}
	t.Errorf("the stream ended with %v; the joins have %v", stream.Err(), counts)
}

// TestLiveJoins_NeedAPage verifies the refusal, and the reason.
func TestLiveJoins_NeedAPage(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	kit.WantError(t, kit.WatchError(ctx, client, &kubeconnectv1.WatchRequest{Resource: "pods", Joins: []*kubeconnectv1.Join{
		{Name: "node", Type: kubeconnectv1.JoinType_JOIN_TYPE_NAMED_BY, Resource: "nodes", Path: "spec.nodeName"}}}),
		connect.CodeInvalidArgument, "joins need a limit in a watch")
}
