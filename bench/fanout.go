package main

import (
	"context"
	"fmt"
	"time"
)

// pace is the interval between changes at a steady rate: 50 per second.
const pace = 20 * time.Millisecond

// watchHistory is the ratio between the capacity of the API server's watch cache and the number of
// changes that a watcher may lag behind: the cache retains 75 seconds of changes, and a watcher may
// lag by the changes of one second. The cache starts with a capacity of 100 and doubles it as changes
// arrive, so after a start, a burst of more than ten changes may terminate watches. watchHistory times
// the changes of a burst are therefore made before the first burst.
const watchHistory = 75

// calm is the time for the API server to finish the work that a service's initial list causes.
const calm = 3 * time.Second

// compareFanOut compares the CPU time of delivering changes to many watchers: bursts of changes, and
// changes at a steady rate.
func (l *lab) compareFanOut(ctx context.Context, results *report) error {
	changes, err := l.changer(ctx, func(number int) bool { return number < fanOutPods })
	if err != nil {
		return err
	}
	defer changes.close()
	if err := changes.stream(ctx, l.changes*watchHistory); err != nil {
		return err
	}
	s, err := l.cluster.startFilled(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := pause(ctx, calm); err != nil {
		return err
	}
	for _, kind := range []struct {
		row
		write changeWriter
	}{
		{row{what: fmt.Sprintf("bursts of %d changes", l.changes), first: "4×", then: "12×"}, l.inBursts(changes)},
		{row{what: "50 changes a second"}, l.atSteadyRate(changes)},
	} {
		var rounds fanOutRounds
		err := l.eachRound(func(int) error {
			f, err := l.fanOut(ctx, s, kind.write)
			rounds = append(rounds, f)
			return err
		})
		if err != nil {
			return err
		}
		r := kind.row
		r.what = fmt.Sprintf("events for each server CPU second, %d watchers, %s", l.watchers, kind.what)
		r.against, r.ratio = "API server watch, protobuf", more
		r.ours, r.theirs = rounds.perSecond()
		results.add(r)
		results.remark("%s: %s", kind.what, rounds)
	}
	return nil
}

// changeWriter makes changes and returns their number. It calls waitDelivered with the number of
// changes so far, and continues when all watchers have received them.
type changeWriter func(ctx context.Context, waitDelivered func(changes int) error) (changes int, err error)

// inBursts makes the changes of a burst concurrently. It begins the next burst when all watchers have
// received the changes of the previous one.
func (l *lab) inBursts(changes *changer) changeWriter {
	return func(ctx context.Context, waitDelivered func(int) error) (written int, err error) {
		for range l.bursts {
			if err := changes.burst(ctx, l.changes); err != nil {
				return written, err
			}
			written += l.changes
			if err := waitDelivered(written); err != nil {
				return written, err
			}
		}
		return written, nil
	}
}

// atSteadyRate makes a change in every interval of pace.
func (l *lab) atSteadyRate(changes *changer) changeWriter {
	return func(ctx context.Context, waitDelivered func(int) error) (written int, err error) {
		if written, err = changes.trickle(ctx, pace, l.trickle); err != nil {
			return written, err
		}
		return written, waitDelivered(written)
	}
}

// deliveryCost is the cost of delivering a number of changes to all watchers.
type deliveryCost struct {
	changes  int
	events   float64
	messages float64
	service  time.Duration // CPU time
	api      time.Duration // CPU time
}

// fanOutRound is the cost of the same changes in three settings: with one watcher at the service, so
// that the service is the API server's only watcher; with all watchers at the service; and with all
// watchers at the API server.
type fanOutRound struct{ one, ours, theirs deliveryCost }

func (l *lab) fanOut(ctx context.Context, s *service, write changeWriter) (f fanOutRound, err error) {
	pids := []int{s.PID(), l.cluster.apiServer}
	service := s.watchedBy(podsIn(fanOutNamespace, ""))
	if f.one, err = deliverTo(ctx, service, 1, fanOutPods, write, pids); err != nil {
		return f, fmt.Errorf("kubeconnect with one watcher: %w", err)
	}
	if f.ours, err = deliverTo(ctx, service, l.watchers, fanOutPods, write, pids); err != nil {
		return f, fmt.Errorf("kubeconnect: %w", err)
	}
	version, err := l.cluster.version(ctx, fanOutNamespace)
	if err != nil {
		return f, err
	}
	api := l.cluster.watchedFrom(fanOutNamespace, version)
	if f.theirs, err = deliverTo(ctx, api, l.watchers, 0, write, pids); err != nil {
		return f, fmt.Errorf("API server: %w", err)
	}
	return f, nil
}

// deliverTo opens watches, waits until each watcher has received a snapshot of the given number of
// objects, and measures the cost of delivering changes.
func deliverTo(
	ctx context.Context, s server, watchers, snapshot int, write changeWriter, pids []int,
) (deliveryCost, error) {
	a, err := s.open(ctx, watchers, 1)
	if err != nil {
		return deliveryCost{}, err
	}
	defer a.close()
	if err := a.until(ctx, int64(watchers*snapshot), changesOf); err != nil {
		return deliveryCost{}, err
	}
	if err := pause(ctx, time.Second); err != nil {
		return deliveryCost{}, err
	}
	return measureDelivery(ctx, a, write, pids)
}

func measureDelivery(ctx context.Context, a *audience, write changeWriter, pids []int) (d deliveryCost, err error) {
	events, messages := a.sum(changesOf), a.sum(messagesOf)
	cpu, err := cpuDuring(func() (err error) {
		d.changes, err = write(ctx, func(changes int) error {
			return a.until(ctx, events+int64(changes*len(a.tallies)), changesOf)
		})
		return err
	}, pids...)
	if err != nil {
		return d, err
	}
	d.events, d.messages = float64(a.sum(changesOf)-events), float64(a.sum(messagesOf)-messages)
	d.service, d.api = cpu[0], cpu[1]
	return d, nil
}

type fanOutRounds []fanOutRound

// perSecond returns the events that each side delivered in each second of its CPU time. The CPU time
// includes that of following the side's own source (the API server for the service, etcd for the API
// server), because it is part of the cost of a watch.
func (f fanOutRounds) perSecond() (ours, theirs []float64) {
	ours = f.each(func(r fanOutRound) float64 { return r.ours.events / r.ours.service.Seconds() })
	theirs = f.each(func(r fanOutRound) float64 { return r.theirs.events / r.theirs.api.Seconds() })
	return ours, theirs
}

func (f fanOutRounds) each(value func(fanOutRound) float64) []float64 {
	values := make([]float64, len(f))
	for i, r := range f {
		values[i] = value(r)
	}
	return values
}

func (f fanOutRounds) String() string {
	batch := median(f.each(func(r fanOutRound) float64 { return r.ours.events / r.ours.messages }))
	service := median(f.each(func(r fanOutRound) float64 { return milliseconds(r.one.service) / float64(r.one.changes) }))
	api := median(f.each(func(r fanOutRound) float64 { return milliseconds(r.one.api) / float64(r.one.changes) }))
	return fmt.Sprintf("kubeconnect sent %s events per message; with one watcher, a change cost it %s ms of CPU time, "+
		"and the API server, with kubeconnect as its only watcher, %s ms: both are included",
		figure(batch), figure(service), figure(api))
}
