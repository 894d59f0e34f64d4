package main

import (
	"context"
	"fmt"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

const (
	// pageLength is the number of pods in a live page.
	pageLength = 50
	// livePace is the interval between changes: 200 per second.
	livePace = 5 * time.Millisecond
	// liveTime is the duration of changes in a measurement.
	liveTime = 10 * time.Second
	// livePods is the number of pods that are changed in turn, spread over all pods.
	livePods = 2000
	// livePerConnection is the number of streams on each connection.
	livePerConnection = 20
	// apiWatchers is the number of watches of all pods at the API server. More of them would need more
	// than the machine.
	apiWatchers = 20
)

// liveCost is the cost of one stream for each second of changes.
type liveCost struct {
	kilobytes float64
	cpu       float64 // of the server, in milliseconds
}

// compareLive compares pages that stay live with watches of all pods: with the same fields, and at
// the API server. All of them receive the same changes, one after the other.
func (l *lab) compareLive(ctx context.Context, results *report) error {
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
	var pages, moving, fields, api []liveCost
	err = l.fewRounds(func(int) error {
		for _, measure := range []struct {
			costs    *[]liveCost
			server   server
			streams  int
			snapshot bool
			pid      int
		}{
			{&pages, s.watchedBy(l.pagesBy("metadata.name")), l.callers, true, s.PID()},
			{&moving, s.watchedBy(l.pagesBy(changedPath + " desc")), l.callers, true, s.PID()},
			{&fields, s.watchedBy(l.allPods), l.watchers, true, s.PID()},
			{&api, l.cluster.watchedNow(ctx), apiWatchers, false, l.cluster.apiServer},
		} {
			cost, err := l.liveCost(ctx, measure.server, measure.streams, measure.snapshot, changes, measure.pid)
			if err != nil {
				return err
			}
			*measure.costs = append(*measure.costs, cost)
		}
		return nil
	})
	what := fmt.Sprintf("a page of %d of %d pods, sorted by name, 200 changes a second", pageLength, l.pods)
	moves := "the same, sorted by what changes"
	results.add(
		liveRow(what+": bytes for each stream", "a watch of all pods with the same fields", "KB/s", pages, fields, liveCost.bytes),
		liveRow("the same", "API server watch, protobuf", "KB/s", pages, api, liveCost.bytes),
		liveRow(moves, "a watch of all pods with the same fields", "KB/s", moving, fields, liveCost.bytes),
		liveRow("a live page, sorted by name: server CPU for each stream", "a watch of all pods with the same fields", "ms/s", pages, fields, liveCost.time),
		liveRow("the same", "API server watch, protobuf", "ms/s", pages, api, liveCost.time),
		liveRow(moves, "a watch of all pods with the same fields", "ms/s", moving, fields, liveCost.time),
	)
	results.remark("live pages: %d streams of pages, %d watches with fields, %d watches at the API server; each is the cost of one stream", l.callers, l.watchers, apiWatchers)
	return err
}

func (c liveCost) bytes() float64 { return c.kilobytes }
func (c liveCost) time() float64  { return c.cpu }

func liveRow(what, against, unit string, ours, theirs []liveCost, value func(liveCost) float64) row {
	r := row{what: what, against: against, unit: unit, ratio: less}
	for i := range min(len(ours), len(theirs)) {
		r.ours, r.theirs = append(r.ours, value(ours[i])), append(r.theirs, value(theirs[i]))
	}
	return r
}

// liveFields are the fields of the pods in a page: some that a page shows, and the one that changes.
var liveFields = []string{
	"metadata.creationTimestamp", "spec.nodeName", "status.phase", "status.containerStatuses[*].restartCount",
	changedPath,
}

// pagesBy returns requests for pages in an order, each at another place.
func (l *lab) pagesBy(order string) func(number int) *kubeconnectv1.WatchRequest {
	return func(number int) *kubeconnectv1.WatchRequest {
		request := l.allPods(number)
		request.Limit, request.OrderBy = pageLength, order
		request.Offset = int64(number * pageLength % l.pods)
		return request
	}
}

// allPods returns a request for all pods.
func (l *lab) allPods(int) *kubeconnectv1.WatchRequest {
	return &kubeconnectv1.WatchRequest{Resource: "pods", Fields: liveFields, Encoding: kubeconnectv1.Encoding_ENCODING_JSON}
}

// watchedNow returns the API server as a server of watches of all pods, from its current version.
func (c *controlPlane) watchedNow(ctx context.Context) server {
	return server{dial: c.dial, watch: func(on *connection, _ int, t *tally) (*stream, error) {
		version, err := c.version(ctx, "")
		if err != nil {
			return nil, err
		}
		return c.watch(on, "", version, asStream, t.countWatchEvents())
	}}
}

// liveCost opens streams, and measures the cost of changes for each of them. It waits for snapshots
// if the streams begin with one.
func (l *lab) liveCost(ctx context.Context, from server, streams int, snapshot bool, changes *changer, pid int) (cost liveCost, err error) {
	a, err := from.open(ctx, streams, livePerConnection)
	if err != nil {
		return cost, err
	}
	defer a.close()
	if snapshot {
		if err := a.until(ctx, int64(streams), syncedOf); err != nil {
			return cost, err
		}
	}
	if err := pause(ctx, calm); err != nil {
		return cost, err
	}
	before, began := a.sum(bytesOf), time.Now()
	cpu, err := cpuDuring(func() error {
		_, err := changes.trickle(ctx, livePace, liveTime)
		return err
	}, pid)
	if err != nil {
		return cost, err
	}
	seconds := time.Since(began).Seconds()
	cost.kilobytes = float64(a.sum(bytesOf)-before) / 1024 / seconds / float64(streams)
	cost.cpu = milliseconds(cpu[0]) / seconds / float64(streams)
	return cost, a.broken()
}
