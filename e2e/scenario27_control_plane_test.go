package e2e_test

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

const (
	// faultLasts is how long a fault lasts that has a length.
	faultLasts = 5 * time.Second
	// busy is how many writes there must be to each resource before and after a fault.
	busy = 40
	// faultPatience is for several faults, one after another.
	faultPatience = 3 * time.Minute
)

// unnoticed is how long the beginning or the end of an outage may go unnoticed
// at most. The service says a quarter of a minute; the rest is for busy machines.
var unnoticed = harness.Patience(time.Minute)

// shakyCluster is for tests that make the control plane itself fail.
var shakyCluster = shared()

func TestScenario27_AControlPlaneThatFailsIsSurvivedByEveryStream(t *testing.T) {
	t.Parallel()
	for name, strike := range map[string]strike{
		"the API server is killed": func(ctx context.Context, t *testing.T) []validate.Outage {
			return kill(ctx, t, shakyCluster(t), shakyCluster(t).APIServer())
		},
		"etcd is killed": func(ctx context.Context, t *testing.T) []validate.Outage {
			return kill(ctx, t, shakyCluster(t), shakyCluster(t).Etcd())
		},
		"the API server stands still": apiServerStandsStill(faultLasts),
		"etcd stands still":           etcdStandsStill(faultLasts),
	} {
		t.Run(name, func(t *testing.T) { survive(t, strike, rounds(t)) })
	}
	if _, soaking := soakFor(t); !soaking {
		return
	}
	// After a minute every connection has been given up, and every lease is over.
	for name, strike := range map[string]strike{
		"the API server stands still for a minute": apiServerStandsStill(longFreeze),
		"etcd stands still for a minute":           etcdStandsStill(longFreeze),
	} {
		t.Run(name, func(t *testing.T) { survive(t, strike, 1) })
	}
}

// strike lets something fail for a while. It returns when the API server was away, as
// far as that is known.
type strike func(context.Context, *testing.T) []validate.Outage

func apiServerStandsStill(lasts time.Duration) strike {
	return func(ctx context.Context, t *testing.T) []validate.Outage {
		return []validate.Outage{freeze(ctx, t, shakyCluster(t).APIServer(), lasts)}
	}
}

func etcdStandsStill(lasts time.Duration) strike {
	return func(ctx context.Context, t *testing.T) []validate.Outage {
		freeze(ctx, t, shakyCluster(t).Etcd(), lasts)
		return nil // the API server was there
	}
}

// survive strikes the control plane so often, while callers wander between two replicas.
func survive(t *testing.T, strike strike, times int) {
	t.Helper()
	ctx := deadlineAfter(t, time.Duration(times)*faultPatience)
	services := []*harness.Service{
		harness.StartService(t, shakyCluster(t).Kubeconfig), harness.StartService(t, shakyCluster(t).Kubeconfig),
	}
	crew := newCrew(ctx, t, newStage(ctx, t, shakyCluster(t)), newSeed(t), callersOf(t, services...)...)
	crew.atWork(ctx, busy)
	var outages []validate.Outage
	for range times {
		outages = append(outages, strike(ctx, t)...)
		crew.atWork(ctx, busy)
	}
	crew.catchUp(validate.Anywhere) // a replica may be behind the one that a caller comes from
	t.Log(crew.finish(ctx, validate.Evidence{Outages: outages}))
}

var errStillThere = errors.New("it is still there")

// callersOf are clients of each service, over Connect and over gRPC.
func callersOf(t *testing.T, services ...*harness.Service) []record.Client {
	var clients []record.Client
	for _, service := range services {
		for _, protocol := range []harness.Protocol{harness.Connect, harness.GRPC} {
			clients = append(clients, harness.Dial(harness.HTTP2(t), service.Address, protocol).Resources)
		}
	}
	return clients
}

// kill ends a component of a cluster and waits until another one has taken its place and the
// cluster can be written to.
func kill(ctx context.Context, t *testing.T, in *harness.Cluster, component harness.Component) []validate.Outage {
	t.Helper()
	before, err := component.PID()
	if err != nil {
		t.Fatal(err)
	}
	if err := component.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, "another process has taken its place", func() error {
		now, err := component.PID()
		if err == nil && now == before {
			return errStillThere
		}
		return err
	})
	untilServed(ctx, t, in)
	return nil // when exactly it was there again is not known
}

// freezable is a process that can stand still.
type freezable interface {
	Freeze() error
	Thaw() error
}

// freeze lets a process stand still for a while.
func freeze(ctx context.Context, t *testing.T, component freezable, lasts time.Duration) validate.Outage {
	t.Helper()
	if err := component.Freeze(); err != nil {
		t.Fatal(err)
	}
	from := time.Now()
	defer func() {
		if err := component.Thaw(); err != nil {
			t.Fatal(err)
		}
	}()
	last(ctx, lasts)
	return validate.Outage{From: from, To: time.Now(), Unnoticed: unnoticed}
}

// last lets a fault last.
func last(ctx context.Context, lasts time.Duration) {
	select {
	case <-time.After(lasts):
	case <-ctx.Done():
	}
}

func untilServed(ctx context.Context, t *testing.T, in *harness.Cluster) {
	t.Helper()
	eventually(ctx, t, "the cluster can be written to", func() error {
		ctx, cancel := context.WithTimeout(ctx, faultLasts)
		defer cancel()
		namespaces := in.Client.CoreV1().Namespaces()
		namespace, err := namespaces.Get(ctx, "default", metav1.GetOptions{})
		if err != nil {
			return err
		}
		_, err = namespaces.Update(ctx, namespace, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})
}
