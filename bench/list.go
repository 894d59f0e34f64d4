package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// A call is repeated until the server has used minCPU, because the operating system counts CPU time
// in hundredths of a second, but at most maxRepeats times.
const (
	minCPU     = 400 * time.Millisecond
	maxRepeats = 20000
)

// batchTime is the time between two readings of the CPU time while calls are repeated.
const batchTime = 20 * time.Millisecond

// cost is the cost of one call.
type cost struct {
	cpu float64 // milliseconds of the server's CPU time
	p50 float64 // milliseconds until the response was complete, at the median
}

// costing repeats a call, and measures the CPU time of the server and the duration of each call.
type costing struct {
	pid  int
	call func() error

	before, now usage
	took        []float64
}

func newCosting(pid int, call func() error) (*costing, error) {
	before, err := usageOf(pid)
	return &costing{pid: pid, call: call, before: before, now: before}, err
}

// costOf returns the cost of a call, which it repeats.
func costOf(pid int, call func() error) (cost, error) {
	c, err := newCosting(pid, call)
	for err == nil && !c.hasUsed(minCPU) {
		err = c.runBatch()
	}
	if err != nil {
		return cost{}, err
	}
	return c.cost(), nil
}

// runBatch makes calls for batchTime, at least one.
func (c *costing) runBatch() (err error) {
	for left := batchTime; left > 0; {
		began := time.Now()
		if err := c.call(); err != nil {
			return err
		}
		took := time.Since(began)
		c.took = append(c.took, milliseconds(took))
		left -= took
	}
	c.now, err = usageOf(c.pid)
	return err
}

func (c *costing) used() time.Duration { return c.now.cpu - c.before.cpu }

// hasUsed reports whether the server has used enough CPU time for a measurement, or maxRepeats is
// reached.
func (c *costing) hasUsed(enough time.Duration) bool {
	return c.used() > enough || len(c.took) >= maxRepeats
}

func (c *costing) cost() cost {
	return cost{cpu: milliseconds(c.used()) / float64(len(c.took)), p50: median(c.took)}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// caller makes calls to both sides, over one open connection to each.
type caller struct {
	lab     *lab
	service *service
	ours    *connection
	theirs  *connection
}

// withCaller runs a function with connections to a service that has cached all pods, and to the API
// server.
func (l *lab) withCaller(ctx context.Context, do func(*caller) error) error {
	s, err := l.cluster.startFilled(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	ours, err := s.dial()
	if err != nil {
		return err
	}
	defer ours.close()
	theirs, err := l.cluster.dial()
	if err != nil {
		return err
	}
	defer theirs.close()
	return do(&caller{lab: l, service: s, ours: ours, theirs: theirs})
}

// listService returns the cost of a list at the service.
func (c *caller) listService(ctx context.Context, request *kubeconnectv1.ListRequest, want int) (cost, error) {
	return costOf(c.service.PID(), func() error { return c.wantListed(ctx, request, want) })
}

// listAPIServer returns the cost of a list at the API server.
func (c *caller) listAPIServer(ctx context.Context, namespace, labels, accept string, want int) (cost, error) {
	return costOf(c.lab.cluster.apiServer, func() error {
		bytes, err := c.lab.cluster.list(ctx, c.theirs, namespace, labels, accept)
		if least := want * 2048; err == nil && bytes < least {
			err = fmt.Errorf("the list has %d bytes, which is too few for %d pods", bytes, want)
		}
		return err
	})
}

// compareLists compares the CPU time of the servers for a list of many pods.
func (l *lab) compareLists(ctx context.Context, results *report) error {
	const unit = "ms"
	what := fmt.Sprintf("list %d pods, server CPU", l.pods/2)
	protobuf := row{
		what: what, against: "API server, protobuf, resourceVersion=0",
		unit: unit, ratio: less, first: "3×", then: "8×",
	}
	asText := row{
		what: what, against: "API server, JSON, resourceVersion=0",
		unit: unit, ratio: less, first: "10×", then: "20×",
	}
	bothText := row{what: what + ", both JSON", against: "API server, JSON, resourceVersion=0", unit: unit, ratio: less}
	err := l.withCaller(ctx, func(c *caller) error {
		return l.eachRound(func(int) error {
			costs, err := c.listCosts(ctx)
			if err != nil {
				return err
			}
			protobuf.ours, protobuf.theirs = append(protobuf.ours, costs[0].cpu), append(protobuf.theirs, costs[1].cpu)
			asText.ours, asText.theirs = append(asText.ours, costs[0].cpu), append(asText.theirs, costs[3].cpu)
			bothText.ours, bothText.theirs = append(bothText.ours, costs[2].cpu), append(bothText.theirs, costs[3].cpu)
			return nil
		})
	})
	results.add(protobuf, asText, bothText)
	return err
}

// listCosts returns the costs of a list at the service and at the API server: two for protobuf, then
// two for JSON.
func (c *caller) listCosts(ctx context.Context) (costs []cost, err error) {
	want := c.lab.pods / 2
	for _, form := range []struct {
		encoding kubeconnectv1.Encoding
		accept   string
	}{{kubeconnectv1.Encoding_ENCODING_PROTOBUF, asProtobuf}, {kubeconnectv1.Encoding_ENCODING_JSON, asJSON}} {
		ours, err := c.listService(ctx, &kubeconnectv1.ListRequest{
			Resource: "pods", Namespace: listNamespace, Encoding: form.encoding}, want)
		if err != nil {
			return nil, err
		}
		theirs, err := c.listAPIServer(ctx, listNamespace, "", form.accept, want)
		if err != nil {
			return nil, err
		}
		costs = append(costs, ours, theirs)
	}
	return costs, nil
}

// compareLabels compares lists by a label that few pods have.
func (l *lab) compareLabels(ctx context.Context, results *report) error {
	what := fmt.Sprintf("list by label, 1 in %d of %d, ", apps, l.pods)
	cpu := row{
		what: what + "server CPU", against: "API server, protobuf, resourceVersion=0",
		unit: "ms", ratio: less, first: "50×", then: "300×",
	}
	p50 := row{what: what + "p50", against: cpu.against, unit: "ms", ratio: less, then: "≤ 0.5 ms"}
	err := l.withCaller(ctx, func(c *caller) error {
		return l.eachRound(func(round int) error {
			label := "app=" + appOf(round+1)
			ours, err := c.listService(ctx, &kubeconnectv1.ListRequest{
				Resource: "pods", LabelSelector: label, Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF}, l.pods/apps)
			if err != nil {
				return err
			}
			theirs, err := c.listAPIServer(ctx, "", label, asProtobuf, l.pods/apps)
			cpu.ours, cpu.theirs = append(cpu.ours, ours.cpu), append(cpu.theirs, theirs.cpu)
			p50.ours, p50.theirs = append(p50.ours, ours.p50), append(p50.theirs, theirs.p50)
			return err
		})
	})
	results.add(cpu, p50)
	return err
}

// quantile returns the value below which the given share of all values lies.
func quantile(values []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}
