package queries_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// futureVersion is a resource version that the cluster does not reach.
const futureVersion = "999999999999"

// TestWatch_FutureVersionEndsWithARetryTime watches a cached and an uncached resource.
func TestWatch_FutureVersionEndsWithARetryTime(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--uncached", "secrets")
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources
	for _, resource := range []string{"configmaps", "secrets"} {
		t.Run(resource, func(t *testing.T) {
			stream, err := responses.Of(client.Watch(ctx, &kubeconnectv1.WatchRequest{Resource: resource, Namespace: "default", MinResourceVersion: futureVersion}))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = stream.Close() }()
			for stream.Receive() {
				wantWaitingBookmarks(t, stream.Msg())
			}
			wantRetryTime(t, stream.Err())
		})
	}
}

// wantWaitingBookmarks fails the test unless a response only reports that the stream waits.
func wantWaitingBookmarks(t *testing.T, response *kubeconnectv1.WatchResponse) {
	t.Helper()
	for _, event := range response.GetEvents() {
		if event.GetType() != kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK || event.GetResourceVersion() != "" {
			t.Errorf("event %v before the version is reached", event)
		}
	}
	if response.GetResumeToken() != "" {
		t.Errorf("token %q before the version is reached", response.GetResumeToken())
	}
}

func wantRetryTime(t *testing.T, err error) {
	t.Helper()
	kit.WantError(t, err, connect.CodeDeadlineExceeded, futureVersion)
	if status := kit.WantStatus(t, err, "Timeout"); status.GetRetryAfterSeconds() <= 0 {
		t.Errorf("no retry time in %v", status)
	}
}

// TestWatchMany_FutureVersionOfOneWatchEndsTheStream expects the snapshot of the other watch before.
func TestWatchMany_FutureVersionOfOneWatchEndsTheStream(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	stream, err := responses.Of(client.WatchMany(ctx, &kubeconnectv1.WatchManyRequest{Watches: []*kubeconnectv1.WatchSpec{
		{Resource: "configmaps", Namespace: "default"},
		{Resource: "pods", Namespace: "default", MinResourceVersion: futureVersion},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	synced := false
	for stream.Receive() {
		if stream.Msg().GetWatchIndex() == 1 {
			wantWaitingBookmarks(t, stream.Msg().GetResponse())
		}
		for _, event := range stream.Msg().GetResponse().GetEvents() {
			synced = synced || event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED
		}
	}
	wantRetryTime(t, stream.Err())
	kit.WantWords(t, stream.Err().Error(), "watch 1 (pods): ")
	if message := kit.StatusIn(stream.Err()).GetMessage(); !synced || strings.Contains(message, "watch 1") {
		t.Errorf("the first watch is synced: %v; message of the status: %q", synced, message)
	}
}

// TestLatest_DoesNotWaitForAVersion reads at the API server, which has no version to wait for.
func TestLatest_DoesNotWaitForAVersion(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.CreateUnscheduledPod(ctx, t, namespace, "one")
	get := &kubeconnectv1.GetRequest{Resource: "pods", Namespace: namespace, Name: "one", MinResourceVersion: futureVersion, Consistency: kit.Latest}
	if _, err := client.Get(ctx, get); err != nil {
		t.Error(err)
	}
	get.Consistency, get.Subresource = 0, "status"
	if _, err := client.Get(ctx, get); err != nil {
		t.Error(err)
	}
	list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: namespace, MinResourceVersion: futureVersion, Consistency: kit.Latest})
	if err != nil || len(list.GetObjects()) != 1 {
		t.Errorf("%d objects, %v", len(list.GetObjects()), err)
	}
	count, err := client.Count(ctx, &kubeconnectv1.CountRequest{Resource: "pods", Namespace: namespace, MinResourceVersion: futureVersion, Consistency: kit.Latest})
	if err != nil || count.GetTotalCount() != 1 {
		t.Errorf("%d pods, %v", count.GetTotalCount(), err)
	}
}
