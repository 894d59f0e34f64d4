package e2e_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

func TestScenario28_StreamsSurviveLinkFaults(t *testing.T) {
	t.Parallel()
	for name, strike := range map[string]func(context.Context, *testing.T, *harness.Proxy) []validate.Outage{
		"it is reset repeatedly": func(ctx context.Context, _ *testing.T, link *harness.Proxy) []validate.Outage {
			for until := time.Now().Add(faultLasts); time.Now().Before(until); {
				link.Cut()
				last(ctx, faultLasts/10)
			}
			return nil
		},
		"it is half-open": func(ctx context.Context, _ *testing.T, link *harness.Proxy) []validate.Outage {
			return fail(ctx, link, harness.Frozen)
		},
		"it is refused": func(ctx context.Context, _ *testing.T, link *harness.Proxy) []validate.Outage {
			return fail(ctx, link, harness.Refused)
		},
		"it is slow": func(ctx context.Context, _ *testing.T, link *harness.Proxy) []validate.Outage {
			fail(ctx, link, harness.Slow)
			return nil // the API server is reachable
		},
		"its frames are truncated": func(ctx context.Context, _ *testing.T, link *harness.Proxy) []validate.Outage {
			fail(ctx, link, harness.Torn)
			return nil // the API server is reachable from time to time
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := deadlineAfter(t, time.Duration(rounds(t))*faultPatience)
			link := harness.StartProxy(t, cluster(t).Address(), harness.None)
			service := harness.StartService(t, harness.KubeconfigTo(t, cluster(t).Kubeconfig, link.Address()))
			group := newTrafficGroup(ctx, t, newTestbed(ctx, t, cluster(t)), newSeed(t), callersOf(t, service)...)
			group.atWork(ctx, busy)
			var outages []validate.Outage
			for range rounds(t) {
				outages = append(outages, strike(ctx, t, link)...)
				group.atWork(ctx, busy)
			}
			t.Log(group.finish(ctx, validate.Evidence{Outages: outages}))
		})
	}
}

// fail sets a fault of a link for a while.
func fail(ctx context.Context, link *harness.Proxy, fault harness.Fault) []validate.Outage {
	link.Set(fault)
	from := time.Now()
	last(ctx, faultLasts)
	to := time.Now()
	link.Set(harness.None)
	return []validate.Outage{{From: from, To: to, Unnoticed: unnoticed}}
}

// Clients move from a service with a bad link to one with a good link and back. A token of the good
// one may be newer than the state of the bad one.
func TestScenario28_ClientsMoveBetweenGoodAndBadReplicas(t *testing.T) {
	t.Parallel()
	ctx := deadlineAfter(t, time.Duration(rounds(t))*faultPatience)
	link := harness.StartProxy(t, cluster(t).Address(), harness.None)
	bad := harness.StartService(t, harness.KubeconfigTo(t, cluster(t).Kubeconfig, link.Address()))
	good := harness.StartService(t, cluster(t).Kubeconfig)
	group := newTrafficGroup(ctx, t, newTestbed(ctx, t, cluster(t)), newSeed(t), callersOf(t, bad, good)...)
	group.atWork(ctx, busy)
	for _, fault := range slices.Repeat([]harness.Fault{harness.Refused, harness.Torn, harness.Frozen}, rounds(t)) {
		fail(ctx, link, fault)
		link.Cut()
		group.atWork(ctx, busy)
	}
	group.catchUp(validate.Anywhere) // clients with tokens of the good one catch up when the bad one does
	t.Log(group.finish(ctx, validate.Evidence{}))
}
