package faults_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// WatchResponse.kind: "Set in the first response of a stream", which is a BOOKMARK without a version
// where the stream waits for the first snapshot.
func TestChecked_FirstResponseOfAPendingStreamHasAKind(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	client, link := kit.NewClientBehindProxy(t, kit.Cluster(t), harness.None)
	if _, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace}); err != nil {
		t.Fatal(err)
	}
	link.Set(harness.Frozen)
	response, err := kit.FirstOf(ctx, client, &kubeconnectv1.WatchRequest{Resource: "pods", Namespace: namespace})
	if err != nil || response.GetResource().GetKind() != "Pod" || response.GetSource() == 0 {
		t.Errorf("the first response is %v, %v", response, err)
	}
}

// One watch of several waits: the others send as if they were alone.
func TestChecked_WatchesDoNotWaitForAPendingOne(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.DeadlineAfter(t, 2*kit.WaitTimeout)
	s := kit.NewPodSet(ctx, t, 2)
	client, link := kit.NewClientBehindProxy(t, kit.Cluster(t), harness.None)
	record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: s.Namespace}).Synced(ctx)
	link.Set(harness.Frozen)
	began := time.Now()
	record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: s.Namespace}).Synced(ctx)
	t.Logf("alone the watch has its snapshot after %v", time.Since(began))
	stream, err := responses.Of(client.WatchMany(ctx, &kubeconnectv1.WatchManyRequest{Watches: []*kubeconnectv1.WatchSpec{
		{Resource: "configmaps", Namespace: s.Namespace}, {Resource: "pods", Namespace: s.Namespace},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	synced, waits, token := false, 0, ""
	for stream.Receive() {
		response := stream.Msg()
		token = response.GetResumeToken()
		t.Logf("after %v: watch %d, %d events, token %q", time.Since(began), response.GetWatchIndex(), len(response.GetResponse().GetEvents()), token)
		if response.GetResponse().GetResumeToken() != "" {
			t.Errorf("a response within has the token %q", response.GetResponse().GetResumeToken())
		}
		for _, event := range response.GetResponse().GetEvents() {
			switch {
			case response.GetWatchIndex() == 0 && event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED:
				synced = true
			case response.GetWatchIndex() == 1 && event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK && event.GetResourceVersion() == "":
				waits++
			case response.GetWatchIndex() == 1:
				t.Errorf("the watch that waits says %v", event)
			}
		}
	}
	err = stream.Err()
	t.Logf("%v with status %v", err, kit.StatusIn(err))
	kit.WantError(t, err, connect.CodeUnavailable, "1")
	if !synced || waits == 0 || token == "" {
		t.Errorf("synced: %t, %d bookmarks of the watch that waits, token %q", synced, waits, token)
	}
	link.Set(harness.None)
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	again, err := responses.Of(client.WatchMany(watching, &kubeconnectv1.WatchManyRequest{ResumeToken: token, Watches: []*kubeconnectv1.WatchSpec{
		{Resource: "configmaps", Namespace: s.Namespace}, {Resource: "pods", Namespace: s.Namespace},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	resets := map[int32]int{}
	done := false
	for !done && again.Receive() {
		for _, event := range again.Msg().GetResponse().GetEvents() {
			if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_RESET {
				resets[again.Msg().GetWatchIndex()]++
			}
			done = done || again.Msg().GetWatchIndex() == 1 && event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED
		}
	}
	if !maps.Equal(resets, map[int32]int{1: 1}) {
		t.Errorf("after the wait the watches have begun %v: %v", resets, again.Err())
	}
	cancel()
	_ = again.Close()
}

// "or when the call's own deadline is near, DEADLINE_EXCEEDED with retry_after_seconds."
func TestChecked_FutureVersionIsRejectedBeforeTheDeadline(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	s := kit.NewPodSet(ctx, t, 2)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for _, protocol := range []harness.Protocol{harness.GRPC, harness.Connect} {
		client := harness.Dial(harness.HTTP2(t), service.Address, protocol).Resources
		if _, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace}); err != nil {
			t.Fatal(err)
		}
		for _, within := range []time.Duration{time.Second, 3 * time.Second} {
			for name, call := range callsForTheFuture(t, client, s.Namespace) {
				// On a busy machine the client can reach its deadline before the response arrives.
				kit.Eventually(ctx, t, fmt.Sprintf("%s, %s within %v is rejected", protocol.Name, name, within), func() error {
					calling, cancel := context.WithTimeout(ctx, within)
					defer cancel()
					err := call(calling)
					if connect.CodeOf(err) != connect.CodeDeadlineExceeded || kit.StatusIn(err).GetRetryAfterSeconds() <= 0 {
						return fmt.Errorf("%w with status %v", err, kit.StatusIn(err))
					}
					return nil
				})
			}
		}
	}
}

// A waiting for a version is none for the first snapshot: a BOOKMARK without a version "says that the
// stream waits for the service's first snapshot of the resource", and stale that the API server is lost.
func TestChecked_StreamThatWaitsForAVersionIsNotStale(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	s := kit.NewPodSet(ctx, t, 2)
	client := kit.NewReplicas(t, kit.Cluster(t), 1)[0]
	list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, MinResourceVersion: s.Last})
	if err != nil || list.GetFreshness().GetStale() {
		t.Fatalf("%v, %v", list.GetFreshness(), err)
	}
	response, err := kit.FirstOf(ctx, client, &kubeconnectv1.WatchRequest{Resource: "pods", Namespace: s.Namespace, MinResourceVersion: "900000000000"})
	if err == nil && (response.GetFreshness().GetStale() || response.GetFreshness().GetLastContactTime() == nil) {
		t.Errorf("a stream of what is in memory and current says %v", response)
	}
}
