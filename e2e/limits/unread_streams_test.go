package limits_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// unreadStreams is a number of streams that are not read, over some connections, and a bound of the
// growth of the service's memory.
type unreadStreams struct {
	streams, connections int
	secrets              int // number of Secrets of unreadSize bytes in the snapshot
	growth               int
}

// An unread stream needs 82 KiB, and the data that one caller's streams are sending 8 MiB. With 300
// streams that is 32 MiB, and with 1,000 streams 88 MiB. The rest is garbage on a busy machine.
var (
	someUnread = unreadStreams{streams: 300, connections: 6, secrets: 3_000, growth: 64 << 20}
	manyUnread = unreadStreams{streams: 1_000, connections: 10, secrets: 12_500, growth: 100 << 20}
)

// unreadLasts is the duration of the observation of memory: longer than a stream may be blocked.
const unreadLasts = 35 * time.Second

// TestStreams_NeedLittleMemoryWhenUnread opens streams of a large snapshot and reads nothing,
// while another stream of the same caller is read.
func TestStreams_NeedLittleMemoryWhenUnread(t *testing.T) {
	unread := someUnread
	if _, soaking := kit.SoakFor(t); soaking {
		unread = manyUnread
	} else {
		t.Parallel()
	}
	ctx := kit.DeadlineAfter(t, kit.CrowdPatience)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	createSecrets(ctx, t, namespace, unread.secrets)
	var holding sync.WaitGroup // each part waits for most of its time: they run side by side, at services of their own
	defer holding.Wait()
	for name, request := range map[string]*kubeconnectv1.WatchRequest{
		"complete objects":    {},
		"some fields":         {Fields: []string{"metadata", "data"}},
		"objects in protobuf": {Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF},
	} {
		request.Resource, request.Namespace = "secrets", namespace
		holding.Go(func() {
			t.Run(name, func(t *testing.T) {
				unread.hold(ctx, t, "Watch", request, func(client kit.ResourceClient) error { return readToSynced(ctx, client, request) })
			})
		})
	}
	counts := &kubeconnectv1.WatchCountsRequest{
		Resource: "secrets", Namespace: namespace, GroupBy: []string{"metadata.name", "metadata.uid"},
		Filter: "object.metadata.name < 'unread-00250'", // so that many streams wait only for a short time
	}
	for _, path := range []string{"metadata.creationTimestamp", "metadata.name", "metadata.uid", "metadata.resourceVersion"} {
		counts.Aggregates = append(counts.Aggregates, &kubeconnectv1.Aggregate{Function: kubeconnectv1.AggregateFunction_AGGREGATE_FUNCTION_MAX, Path: path})
	}
	t.Run("counts", func(t *testing.T) {
		unread.hold(ctx, t, "WatchCounts", counts, func(client kit.ResourceClient) error { return readCounts(ctx, client, counts) })
	})
}

// hold opens streams of a method and reads nothing, while read reads another one.
func (unread unreadStreams) hold(ctx context.Context, t *testing.T, method string, request proto.Message, read func(kit.ResourceClient) error) {
	service := harness.StartEagerService(t, kit.Cluster(t).Kubeconfig)
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.GRPC).Resources
	for range 2 { // the memory for one reader does not count
		kit.Eventually(ctx, t, "the stream is read", func() error { return read(client) }) // on a busy machine not in time at first
	}
	before := kit.ResidentMemory(t, service.PID())
	ctx, leave := context.WithCancel(ctx)
	var opening sync.WaitGroup
	defer opening.Wait()
	defer leave()
	for range unread.connections {
		client := unreadClient(t)
		for range unread.streams / unread.connections {
			opening.Go(func() { _ = openAndLeave(client, unreadRequest(ctx, t, service, method, request, "")) })
		}
	}
	most := 0
	for began := time.Now(); time.Since(began) < unreadLasts; time.Sleep(time.Second) {
		most = max(most, kit.ResidentMemory(t, service.PID())-before)
	}
	if err := read(client); err != nil {
		t.Errorf("the stream that is read: %v", err)
	}
	t.Logf("%d streams: %d MiB before, up to %d MiB more", unread.streams, before>>20, most>>20)
	if most > unread.growth {
		t.Errorf("memory grows by %d MiB, want at most %d", most>>20, unread.growth>>20)
	}
}

// openAndLeave opens a stream and does not read it until the request's context ends.
func openAndLeave(client *http.Client, request *http.Request) error {
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	<-request.Context().Done()
	return response.Body.Close()
}

// readToSynced reads a complete snapshot.
func readToSynced(ctx context.Context, client kit.ResourceClient, request *kubeconnectv1.WatchRequest) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	stream, err := responses.Of(client.Watch(ctx, proto.CloneOf(request)))
	if err != nil {
		return err
	}
	defer stream.Close()
	for stream.Receive() {
		for _, event := range stream.Msg().GetEvents() {
			if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED {
				return nil
			}
		}
	}
	return stream.Err()
}

// readCounts reads the first counts.
func readCounts(ctx context.Context, client kit.ResourceClient, request *kubeconnectv1.WatchCountsRequest) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	stream, err := responses.Of(client.WatchCounts(ctx, proto.CloneOf(request)))
	if err != nil {
		return err
	}
	defer stream.Close()
	for stream.Receive() {
		if stream.Msg().GetReset_() {
			return nil
		}
	}
	return stream.Err()
}
