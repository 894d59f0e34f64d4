package permissions_test

import (
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// TestWatchCounts_FollowsGrantsAndRevocations changes the namespaces that a caller can read. With the
// longest interval between changes, the counts of a new scope are sent at once nevertheless.
func TestWatchCounts_FollowsGrantsAndRevocations(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), kit.StartForCallers(t)
	m := newMatrix(ctx, t)
	m.untilKnown(ctx, t, service)
	caller := kit.NewAccount(ctx, t, m.a, "counter")
	caller.GrantIn(m.a, "counter", kit.Rule("configmaps", "list", "watch"))
	clients := caller.Calling(service, harness.GRPC)
	kit.Eventually(ctx, t, "the caller has its permissions", func() error {
		_, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: m.a})
		return err
	})
	request := m.countsRequest("")
	request.MinInterval = durationpb.New(time.Minute)
	stream, err := responses.Of(clients.Resources.WatchCounts(ctx, request))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	until := func(want string) {
		t.Helper()
		for stream.Receive() {
			response := stream.Msg()
			if !response.GetReset_() {
				continue
			}
			if got := m.countsText(response.GetTotalCount(), response.GetGroups()); got != want {
				t.Errorf("the stream continues with %s, want %s", got, want)
			}
			return
		}
		t.Fatalf("the stream has ended: %v", stream.Err())
	}
	until("2 A:2")
	caller.GrantIn(m.b, "counter", kit.Rule("configmaps", "list", "watch"))
	until("3 A:2 B:1")
	caller.RevokeIn(m.a, "counter")
	until("1 B:1")
	caller.RevokeIn(m.b, "counter")
	for stream.Receive() {
		if stream.Msg().GetReset_() {
			t.Errorf("the stream continues with %v", stream.Msg())
		}
	}
	kit.WantError(t, stream.Err(), connect.CodePermissionDenied)
}
