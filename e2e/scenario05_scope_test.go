package e2e_test

import (
	"slices"
	"strings"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario05_WatchCoversANameANamespaceOrEverything(t *testing.T) {
	t.Parallel()
	overEachProtocol(t, cluster(t), watchesOfEveryScope)
}

func watchesOfEveryScope(t *testing.T, client resourceClient) {
	ctx := deadline(t)
	here, existing := newNamespace(ctx, t, cluster(t)), newNamespace(ctx, t, cluster(t))
	writeHere, writeThere := configMapsIn(ctx, t, cluster(t), here), configMapsIn(ctx, t, cluster(t), existing)
	before := writeHere.create("before", nil)
	untilRead(ctx, t, client, "configmaps", before)

	watch := func(request *kubeconnectv1.WatchRequest) *record.Stream {
		request.Resource = "configmaps"
		stream := record.Watch(t, client, request)
		stream.Synced(ctx)
		return stream
	}
	oneName := watch(&kubeconnectv1.WatchRequest{Namespace: here, Name: "one"})
	knownName := watch(&kubeconnectv1.WatchRequest{Namespace: here, Name: "before"})
	namespace := watch(&kubeconnectv1.WatchRequest{Namespace: here})
	everything := watch(&kubeconnectv1.WatchRequest{})

	one := writeHere.create("one", nil)
	two := writeHere.create("two", nil)
	oneThere := writeThere.create("one", nil)
	beforeTouched := writeHere.touch("before", "touched")
	oneTouched := writeHere.touch("one", "touched")
	writeHere.delete("one")
	writeThere.delete("one")
	last := writeThere.create("last", nil)

	wantChanges(t, oneName.Reaches(ctx, last.ResourceVersion), added(one), modified(oneTouched), deleted(oneTouched))
	wantChanges(t, knownName.Reaches(ctx, last.ResourceVersion), modified(beforeTouched))
	wantChanges(t, namespace.Reaches(ctx, last.ResourceVersion),
		added(one), added(two), modified(beforeTouched), modified(oneTouched), deleted(oneTouched))
	wantChangesIn(t, []string{here, existing}, everything.Reaches(ctx, last.ResourceVersion),
		added(one), added(two), added(oneThere), modified(beforeTouched), modified(oneTouched),
		deleted(oneTouched), deleted(oneThere), added(last))

	wantSnapshot(t, oneName)
	wantSnapshot(t, knownName, added(before))
}

// wantSnapshot fails the test unless the first snapshot contains exactly these objects.
func wantSnapshot(t *testing.T, stream *record.Stream, want ...string) {
	t.Helper()
	var got []string
	for _, event := range stream.Now().Events {
		if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED {
			break
		}
		if event.GetObject() != nil {
			got = append(got, record.Line(event))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("snapshot %q, want %q", got, want)
	}
}

// wantChangesIn is wantChanges for a stream that also receives changes in the namespaces of other
// tests.
func wantChangesIn(t *testing.T, namespaces []string, view record.View, want ...string) {
	t.Helper()
	view.Events = slices.DeleteFunc(slices.Clone(view.Events), func(event *kubeconnectv1.Event) bool {
		return event.GetObject() != nil && !slices.Contains(namespaces, event.GetObject().GetNamespace())
	})
	wantChanges(t, view, want...)
}

func TestScenario05_ClusterScopedWatchOmitsOtherObjects(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	one, other := newNamespace(ctx, t, cluster(t)), newNamespace(ctx, t, cluster(t))
	client := newClient(t, cluster(t))
	untilRead(ctx, t, client, "namespaces", labelNamespace(ctx, t, one, "seen"))
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "namespaces", Name: one})
	stream.Synced(ctx)

	labelNamespace(ctx, t, other, "labelled")
	labelled := labelNamespace(ctx, t, one, "labelled")

	view := stream.Reaches(ctx, labelled.ResourceVersion)
	wantChanges(t, view, modified(labelled))
	for _, line := range record.Lines(record.Changes(view.Events)) {
		if strings.Contains(line, other) {
			t.Errorf("the watch received another object: %s", line)
		}
	}
}
