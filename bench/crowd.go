package main

import (
	"context"
	"fmt"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

const (
	// few is the number of watchers that the crowd is compared with.
	few = 10
	// crowdPace is the interval between changes.
	crowdPace = 4 * time.Millisecond
	// crowdPerConnection is the number of watchers on each connection.
	crowdPerConnection = 100
)

// compareCrowd compares the CPU time of a change with many watchers, each of which watches the pods
// of a different node, with that of a change with few watchers. Two services that differ only in the
// number of watchers receive the same changes at the same time; each change concerns one watcher of
// each service. The CPU time of the streams without changes (bookmarks) is measured before, for the
// same duration, and subtracted.
func (l *lab) compareCrowd(ctx context.Context, results *report) error {
	sparse, small, err := l.perNode(ctx, few)
	if err != nil {
		return err
	}
	defer sparse.stop()
	defer small.close()
	crowded, large, err := l.perNode(ctx, l.crowd)
	if err != nil {
		return err
	}
	defer crowded.stop()
	defer large.close()
	opened, err := usageOf(crowded.PID())
	if err != nil {
		return err
	}
	results.remark("opening %d watches with field selectors cost kubeconnect %s ms of CPU time each",
		l.crowd, figure(milliseconds(opened.cpu)/float64(l.crowd)))

	changes, err := l.changer(ctx, func(number int) bool { return number%(l.pods/podsOfNode) < few })
	if err != nil {
		return err
	}
	defer changes.close()
	r := row{
		what:    fmt.Sprintf("cost of a change, %d watchers of which 1 is concerned", l.crowd),
		against: fmt.Sprintf("the same with %d watchers", few), unit: "ms", ratio: more, first: "≤ 1.2×", then: "flat",
	}
	var idle []float64
	err = l.eachRound(func(int) error {
		quiet, busy, written, err := l.watchCrowd(ctx, changes, []int{crowded.PID(), sparse.PID()}, []*audience{large, small})
		if err != nil {
			return err
		}
		r.ours = append(r.ours, milliseconds(busy[0]-quiet[0])/float64(written))
		r.theirs = append(r.theirs, milliseconds(busy[1]-quiet[1])/float64(written))
		idle = append(idle, 100*quiet[0].Seconds()/l.crowdTime.Seconds())
		return nil
	})
	results.add(r)
	if err == nil {
		results.remark("the bookmarks of %d idle streams cost kubeconnect %s %% of a core",
			l.crowd, figure(median(idle)))
	}
	return err
}

// perNode starts a service, and watchers that each watch the pods of one node.
func (l *lab) perNode(ctx context.Context, watchers int) (*service, *audience, error) {
	s, err := l.cluster.startFilled(ctx)
	if err != nil {
		return nil, nil, err
	}
	a, err := s.watchedBy(func(number int) *kubeconnectv1.WatchRequest {
		return &kubeconnectv1.WatchRequest{
			Resource: "pods", FieldSelector: "spec.nodeName=" + nodeOf(number, l.pods),
			Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF,
		}
	}).open(ctx, watchers, crowdPerConnection)
	if err != nil {
		s.stop()
		return nil, nil, err
	}
	return s, a, a.until(ctx, int64(watchers), syncedOf)
}

// watchCrowd returns the CPU time of each service without changes and with changes, over the same
// duration, and the number of changes.
func (l *lab) watchCrowd(
	ctx context.Context, changes *changer, pids []int, audiences []*audience,
) (quiet, busy []time.Duration, written int, err error) {
	if quiet, err = cpuDuring(func() error { return pause(ctx, l.crowdTime) }, pids...); err != nil {
		return nil, nil, 0, err
	}
	var had []int64
	for _, a := range audiences {
		had = append(had, a.sum(changesOf))
	}
	busy, err = cpuDuring(func() error {
		written, err = changes.trickle(ctx, crowdPace, l.crowdTime)
		return err
	}, pids...)
	if err != nil {
		return nil, nil, 0, err
	}
	for i, a := range audiences {
		if err := a.until(ctx, had[i]+int64(written), changesOf); err != nil {
			return nil, nil, 0, err
		}
	}
	return quiet, busy, written, nil
}
