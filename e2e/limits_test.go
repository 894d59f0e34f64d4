package e2e_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// stormOf is how many streams one caller opens at once: as many as it may by default.
const stormOf = 2000

// defaultLimits are those of a service that tells callers apart.
var defaultLimits = []string{"--caller-max-streams", "2000", "--caller-request-rate", "500", "--caller-request-burst", "2000"}

func TestAStormOfStreamsIsServedAndTheNextOneByTurns(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	service := harness.StartService(t, cluster(t).Kubeconfig, defaultLimits...)
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.GRPC).Resources
	if err := openAndCancel(ctx, client, stormOf); err != nil {
		t.Fatalf("as many streams as a caller may have are refused: %v", err)
	}
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for range stormOf {
		group.Go(func() error {
			return asTold(ctx, func() error { return untilSynced(ctx, watching, client) })
		})
	}
	if err := group.Wait(); err != nil {
		t.Errorf("not all came back: %v", err)
	}
}

func TestACallerOverItsStreamsIsRefusedUntilOneEnds(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, cluster(t).Kubeconfig, "--caller-max-streams", "3")
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			ctx, client := deadline(t), harness.Dial(harness.HTTP2(t), service.Address, protocol).Resources
			watching, cancel := context.WithCancel(ctx)
			defer cancel()
			for range 3 {
				if err := asTold(ctx, func() error { return untilSynced(ctx, watching, client) }); err != nil {
					t.Fatal(err)
				}
			}
			err := untilSynced(ctx, watching, client)
			wantError(t, err, connect.CodeResourceExhausted, "3 streams")
			if wantStatus(t, err, "TooManyRequests").GetRetryAfterSeconds() < 1 {
				t.Error("it does not say when to call again")
			}
			if _, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "namespaces", Name: "default"}); err != nil {
				t.Errorf("a call that is no stream is refused: %v", err)
			}
			cancel()
			if err := asTold(ctx, func() error { return untilSynced(ctx, ctx, client) }); err != nil {
				t.Errorf("after the others have ended: %v", err)
			}
		})
	}
}

// asTold makes a call again, as often as it is over a limit, when it is told to.
func asTold(ctx context.Context, call func() error) error {
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

// retryAfter is what an error says of the time to call again; 0 if nothing.
func retryAfter(err error) time.Duration {
	var failure *connect.Error
	if !errors.As(err, &failure) || failure.Code() != connect.CodeResourceExhausted {
		return 0
	}
	for _, detail := range failure.Details() {
		if value, err := detail.Value(); err == nil {
			return time.Duration(value.(*kubeconnectv1.Status).GetRetryAfterSeconds()) * time.Second
		}
	}
	return 0
}
