package main

import (
	"context"
	"fmt"
	"time"
)

// pace is how far apart changes are that come one by one: 50 each second.
const pace = 20 * time.Millisecond

// calm is for the API server to clear up after the list with which a service begins.
const calm = 3 * time.Second

// compareFanOut compares what it costs to tell many watchers of changes: of bursts,
// and of such as come one by one.
func (l *lab) compareFanOut(ctx context.Context, results *report) error {
	s, err := l.cluster.startFilled(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := pause(ctx, calm); err != nil {
		return err
	}
	changes := l.changer(func(number int) bool { return number < fanOutPods })
	for _, kind := range []struct {
		row
		write writing
	}{
		{row{what: "bursts of changes", first: "4×", then: "12×"}, func() (int, error) { return l.changes, changes.burst(ctx, l.changes) }},
		{row{what: "50 changes a second"}, func() (int, error) { return changes.trickle(ctx, pace, l.trickle) }},
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

// writing makes changes and answers how many.
type writing func() (int, error)

// told is what it took to tell watchers of some changes.
type told struct {
	changes  int
	events   float64
	messages float64
	service  time.Duration // CPU time
	api      time.Duration // CPU time
}

// fanOutRound is the same changes three times: with no watchers, with watchers at the
// service, and with watchers at the API server.
type fanOutRound struct{ none, ours, theirs told }

func (l *lab) fanOut(ctx context.Context, s *service, write writing) (f fanOutRound, err error) {
	pids := []int{s.PID(), l.cluster.apiServer}
	if f.none, err = l.tell(ctx, &audience{}, write, pids); err != nil {
		return f, err
	}
	if f.ours, err = l.tellWatchers(ctx, s.watchedBy(podsIn(fanOutNamespace, "")), fanOutPods, write, pids); err != nil {
		return f, fmt.Errorf("kubeconnect: %w", err)
	}
	version, err := l.cluster.version(ctx, fanOutNamespace)
	if err != nil {
		return f, err
	}
	f.theirs, err = l.tellWatchers(ctx, l.cluster.watchedFrom(fanOutNamespace, version), 0, write, pids)
	return f, err
}

// tellWatchers makes changes before watchers, each of whom is first sent a number of
// objects.
func (l *lab) tellWatchers(ctx context.Context, s server, first int, write writing, pids []int) (told, error) {
	a, err := s.open(ctx, l.watchers, 1)
	if err != nil {
		return told{}, err
	}
	defer a.close()
	if err := a.until(ctx, int64(l.watchers*first), changesOf); err != nil {
		return told{}, err
	}
	if err := pause(ctx, time.Second); err != nil {
		return told{}, err
	}
	return l.tell(ctx, a, write, pids)
}

func (l *lab) tell(ctx context.Context, a *audience, write writing, pids []int) (t told, err error) {
	events, messages := a.sum(changesOf), a.sum(messagesOf)
	cpu, err := cpuDuring(func() error {
		if t.changes, err = write(); err != nil {
			return err
		}
		return a.until(ctx, events+int64(t.changes*len(a.tallies)), changesOf)
	}, pids...)
	if err != nil {
		return t, err
	}
	t.events, t.messages = float64(a.sum(changesOf)-events), float64(a.sum(messagesOf)-messages)
	t.service, t.api = cpu[0], cpu[1]
	return t, nil
}

type fanOutRounds []fanOutRound

// perSecond is how many events each side told for a second of its CPU time. What the
// changes themselves cost the API server is not counted: it is known from the changes
// without watchers, as the median of all rounds. The service's cost of following the
// API server is counted.
func (f fanOutRounds) perSecond() (ours, theirs []float64) {
	change := median(f.each(func(r fanOutRound) float64 { return r.none.api.Seconds() / float64(r.none.changes) }))
	ours = f.each(func(r fanOutRound) float64 { return r.ours.events / r.ours.service.Seconds() })
	theirs = f.each(func(r fanOutRound) float64 {
		return r.theirs.events / (r.theirs.api.Seconds() - change*float64(r.theirs.changes))
	})
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
	follow := median(f.each(func(r fanOutRound) float64 { return milliseconds(r.none.service) / float64(r.none.changes) }))
	write := median(f.each(func(r fanOutRound) float64 { return milliseconds(r.none.api) / float64(r.none.changes) }))
	return fmt.Sprintf("kubeconnect sent %s events in a message; without watchers a change cost it %s ms of CPU, and the API server %s ms, which is not counted",
		figure(batch), figure(follow), figure(write))
}
