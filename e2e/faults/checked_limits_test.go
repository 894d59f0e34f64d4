package faults_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// "RESOURCE_EXHAUSTED (a limit; wait for retry_after_seconds)"; "each watch of a WatchMany counts".
func TestChecked_StreamsAboveTheLimitGetARetryTime(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	client := kit.NewReplicas(t, kit.Cluster(t), 1, "--caller-max-streams", "3")[0]
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	one := &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace}
	many := func(count int) *kubeconnectv1.WatchManyRequest {
		return &kubeconnectv1.WatchManyRequest{Watches: slices.Repeat(harness.WatchSpecs(one), count)}
	}
	open := func(request *kubeconnectv1.WatchManyRequest) (stop func(), err error) {
		ctx, cancel := context.WithCancel(ctx)
		stream, err := responses.Of(client.WatchMany(ctx, request))
		if err != nil {
			cancel()
			return nil, err
		}
		if !stream.Receive() {
			cancel()
			return nil, stream.Err()
		}
		return func() { cancel(); _ = stream.Close() }, nil
	}
	refusedLater := func(what string, err error) {
		t.Helper()
		if connect.CodeOf(err) != connect.CodeResourceExhausted || kit.StatusIn(err).GetRetryAfterSeconds() <= 0 {
			t.Errorf("%s: %v with status %v, want RESOURCE_EXHAUSTED with a time to come back", what, err, kit.StatusIn(err))
		}
	}
	stopTwo, err := open(many(2))
	if err != nil {
		t.Fatal(err)
	}
	_, err = open(many(2))
	refusedLater("two in addition to two of three", err)
	stopOne, err := open(many(1))
	if err != nil {
		t.Fatal(err)
	}
	_, err = kit.FirstOf(ctx, client, one)
	refusedLater("a fourth", err)
	if _, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace}); err != nil {
		t.Errorf("a list in addition to all streams: %v", err)
	}
	stopTwo()
	kit.Eventually(ctx, t, "two are free again", func() error {
		stop, err := open(many(2))
		if err == nil {
			stop()
		}
		return err
	})
	stopOne()
	_, err = open(many(4))
	t.Logf("four of three: %v with status %v", err, kit.StatusIn(err))
	kit.WantError(t, err, connect.CodeInvalidArgument) // it can never be allowed
	for count, want := range map[int]connect.Code{0: connect.CodeInvalidArgument, 101: connect.CodeInvalidArgument} {
		_, err := open(many(count))
		kit.WantError(t, err, want)
	}
	for range 10 { // those that were refused are not counted
		_, err = open(many(101))
		kit.WantError(t, err, connect.CodeInvalidArgument)
	}
	kit.Eventually(ctx, t, "three are free", func() error {
		stop, err := open(many(3))
		if err == nil {
			stop()
		}
		return err
	})
}

// "500 calls each second in the long run, and 2,000 at once": refused with a time, and served when
// that has passed. A page that is refused so can be read again with the same token.
func TestChecked_CallsAboveTheRateAreServedAfterTheirRetryTime(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	s := kit.NewPodSet(ctx, t, 6)
	for _, protocol := range []harness.Protocol{harness.GRPC, harness.Connect, harness.ConnectJSON} {
		service := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--caller-request-rate", "1", "--caller-request-burst", "2")
		client := harness.Dial(harness.HTTP2(t), service.Address, protocol).Resources
		request := &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=web", PageSize: 1}
		var names []string
		refused := 0
		for len(names) < 6 {
			page, err := client.List(ctx, request)
			if err == nil {
				names = append(names, kit.NamesOf(page.GetObjects())...)
				request.PageToken = page.GetNextPageToken()
				continue
			}
			refused++
			wait := kit.StatusIn(err).GetRetryAfterSeconds()
			if connect.CodeOf(err) != connect.CodeResourceExhausted || wait <= 0 || wait > 10 {
				t.Fatalf("%s: %v with status %v", protocol.Name, err, kit.StatusIn(err))
			}
			time.Sleep(time.Duration(wait) * time.Second)
		}
		if refused == 0 || refused > 6 || !slices.Equal(names, []string{"p-00", "p-01", "p-02", "p-03", "p-04", "p-05"}) {
			t.Errorf("%s: %d refusals, %v", protocol.Name, refused, names)
		}
	}
}
