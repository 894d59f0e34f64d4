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
	// faultLasts is the duration of a fault that has one.
	faultLasts = 5 * time.Second
	// busy is the number of writes to each resource before and after a fault.
	busy = 40
	// faultPatience bounds the duration of several faults, one after another.
	faultPatience = 3 * time.Minute
)

// unnoticed bounds how long the beginning or the end of an outage may go unnoticed. The service
// specifies 15 seconds; the rest is a margin for busy machines.
var unnoticed = harness.Patience(time.Minute)

// shakyCluster is for tests that make the control plane itself fail.
var shakyCluster = shared()

func TestScenario27_StreamsSurviveControlPlaneFaults(t *testing.T) {
	t.Parallel()
	for name, strike := range map[string]strike{
		"the API server is killed": func(ctx context.Context, t *testing.T) []validate.Outage {
			return kill(ctx, t, shakyCluster(t), shakyCluster(t).APIServer())
		},
		"etcd is killed": func(ctx context.Context, t *testing.T) []validate.Outage {
			return kill(ctx, t, shakyCluster(t), shakyCluster(t).Etcd())
		},
		"the API server is frozen": apiServerStandsStill(faultLasts),
		"etcd is frozen":           etcdStandsStill(faultLasts),
	} {
		t.Run(name, func(t *testing.T) { survive(t, strike, rounds(t)) })
	}
	if _, soaking := soakFor(t); !soaking {
		return
	}
	// After a minute every connection has timed out, and every lease has expired.
	for name, strike := range map[string]strike{
		"the API server is frozen for a minute": apiServerStandsStill(longFreeze),
		"etcd is frozen for a minute":           etcdStandsStill(longFreeze),
	} {
		t.Run(name, func(t *testing.T) { survive(t, strike, 1) })
	}
}

// strike makes something fail for a while. It returns the outages of the API server, as far as they
// are known.
type strike func(context.Context, *testing.T) []validate.Outage

func apiServerStandsStill(lasts time.Duration) strike {
	return func(ctx context.Context, t *testing.T) []validate.Outage {
		return []validate.Outage{freeze(ctx, t, shakyCluster(t).APIServer(), lasts)}
	}
}

func etcdStandsStill(lasts time.Duration) strike {
	return func(ctx context.Context, t *testing.T) []validate.Outage {
		freeze(ctx, t, shakyCluster(t).Etcd(), lasts)
		return nil // the API server was reachable
	}
}

// survive strikes the control plane repeatedly, while clients move between two replicas.
func survive(t *testing.T, strike strike, times int) {
	t.Helper()
	ctx := deadlineAfter(t, time.Duration(times)*faultPatience)
	services := []*harness.Service{
		harness.StartService(t, shakyCluster(t).Kubeconfig), harness.StartService(t, shakyCluster(t).Kubeconfig),
	}
	group := newTrafficGroup(ctx, t, newTestbed(ctx, t, shakyCluster(t)), newSeed(t), callersOf(t, services...)...)
	group.atWork(ctx, busy)
	var outages []validate.Outage
	for range times {
		outages = append(outages, strike(ctx, t)...)
		group.atWork(ctx, busy)
	}
	group.catchUp(validate.Anywhere) // a replica may be older than a client's previous one
	t.Log(group.finish(ctx, validate.Evidence{Outages: outages}))
}

var errStillThere = errors.New("the process is still running")

// callersOf returns clients of each service, over Connect and over gRPC.
func callersOf(t *testing.T, services ...*harness.Service) []record.Client {
	var clients []record.Client
	for _, service := range services {
		for _, protocol := range []harness.Protocol{harness.Connect, harness.GRPC} {
			clients = append(clients, harness.Dial(harness.HTTP2(t), service.Address, protocol).Resources)
		}
	}
	return clients
}

// kill ends a component of a cluster and blocks until it has been restarted and the cluster accepts
// writes.
func kill(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, component harness.Component) []validate.Outage {
	t.Helper()
	before, err := component.PID()
	if err != nil {
		t.Fatal(err)
	}
	if err := component.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, "the process is restarted", func() error {
		now, err := component.PID()
		if err == nil && now == before {
			return errStillThere
		}
		return err
	})
	untilServed(ctx, t, controlPlane)
	return nil // the exact end of the outage is unknown
}

// freezable is a process that can be suspended.
type freezable interface {
	Freeze() error
	Thaw() error
}

// freeze suspends a process for a while.
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

// last blocks for the duration of a fault.
func last(ctx context.Context, lasts time.Duration) {
	select {
	case <-time.After(lasts):
	case <-ctx.Done():
	}
}

func untilServed(ctx context.Context, t *testing.T, controlPlane *harness.Cluster) {
	t.Helper()
	eventually(ctx, t, "the cluster accepts writes", func() error {
		ctx, cancel := context.WithTimeout(ctx, faultLasts)
		defer cancel()
		namespaces := controlPlane.Client.CoreV1().Namespaces()
		namespace, err := namespaces.Get(ctx, "default", metav1.GetOptions{})
		if err != nil {
			return err
		}
		_, err = namespaces.Update(ctx, namespace, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})
}
