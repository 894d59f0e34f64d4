package limits_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectproto"
	"golang.org/x/sync/errgroup"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// stormOf is the number of streams that one caller opens at once: the default limit.
const stormOf = 2000

// defaultLimits are the default limits of a service that authenticates callers.
var defaultLimits = []string{"--caller-max-streams", "2000", "--caller-request-rate", "500", "--caller-request-burst", "2000"}

func TestLimits_StormOfStreamsIsReopenedWithRetries(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig, defaultLimits...)
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.GRPC).Resources
	if err := kit.OpenAndCancel(ctx, client, stormOf); err != nil {
		t.Fatalf("streams within the limit are rejected: %v", err)
	}
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for range stormOf {
		group.Go(func() error {
			return withRetries(ctx, func() error { return kit.UntilSynced(ctx, watching, client) })
		})
	}
	if err := group.Wait(); err != nil {
		t.Errorf("not all streams were reopened: %v", err)
	}
}

func TestLimits_StreamsAreRejectedUntilOthersEnd(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--caller-max-streams", "3")
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			ctx, client := kit.Deadline(t), harness.Dial(harness.HTTP2(t), service.Address, protocol).Resources
			watching, cancel := context.WithCancel(ctx)
			defer cancel()
			for range 3 {
				if err := withRetries(ctx, func() error { return kit.UntilSynced(ctx, watching, client) }); err != nil {
					t.Fatal(err)
				}
			}
			err := kit.UntilSynced(ctx, watching, client)
			kit.WantError(t, err, connect.CodeResourceExhausted, "3 streams")
			if kit.WantStatus(t, err, "TooManyRequests").GetRetryAfterSeconds() < 1 {
				t.Error("the error has no retry delay")
			}
			if _, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "namespaces", Name: "default"}); err != nil {
				t.Errorf("a unary call is rejected: %v", err)
			}
			cancel()
			if err := withRetries(ctx, func() error { return kit.UntilSynced(ctx, ctx, client) }); err != nil {
				t.Errorf("after the other streams ended: %v", err)
			}
		})
	}
}

// withRetries repeats a call that is over a limit, after the retry delay of the error.
func withRetries(ctx context.Context, call func() error) error {
	for {
		err := call()
		wait := retryAfter(err)
		if wait == 0 {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// retryAfter returns the retry delay of an error; 0 if it has none.
func retryAfter(err error) time.Duration {
	var failure *connect.Error
	if !errors.As(err, &failure) || failure.Code() != connect.CodeResourceExhausted {
		return 0
	}
	for _, detail := range failure.Details() {
		if value, err := connectproto.UnmarshalErrorDetail(detail); err == nil {
			return time.Duration(value.(*kubeconnectv1.Status).GetRetryAfterSeconds()) * time.Second
		}
	}
	return 0
}
