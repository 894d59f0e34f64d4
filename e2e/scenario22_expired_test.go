package e2e_test

import (
	"context"
	"testing"
	"time"

	"connectrpc.com/connect"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// credentialLife is the lifetime of a credential that must expire during a test: long enough to
// open a stream with it on a busy machine.
const credentialLife = 30 * time.Second

// TestScenario22_StreamEndsWithItsTokenAndResumes lets a caller's token expire while it
// watches.
func TestScenario22_StreamEndsWithItsTokenAndResumes(t *testing.T) {
	t.Parallel()
	service := startForCallers(t)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			ctx := deadline(t)
			namespace := newNamespace(ctx, t, cluster(t))
			caller := newAccount(ctx, t, namespace, "reader")
			caller.grantIn(namespace, "reader", rule("configmaps", "list", "watch"))
			outliveTheCredential(ctx, t, namespace, func(expires time.Time) resourceClient {
				return callingWith(t, service, protocol, caller.expiringToken(expires)).Resources
			})
		})
	}
}

// outliveTheCredential watches until the caller's credential expires, and resumes with a new one.
func outliveTheCredential(ctx context.Context, t *testing.T, namespace string, callingUntil func(time.Time) resourceClient) {
	t.Helper()
	write := configMapsIn(ctx, t, cluster(t), namespace)
	write.create("one", nil)
	renewed := callingUntil(time.Now().Add(time.Hour))
	eventually(ctx, t, "the caller has permission to list", func() error { return callsOn(renewed, namespace)["List"](ctx) })

	client := callingUntil(time.Now().Add(credentialLife))
	if err := callsOn(client, namespace)["List"](ctx); err != nil {
		t.Fatal(err)
	}
	request := &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace}
	stream := record.Watch(t, client, request)
	stream.Synced(ctx)
	seen := write.touch("one", "seen")
	stream.Reaches(ctx, seen.ResourceVersion)

	wantError(t, stream.End(ctx), connect.CodeUnauthenticated, "the credential has expired")
	wantExpired(ctx, t, client, namespace, "expired")
	view := stream.Now()
	point := lastPoint(t, view)
	if missing := len(view.Events) - len(point.Events); missing != 0 {
		t.Errorf("the last resume token is %d events older than the stream", missing)
	}
	write.delete("one")
	comes := write.create("comes", nil)
	touched := write.touch("comes", "touched")
	resumed := record.Resume(t, renewed, request, point).Reaches(ctx, touched.ResourceVersion)
	wantChanges(t, resumed, modified(seen), deleted(seen), added(comes), modified(touched))
	if resumed.Model.Resets != view.Model.Resets {
		t.Error("the stream was reset after a resume with a new credential")
	}
}

func TestScenario22_ExpiredTokenIsRejected(t *testing.T) {
	t.Parallel()
	ctx, service := deadline(t), startForCallers(t)
	namespace := newNamespace(ctx, t, cluster(t))
	caller := newAccount(ctx, t, namespace, "reader")
	for when, expired := range map[string]time.Duration{
		"a moment ago, when the cluster would still accept it": time.Second,
		"an hour ago": time.Hour,
	} {
		token := caller.expiringToken(time.Now().Add(-expired))
		for _, protocol := range harness.Protocols {
			t.Run(when+" by "+protocol.Name, func(t *testing.T) {
				wantExpired(ctx, t, callingWith(t, service, protocol, token).Resources, namespace, "the credential has expired: call again with a new one")
			})
		}
	}
}

// wantExpired fails the test unless every kind of call is rejected because its credential has
// expired.
func wantExpired(ctx context.Context, t *testing.T, client resourceClient, namespace, words string) {
	t.Helper()
	for name, call := range callsOn(client, namespace) {
		t.Run(name, func(t *testing.T) {
			wantError(t, call(ctx), connect.CodeUnauthenticated, words)
		})
	}
}
