package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

const (
	// goodPace is the interval between the calls of the good caller.
	goodPace = 40 * time.Millisecond
	// goodTimeout bounds how long it waits for a response.
	goodTimeout = 20 * time.Second
)

// served is what the good caller got for some time.
type served struct {
	took   []time.Duration // of the calls that succeeded, or that timed out
	failed int
}

// goodCalls are the calls of the good caller, in turn.
var goodCalls = []func(context.Context, harness.Clients) error{
	func(ctx context.Context, clients harness.Clients) error {
		_, err := clients.Access.WhoAmI(ctx, &kubeconnectv1.WhoAmIRequest{})
		return err
	},
	func(ctx context.Context, clients harness.Clients) error {
		_, err := clients.Resources.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: goodNamespace, Name: "good-000"})
		return err
	},
	func(ctx context.Context, clients harness.Clients) error {
		_, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: goodNamespace})
		return err
	},
	func(ctx context.Context, clients harness.Clients) error {
		_, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: goodNamespace, OrderBy: "data.order desc"})
		return err
	},
}

// callUntil calls at the pace, whether or not earlier calls have returned, until the channel is closed. It
// returns when the last call has returned.
func callUntil(ctx context.Context, clients harness.Clients, done <-chan struct{}) (s served) {
	ticks := time.NewTicker(goodPace)
	defer ticks.Stop()
	var calling sync.WaitGroup
	var mu sync.Mutex // guards s
	defer calling.Wait()
	for number := 0; ; number++ {
		calling.Go(func() {
			began := time.Now()
			ctx, cancel := context.WithTimeout(ctx, goodTimeout)
			defer cancel()
			err := goodCalls[number%len(goodCalls)](ctx, clients)
			mu.Lock()
			defer mu.Unlock()
			s.took = append(s.took, time.Since(began))
			if err != nil {
				s.failed++
			}
		})
		select {
		case <-ticks.C:
		case <-done:
			calling.Wait()
			return s
		case <-ctx.Done():
			return s
		}
	}
}

// percentile returns the duration within which a percentage of the calls has returned.
func (s served) percentile(percent int) time.Duration {
	if len(s.took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s.took))
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)]
}

func (s served) String() string {
	text := fmt.Sprintf("%s / %s", milliseconds(s.percentile(50)), milliseconds(s.percentile(99)))
	if s.failed > 0 {
		text += fmt.Sprintf(" (%d of %d failed)", s.failed, len(s.took))
	}
	return text
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond))
}
