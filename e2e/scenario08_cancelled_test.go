package e2e_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

const (
	// streamsAtOnce is how many watches there are at a time, on one connection: as
	// many as the service takes there, or nearly so.
	streamsAtOnce = 200
	// cancelRounds is how often they are all cancelled and opened again. Were a
	// cancelled watch to keep its place until its next bookmark, there would be no
	// time for so many.
	cancelRounds = 25
	// cancelWarmUp is after how many rounds memory must not grow any more, but by
	// cancelGrowth, which is less than all the cancelled streams would need.
	cancelWarmUp = 5
	cancelGrowth = 64 << 20
)

func TestScenario08_ACancelledCallFreesItsStreamAtOnce(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	service := harness.StartService(t, cluster(t).Kubeconfig)
	client := harness.Dial(oneConnection(t), service.Address, harness.GRPC).Resources
	var memory []validate.Sample
	for range cancelRounds {
		if err := openAndCancel(ctx, client, streamsAtOnce); err != nil {
			t.Fatal(err)
		}
		memory = append(memory, validate.Sample{At: time.Now(), Bytes: residentMemory(t, service.PID())})
	}
	for _, violation := range validate.Memory("callers that have gone", memory[cancelWarmUp:], cancelGrowth) {
		t.Error(violation)
	}
	t.Logf("memory: %d MiB at first, %d MiB in the end", memory[0].Bytes>>20, memory[len(memory)-1].Bytes>>20)
}

// oneConnection is an HTTP client that waits for a free stream on its connection
// instead of opening another one.
func oneConnection(t *testing.T) *http.Client {
	client := harness.HTTP2(t)
	client.Transport.(*http.Transport).HTTP2 = &http.HTTP2Config{StrictMaxConcurrentRequests: true}
	return client
}

// openAndCancel opens so many watches, waits until each has its snapshot, and cancels
// them all.
func openAndCancel(ctx context.Context, client resourceClient, count int) error {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for range count {
		group.Go(func() error { return untilSynced(ctx, watching, client) })
	}
	return group.Wait()
}

// untilSynced opens a watch that goes on until watching ends. It is of one object: a
// snapshot that is sent thousands of times must not grow with what else there is in the
// cluster.
func untilSynced(ctx, watching context.Context, client resourceClient) error {
	stream, err := client.Watch(watching, &kubeconnectv1.WatchRequest{Resource: "namespaces", Name: "default"})
	if err != nil {
		return err
	}
	context.AfterFunc(watching, func() { _ = stream.Close() })
	for stream.Receive() {
		for _, event := range stream.Msg().GetEvents() {
			if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED {
				return nil
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return stream.Err()
}
