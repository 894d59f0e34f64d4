package kit

import (
	"context"
	"testing"
	"time"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// CredentialLife is the lifetime of a credential that must expire during a test: long enough to
// open a stream with it on a busy machine.
const CredentialLife = 30 * time.Second

// OutliveCredential watches until the caller's credential expires, and resumes with a new one.
func OutliveCredential(ctx context.Context, t *testing.T, namespace string, callingUntil func(time.Time) ResourceClient) {
	t.Helper()
	write := ConfigMapsIn(ctx, t, Cluster(t), namespace)
	write.Create("one", nil)
	renewed := callingUntil(time.Now().Add(time.Hour))
	Eventually(ctx, t, "the caller has permission to list", func() error { return UncachedCalls(renewed, namespace)["List"](ctx) })

	client := callingUntil(time.Now().Add(CredentialLife))
	if err := UncachedCalls(client, namespace)["List"](ctx); err != nil {
		t.Fatal(err)
	}
	request := &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace}
	stream := record.Watch(t, client, request)
	stream.Synced(ctx)
	seen := write.Touch("one", "seen")
	stream.Reaches(ctx, seen.ResourceVersion)

	WantError(t, stream.End(ctx), connect.CodeUnauthenticated, "the credential has expired")
	WantExpired(ctx, t, client, namespace, "expired")
	view := stream.Now()
	point := LastPoint(t, view)
	if missing := len(view.Events) - len(point.Events); missing != 0 {
		t.Errorf("the last resume token is %d events older than the stream", missing)
	}
	write.Delete("one")
	comes := write.Create("comes", nil)
	touched := write.Touch("comes", "touched")
	resumed := record.Resume(t, renewed, request, point).Reaches(ctx, touched.ResourceVersion)
	WantChanges(t, resumed, Modified(seen), Deleted(seen), Added(comes), Modified(touched))
	if resumed.Model.Resets != view.Model.Resets {
		t.Error("the stream was reset after a resume with a new credential")
	}
}

// WantExpired fails the test unless every kind of call is rejected because its credential has
// expired.
func WantExpired(ctx context.Context, t *testing.T, client ResourceClient, namespace, words string) {
	t.Helper()
	for name, call := range UncachedCalls(client, namespace) {
		t.Run(name, func(t *testing.T) {
			WantError(t, call(ctx), connect.CodeUnauthenticated, words)
		})
	}
}
