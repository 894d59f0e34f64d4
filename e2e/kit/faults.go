package kit

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
	// FaultDuration is the duration of a fault that has one.
	FaultDuration = 5 * time.Second
	// BusyWrites is the number of writes to each resource before and after a fault.
	BusyWrites = 40
	// FaultPatience bounds the duration of several faults, one after another.
	FaultPatience = 3 * time.Minute
)

// UnnoticedOutage bounds how long the beginning or the end of an outage may go unnoticed. The service
// specifies 15 seconds; the rest is a margin for busy machines.
var UnnoticedOutage = harness.Patience(time.Minute)

var errStillThere = errors.New("the process is still running")

// WatchClients returns clients of each service, over Connect and over gRPC.
func WatchClients(t *testing.T, services ...*harness.Service) []record.Client {
	var clients []record.Client
	for _, service := range services {
		for _, protocol := range []harness.Protocol{harness.Connect, harness.GRPC} {
			clients = append(clients, harness.Dial(harness.HTTP2(t), service.Address, protocol).Resources)
		}
	}
	return clients
}

// Kill ends a component of a cluster and blocks until it has been restarted and the cluster accepts
// writes.
func Kill(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, component harness.Component) []validate.Outage {
	t.Helper()
	before, err := component.PID()
	if err != nil {
		t.Fatal(err)
	}
	if err := component.Kill(); err != nil {
		t.Fatal(err)
	}
	Eventually(ctx, t, "the process is restarted", func() error {
		now, err := component.PID()
		if err == nil && now == before {
			return errStillThere
		}
		return err
	})
	untilServed(ctx, t, controlPlane)
	return nil // the exact end of the outage is unknown
}

// Freezable is a process that can be suspended.
type Freezable interface {
	Freeze() error
	Thaw() error
}

// Freeze suspends a process for a while.
func Freeze(ctx context.Context, t *testing.T, component Freezable, lasts time.Duration) validate.Outage {
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
	Last(ctx, lasts)
	return validate.Outage{From: from, To: time.Now(), Unnoticed: UnnoticedOutage}
}

// Last blocks for the duration of a fault.
func Last(ctx context.Context, lasts time.Duration) {
	select {
	case <-time.After(lasts):
	case <-ctx.Done():
	}
}

func untilServed(ctx context.Context, t *testing.T, controlPlane *harness.Cluster) {
	t.Helper()
	Eventually(ctx, t, "the cluster accepts writes", func() error {
		ctx, cancel := context.WithTimeout(ctx, FaultDuration)
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

// InjectFault sets a fault of a link for a while.
func InjectFault(ctx context.Context, link *harness.Proxy, fault harness.Fault) []validate.Outage {
	link.Set(fault)
	from := time.Now()
	Last(ctx, FaultDuration)
	to := time.Now()
	link.Set(harness.None)
	return []validate.Outage{{From: from, To: to, Unnoticed: UnnoticedOutage}}
}
