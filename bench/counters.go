package main

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/durationpb"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

const (
	// countedPace is the interval between the changes whose delay is measured. Each of them is the first
	// one after a quiet time, so that it is sent without delay.
	countedPace = 250 * time.Millisecond
	// countedTime is the duration of these changes.
	countedTime = 15 * time.Second
)

var (
	countsVersion = numberOf(&kubeconnectv1.WatchCountsResponse{}, "resource_version")
	countsReset   = numberOf(&kubeconnectv1.WatchCountsResponse{}, "reset")
)

// compareCounters compares many streams of one live count with one stream, and measures how much
// later a change is counted than a direct watch has it.
func (l *lab) compareCounters(ctx context.Context, results *report) error {
	changes, err := l.changer(ctx, l.spread(livePods))
	if err != nil {
		return err
	}
	defer changes.close()
	s, err := l.cluster.startFilled(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	cost := row{
		what:    fmt.Sprintf("server CPU for %d counters of one question over %d pods, 200 changes a second", l.callers, l.pods),
		against: "one counter", unit: "ms/s", ratio: more,
	}
	p50 := row{what: "delay of a count, p50", against: "a direct watch", unit: "ms"}
	p99 := row{what: "the same, p99", against: "a direct watch", unit: "ms"}
	err = l.fewRounds(func(int) error {
		one, err := l.countingCost(ctx, s, 1, changes)
		if err != nil {
			return err
		}
		all, err := l.countingCost(ctx, s, l.callers, changes)
		if err != nil {
			return err
		}
		var delays []float64
		err = l.withCaller(ctx, func(c *caller) (err error) {
			delays, err = c.countDelays(ctx, changes)
			return err
		})
		if err != nil {
			return err
		}
		cost.ours, cost.theirs = append(cost.ours, all), append(cost.theirs, one)
		p50.ours, p99.ours = append(p50.ours, quantile(delays, 0.5)), append(p99.ours, quantile(delays, 0.99))
		return nil
	})
	results.add(cost, p50, p99)
	return err
}

// countedBy returns a request for the number of pods by a path, and the sum of their requested CPU.
func countedBy(path string, interval time.Duration) *kubeconnectv1.WatchCountsRequest {
	return &kubeconnectv1.WatchCountsRequest{
		Resource: "pods", GroupBy: []string{path}, MinInterval: durationpb.New(interval),
		Aggregates: []*kubeconnectv1.Aggregate{{
			Function: kubeconnectv1.AggregateFunction_AGGREGATE_FUNCTION_SUM, Path: "spec.containers[*].resources.requests.cpu",
		}},
	}
}

// changedPath is the path of the value that a change changes.
var changedPath = fmt.Sprintf("metadata.annotations['%s']", changeAnnotation)

// counters returns the service as a server of live counts, each with one response a second.
func (s *service) counters() server {
	return server{dial: s.dial, watch: func(on *connection, _ int, t *tally) (*stream, error) {
		return s.call(on, kubeconnectv1connect.ResourceServiceWatchCountsProcedure, countedBy(changedPath, time.Second), t.countCounts())
	}}
}

// countCounts counts the responses of a WatchCounts. The first one is a complete snapshot.
func (t *tally) countCounts() func([]byte) {
	return t.counting(&messages{head: grpcHead, each: func(message []byte) {
		t.messages.Add(1)
		if hasNumber(message, countsReset) {
			t.synced.Add(1)
		}
	}})
}

// hasNumber reports whether a message has a field with a number.
func hasNumber(message []byte, field protowire.Number) bool {
	for len(message) > 0 {
		number, _, length := protowire.ConsumeField(message)
		if length < 0 || number == field {
			return number == field
		}
		message = message[length:]
	}
	return false
}

// countingCost returns the CPU time of the service, in milliseconds for each second of changes, with a
// number of streams.
func (l *lab) countingCost(ctx context.Context, s *service, streams int, changes *changer) (float64, error) {
	cost, err := l.liveCost(ctx, s.counters(), streams, true, changes, s.PID())
	return cost.cpu * float64(streams), err
}

// countDelays makes changes one after the other and returns how much later each of them is counted
// than a direct watch has it, in milliseconds.
func (c *caller) countDelays(ctx context.Context, changes *changer) ([]float64, error) {
	direct, counted := newArrivals(), newArrivals()
	version, err := c.lab.cluster.version(ctx, "")
	if err != nil {
		return nil, err
	}
	_, err = c.lab.cluster.watch(c.theirs, "", version, asStream, eachMessage(kubeHead, func(message []byte, at time.Time) {
		direct.note(versionOfWatchEvent(message), at)
	}))
	if err != nil {
		return nil, err
	}
	_, err = c.service.call(c.ours, kubeconnectv1connect.ResourceServiceWatchCountsProcedure, countedBy(changedPath, 100*time.Millisecond),
		eachMessage(grpcHead, func(message []byte, at time.Time) {
			eachField(message, func(number protowire.Number, value []byte) {
				if number == countsVersion {
					counted.noteFirst(string(value), at)
				}
			})
		}))
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, calm); err != nil {
		return nil, err
	}
	written, err := changes.trickle(ctx, countedPace, countedTime)
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, time.Second); err != nil {
		return nil, err
	}
	delays := direct.until(counted)
	if len(delays) < written*9/10 {
		return nil, fmt.Errorf("only %d of %d changes were counted at their own version", len(delays), written)
	}
	return delays, nil
}
