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
	// streamsAtOnce is the number of concurrent watches on one connection: the service's limit, or
	// close to it.
	streamsAtOnce = 200
	// cancelRounds is the number of times that all of them are cancelled and opened again. If a
	// cancelled watch kept its stream until its next bookmark, the time would not suffice for so
	// many rounds.
	cancelRounds = 25
	// cancelWarmUp is the number of rounds after which memory must not grow by more than
	// cancelGrowth, which is less than all the cancelled streams would need.
	cancelWarmUp = 5
	cancelGrowth = 64 << 20
)

func TestScenario08_CancelledCallsReleaseTheirStreams(t *testing.T) {
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
	for _, violation := range validate.Memory("cancelled clients", memory[cancelWarmUp:], cancelGrowth) {
		t.Error(violation)
	}
	t.Logf("memory: %d MiB at first, %d MiB in the end", memory[0].Bytes>>20, memory[len(memory)-1].Bytes>>20)
}

// oneConnection returns an HTTP client that waits for a free stream on its connection instead of
// opening another connection.
func oneConnection(t *testing.T) *http.Client {
	client := harness.HTTP2(t)
	client.Transport.(*http.Transport).HTTP2 = &http.HTTP2Config{StrictMaxConcurrentRequests: true}
	return client
}

// openAndCancel opens count watches, waits until each has its snapshot, and cancels all of them.
func openAndCancel(ctx context.Context, client resourceClient, count int) error {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for range count {
		group.Go(func() error { return untilSynced(ctx, watching, client) })
	}
	return group.Wait()
}

// untilSynced opens a watch that lasts until watching is done, and blocks until it has its
// snapshot. It selects one object, because a snapshot that is sent thousands of times must not grow
// with the number of other objects.
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
