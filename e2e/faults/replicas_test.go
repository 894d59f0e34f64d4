package faults_test

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const (
	// shortAge is the maximum age of streams that must end during a test.
	shortAge = 2 * time.Second
	// staleTwice bounds the time until a stream has left two stale replicas: it leaves each one
	// after a while, and the service notices an outage late.
	staleTwice = 3 * time.Minute
)

// replicas are three services of one cluster behind one address.
type replicas struct {
	services []*harness.Service
	links    []*harness.Proxy // links to the API server
	balancer *harness.Proxy
}

func startReplicas(t *testing.T, flags ...string) replicas {
	t.Helper()
	var r replicas
	var targets []string
	for range 3 {
		link := harness.StartProxy(t, kit.Cluster(t).Address(), harness.None)
		service := harness.StartMortalService(t, harness.KubeconfigTo(t, kit.Cluster(t).Kubeconfig, link.Address()), "127.0.0.1:0", flags...)
		t.Cleanup(func() { _ = service.Thaw() }) // otherwise it could not end
		r.services, r.links = append(r.services, service), append(r.links, link)
		targets = append(targets, kit.HostPort(service))
	}
	r.balancer = harness.StartBalancer(t, targets...)
	return r
}

func spreadPrograms(t *testing.T) map[string][]string {
	return map[string][]string{
		"Python": kit.PythonProgram(t, "python", "spread.py"),
		"Node":   kit.NodeProgram(t, "node", "spread.mjs"),
	}
}

// TestClients_LeaveAFailedReplica freezes one replica of three, later disconnects another one from the
// API server for a while, and finally kills the third one, while clients watch a ConfigMap that changes.
// The clients leave replicas that are silent or gone. They stay with the one that says that it is stale,
// because no peer of it is known to be current.
func TestClients_LeaveAFailedReplica(t *testing.T) {
	t.Parallel()
	for name, command := range spreadPrograms(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.DeadlineAfter(t, kit.WaitTimeout+staleTwice)
			replicas := startReplicas(t)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
			write.Create("one", nil)
			caller := kit.StartProgram(t, command, "http://"+replicas.balancer.Address(), namespace, strconv.Itoa(spreadOf))
			untilSpread(ctx, t, caller, "value", func(spread) bool { return true })
			if forwarded := replicas.balancer.Forwarded(); slices.Min(forwarded) == 0 {
				t.Fatalf("initial connections by replica %v", forwarded)
			}

			if err := replicas.services[0].Freeze(); err != nil {
				t.Fatal(err)
			}
			write.Touch("one", "frozen")
			untilSpread(ctx, t, caller, "frozen", func(printed spread) bool { return printed.Stale == 0 })
			if err := replicas.services[0].Thaw(); err != nil {
				t.Fatal(err)
			}

			replicas.links[1].Set(harness.Refused)
			write.Touch("one", "cut")
			untilPrints(ctx, t, caller, func(printed spread) bool { return printed.Stale > 0 && slices.Contains(printed.Values, "cut") })
			replicas.links[1].Set(harness.None)
			untilSpread(ctx, t, caller, "cut", func(printed spread) bool { return printed.Stale == 0 })

			replicas.services[2].Crash()
			write.Touch("one", "killed")
			untilSpread(ctx, t, caller, "killed", func(printed spread) bool { return printed.Stale == 0 })
			write.Touch("one", "end")
			caller.Ends(ctx)
		})
	}
}

// TestStreams_MoveAtTheirMaximumAge ends streams repeatedly while the object that they
// watch changes.
func TestStreams_MoveAtTheirMaximumAge(t *testing.T) {
	t.Parallel()
	for name, command := range spreadPrograms(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			replicas := startReplicas(t, "--max-stream-age", shortAge.String())
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
			write.Create("one", nil)
			caller := kit.StartProgram(t, command, "http://"+replicas.balancer.Address(), namespace, strconv.Itoa(spreadOf))
			untilSpread(ctx, t, caller, "value", func(spread) bool { return true })
			for round := 1; round <= 5; round++ {
				value := strconv.Itoa(round)
				write.Touch("one", value)
				untilSpread(ctx, t, caller, value, func(printed spread) bool { return printed.Losses >= round*spreadOf })
			}
			if forwarded := replicas.balancer.Forwarded(); slices.Min(forwarded) < spreadOf {
				t.Errorf("connections by replica %v", forwarded)
			}
			write.Touch("one", "end")
			caller.Ends(ctx)
		})
	}
}

// spreadOf is the number of clients in a program, each with a connection of its own.
const spreadOf = 9

// spread is a line that a program with many clients prints.
type spread struct {
	Step                  string
	Values                []string
	Resets, Losses, Stale int
}

// untilSpread blocks until all clients of a program have a value and a condition is true, and fails the test unless
// each watch has begun once.
func untilSpread(ctx context.Context, t *testing.T, program kit.Program, value string, condition func(spread) bool) {
	t.Helper()
	untilPrints(ctx, t, program, func(printed spread) bool { return slices.Equal(printed.Values, []string{value}) && condition(printed) })
}

// untilPrints is like untilSpread, whatever the values are.
func untilPrints(ctx context.Context, t *testing.T, program kit.Program, condition func(spread) bool) {
	t.Helper()
	var last spread
	_, err := program.Process.UntilPrints(ctx, func(line string) bool {
		var printed spread
		if json.Unmarshal([]byte(line), &printed) != nil || printed.Step != "spread" {
			return false
		}
		if printed.Resets > spreadOf {
			t.Errorf("%d watches received %d RESETs", spreadOf, printed.Resets)
		}
		last = printed
		return condition(printed)
	})
	if err != nil {
		t.Fatalf("%v: the clients have %+v", err, last)
	}
}
