package e2e_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario02_ResumeDeliversMissedChanges(t *testing.T) {
	t.Parallel()
	overEachProtocol(t, cluster(t), func(t *testing.T, client resourceClient) {
		ctx := deadline(t)
		namespace := newNamespace(ctx, t, cluster(t))
		write := configMapsIn(ctx, t, cluster(t), namespace)
		goes := write.create("goes", labels{"app": "web"})
		leaves := write.create("leaves", labels{"app": "web"})
		untilRead(ctx, t, client, "configmaps", leaves)
		request := &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, LabelSelector: "app=web"}
		first := record.Watch(t, client, request)
		point := lastPoint(t, first.Synced(ctx))
		first.Close()

		write.delete("goes")
		left := write.relabel("leaves", map[string]any{"app": nil})
		comes := write.create("comes", labels{"app": "web"})
		touched := write.touch("comes", "touched")
		write.create("never-seen", nil)

		view := record.Resume(t, client, request, point).Reaches(ctx, touched.ResourceVersion)
		wantChanges(t, view, deleted(goes), deleted(leaves), added(comes), modified(touched))
		wantEventVersion(t, view, 1, left.ResourceVersion)
	})
}

func TestScenario03_ResumeAtEachPointDeliversTheSameRest(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	write := configMapsIn(ctx, t, cluster(t), namespace)
	client := newClient(t, cluster(t))
	untilRead(ctx, t, client, "configmaps", write.create("before", labels{"app": "web"}))
	request := &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, LabelSelector: "app=web"}
	stream := record.Watch(t, client, request)
	stream.Synced(ctx)

	last := writeStepByStep(ctx, t, stream, write)
	view := stream.Reaches(ctx, last)
	if len(view.Points) < 6 {
		t.Fatalf("the stream can be resumed at only %d points", len(view.Points))
	}
	for _, point := range view.Points {
		resumed := record.Resume(t, client, request, point).Reaches(ctx, last)
		got, want := withoutRepeatedDeletion(record.Lines(record.Changes(resumed.Events))), record.Lines(record.Changes(view.Events))
		if !slices.Equal(got, want) {
			t.Errorf("resumed after %d events: %q, want %q", len(point.Events), got, want)
		}
		if resumed.Model.Resets != 1 {
			t.Errorf("resumed after %d events, the stream was reset", len(point.Events))
		}
	}
}

func TestScenario03_ResumeAtAnotherReplicaConverges(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	write := configMapsIn(ctx, t, cluster(t), namespace)
	client := newClient(t, cluster(t))
	untilRead(ctx, t, client, "configmaps", write.create("before", labels{"app": "web"}))
	request := &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, LabelSelector: "app=web"}
	stream := record.Watch(t, client, request)
	stream.Synced(ctx)
	last := writeStepByStep(ctx, t, stream, write)
	view := stream.Reaches(ctx, last)

	another := newClient(t, cluster(t))
	want := configMapVersions(ctx, t, namespace, "app=web")
	for _, point := range view.Points {
		resumed := untilHeld(ctx, record.ResumeElsewhere(t, another, request, point), want)
		t.Logf("resumed after %d of %d events: %d snapshots", len(point.Events), len(view.Events), resumed.Model.Resets)
	}
}

func TestResumeToken_InvalidOrForeignTokensAreRejected(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	client := newClient(t, cluster(t))
	query := func() *kubeconnectv1.WatchRequest {
		return &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace}
	}
	token := lastPoint(t, record.Watch(t, client, query()).Synced(ctx)).Token
	for name, change := range map[string]func(*kubeconnectv1.WatchRequest){
		"that is not a token":                func(r *kubeconnectv1.WatchRequest) { r.ResumeToken = "garbage" },
		"that is truncated at its end":       func(r *kubeconnectv1.WatchRequest) { r.ResumeToken = token[:len(token)-1] },
		"that is truncated at its beginning": func(r *kubeconnectv1.WatchRequest) { r.ResumeToken = token[1:] },
		"with an additional character":       func(r *kubeconnectv1.WatchRequest) { r.ResumeToken = token + "A" },
		"of another resource":                func(r *kubeconnectv1.WatchRequest) { r.Resource = "secrets" },
		"of another namespace":               func(r *kubeconnectv1.WatchRequest) { r.Namespace = "default" },
		"of a wider selection":               func(r *kubeconnectv1.WatchRequest) { r.Namespace = "" },
		"of another label selector":          func(r *kubeconnectv1.WatchRequest) { r.LabelSelector = "a=b" },
		"of another field selector":          func(r *kubeconnectv1.WatchRequest) { r.FieldSelector = "metadata.name=a" },
		"of another name":                    func(r *kubeconnectv1.WatchRequest) { r.Name = "a" },
	} {
		t.Run(name, func(t *testing.T) {
			request := query()
			request.ResumeToken = token
			change(request)
			wantError(t, watchError(ctx, client, request), connect.CodeInvalidArgument, "resume_token")
		})
	}
}

// writeStepByStep makes changes of every kind, each after the stream has delivered the previous
// one. It returns the last version.
func writeStepByStep(ctx context.Context, t *testing.T, stream *record.Stream, write configMaps) string {
	t.Helper()
	version := ""
	for _, step := range []func() *corev1.ConfigMap{
		func() *corev1.ConfigMap { return write.create("one", labels{"app": "web"}) },
		func() *corev1.ConfigMap { return write.touch("one", "touched") },
		func() *corev1.ConfigMap { return write.touch("before", "touched") },
		func() *corev1.ConfigMap { return write.relabel("one", map[string]any{"app": "other"}) },
		func() *corev1.ConfigMap { return write.relabel("one", map[string]any{"app": "web"}) },
		func() *corev1.ConfigMap { write.delete("one"); return write.create("one", labels{"app": "web"}) },
		func() *corev1.ConfigMap { return write.create("two", labels{"app": "web"}) },
	} {
		version = step().ResourceVersion
		stream.Reaches(ctx, version)
	}
	return version
}

// lastPoint returns the last point at which a stream can be resumed.
func lastPoint(t *testing.T, view record.View) record.Point {
	t.Helper()
	if len(view.Points) == 0 {
		t.Fatal("no response had a resume token")
	}
	return view.Points[len(view.Points)-1]
}

// withoutRepeatedDeletion removes a deletion that directly follows itself: the last deletion of a
// stream is sent again when the stream is resumed.
func withoutRepeatedDeletion(lines []string) []string {
	return slices.CompactFunc(lines, func(a, b string) bool { return a == b && strings.HasPrefix(a, "DELETED ") })
}
