package scenarios_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario02_ResumeDeliversMissedChanges(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
		goes := write.Create("goes", kit.Labels{"app": "web"})
		leaves := write.Create("leaves", kit.Labels{"app": "web"})
		kit.UntilRead(ctx, t, client, "configmaps", leaves)
		request := &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, LabelSelector: "app=web"}
		first := record.Watch(t, client, request)
		point := kit.LastPoint(t, first.Synced(ctx))
		first.Close()

		write.Delete("goes")
		left := write.Relabel("leaves", map[string]any{"app": nil})
		comes := write.Create("comes", kit.Labels{"app": "web"})
		touched := write.Touch("comes", "touched")
		write.Create("never-seen", nil)

		view := record.Resume(t, client, request, point).Reaches(ctx, touched.ResourceVersion)
		kit.WantChanges(t, view, kit.Deleted(goes), kit.Deleted(leaves), kit.Added(comes), kit.Modified(touched))
		kit.WantEventVersion(t, view, 1, left.ResourceVersion)
	})
}

func TestScenario03_ResumeAtEachPointDeliversTheSameRest(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	client := kit.NewClient(t, kit.Cluster(t))
	kit.UntilRead(ctx, t, client, "configmaps", write.Create("before", kit.Labels{"app": "web"}))
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
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	client := kit.NewClient(t, kit.Cluster(t))
	kit.UntilRead(ctx, t, client, "configmaps", write.Create("before", kit.Labels{"app": "web"}))
	request := &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, LabelSelector: "app=web"}
	stream := record.Watch(t, client, request)
	stream.Synced(ctx)
	last := writeStepByStep(ctx, t, stream, write)
	view := stream.Reaches(ctx, last)

	another := kit.NewClient(t, kit.Cluster(t))
	want := kit.ConfigMapVersions(ctx, t, namespace, "app=web")
	for _, point := range view.Points {
		resumed := kit.UntilHeld(ctx, record.ResumeElsewhere(t, another, request, point), want)
		t.Logf("resumed after %d of %d events: %d snapshots", len(point.Events), len(view.Events), resumed.Model.Resets)
	}
}

func TestResumeToken_InvalidOrForeignTokensAreRejected(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	client := kit.NewClient(t, kit.Cluster(t))
	query := func() *kubeconnectv1.WatchRequest {
		return &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace}
	}
	token := kit.LastPoint(t, record.Watch(t, client, query()).Synced(ctx)).Token
	for name, change := range map[string]func(*kubeconnectv1.WatchRequest){
		"that is modified":             func(r *kubeconnectv1.WatchRequest) { r.ResumeToken = token[:10] + "!" + token[11:] },
		"that is truncated":            func(r *kubeconnectv1.WatchRequest) { r.ResumeToken = token[:len(token)-1] },
		"with an additional character": func(r *kubeconnectv1.WatchRequest) { r.ResumeToken = token + "A" },
		"of another resource":          func(r *kubeconnectv1.WatchRequest) { r.Resource = "secrets" },
		"of another namespace":         func(r *kubeconnectv1.WatchRequest) { r.Namespace = "default" },
		"of a wider selection":         func(r *kubeconnectv1.WatchRequest) { r.Namespace = "" },
		"of another label selector":    func(r *kubeconnectv1.WatchRequest) { r.LabelSelector = "a=b" },
		"of another field selector":    func(r *kubeconnectv1.WatchRequest) { r.FieldSelector = "metadata.name=a" },
		"of another name":              func(r *kubeconnectv1.WatchRequest) { r.Name = "a" },
	} {
		t.Run(name, func(t *testing.T) {
			request := query()
			request.ResumeToken = token
			change(request)
			kit.WantError(t, kit.WatchError(ctx, client, request), connect.CodeInvalidArgument, "resume_token")
		})
	}
}

// writeStepByStep makes changes of every kind, each after the stream has delivered the previous
// one. It returns the last version.
func writeStepByStep(ctx context.Context, t *testing.T, stream *record.Stream, write kit.ConfigMaps) string {
	t.Helper()
	version := ""
	for _, step := range []func() *corev1.ConfigMap{
		func() *corev1.ConfigMap { return write.Create("one", kit.Labels{"app": "web"}) },
		func() *corev1.ConfigMap { return write.Touch("one", "touched") },
		func() *corev1.ConfigMap { return write.Touch("before", "touched") },
		func() *corev1.ConfigMap { return write.Relabel("one", map[string]any{"app": "other"}) },
		func() *corev1.ConfigMap { return write.Relabel("one", map[string]any{"app": "web"}) },
		func() *corev1.ConfigMap { write.Delete("one"); return write.Create("one", kit.Labels{"app": "web"}) },
		func() *corev1.ConfigMap { return write.Create("two", kit.Labels{"app": "web"}) },
	} {
		version = step().ResourceVersion
		stream.Reaches(ctx, version)
	}
	return version
}

// withoutRepeatedDeletion removes a deletion that directly follows itself: the last deletion of a
// stream is sent again when the stream is resumed.
func withoutRepeatedDeletion(lines []string) []string {
	return slices.CompactFunc(lines, func(a, b string) bool { return a == b && strings.HasPrefix(a, "DELETED ") })
}
