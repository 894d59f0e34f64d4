package main

import (
	"context"
	"fmt"
	"time"
)

// pace is how far apart changes are that come one by one: 50 each second.
const pace = 20 * time.Millisecond

// watchHistory is the factor between what the API server's watch cache has room for
// and what it lets a watcher be behind: it keeps 75 seconds of changes, and a watcher
// may be behind by as many as one second brings. It starts with room for 100 and
// doubles it as changes come, so after a start a burst of more than ten may cut
// watchers off. Before the first burst, so many changes are made that all of it fits.
const watchHistory = 75

// calm is for the API server to clear up after the list with which a service begins.
const calm = 3 * time.Second

// compareFanOut compares what it costs to tell many watchers of changes: of bursts,
// and of such as come one by one.
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
		write writing
	}{
		{row{what: fmt.Sprintf("bursts of %d changes", l.changes), first: "4×", then: "12×"}, l.inBursts(changes)},
		{row{what: "50 changes a second"}, l.oneByOne(changes)},
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

// writing makes changes and answers how many. It calls delivered with the number of
// those that all watchers must have before it goes on.
type writing func(ctx context.Context, delivered func(changes int) error) (changes int, err error)

// inBursts makes the changes of a burst at once, and the next burst when all have
// been told of the last.
func (l *lab) inBursts(changes *changer) writing {
	return func(ctx context.Context, delivered func(int) error) (made int, err error) {
		for range l.bursts {
			if err := changes.burst(ctx, l.changes); err != nil {
				return made, err
			}
			made += l.changes
			if err := delivered(made); err != nil {
				return made, err
			}
		}
		return made, nil
	}
}

func (l *lab) oneByOne(changes *changer) writing {
	return func(ctx context.Context, delivered func(int) error) (made int, err error) {
		if made, err = changes.trickle(ctx, pace, l.trickle); err != nil {
			return made, err
		}
		return made, delivered(made)
	}
}

// told is what it took to tell watchers of some changes.
type told struct {
	changes  int
	events   float64
	messages float64
	service  time.Duration // CPU time
	api      time.Duration // CPU time
}

// fanOutRound is the same changes three times: with one watcher at the service, so
// that the service is the API server's only one; with all watchers at the service;
// and with all at the API server.
type fanOutRound struct{ one, ours, theirs told }

func (l *lab) fanOut(ctx context.Context, s *service, write writing) (f fanOutRound, err error) {
	pids := []int{s.PID(), l.cluster.apiServer}
	service := s.watchedBy(podsIn(fanOutNamespace, ""))
	if f.one, err = tellWatchers(ctx, service, 1, fanOutPods, write, pids); err != nil {
		return f, fmt.Errorf("kubeconnect with one watcher: %w", err)
	}
	if f.ours, err = tellWatchers(ctx, service, l.watchers, fanOutPods, write, pids); err != nil {
		return f, fmt.Errorf("kubeconnect: %w", err)
	}
	version, err := l.cluster.version(ctx, fanOutNamespace)
	if err != nil {
		return f, err
	}
	if f.theirs, err = tellWatchers(ctx, l.cluster.watchedFrom(fanOutNamespace, version), l.watchers, 0, write, pids); err != nil {
		return f, fmt.Errorf("API server: %w", err)
	}
	return f, nil
}

// tellWatchers makes changes before watchers, each of whom is first sent a number of
// objects.
func tellWatchers(ctx context.Context, s server, watchers, first int, write writing, pids []int) (told, error) {
	a, err := s.open(ctx, watchers, 1)
	if err != nil {
		return told{}, err
	}
	defer a.close()
	if err := a.until(ctx, int64(watchers*first), changesOf); err != nil {
		return told{}, err
	}
	if err := pause(ctx, time.Second); err != nil {
		return told{}, err
	}
	return tell(ctx, a, write, pids)
}

func tell(ctx context.Context, a *audience, write writing, pids []int) (t told, err error) {
	events, messages := a.sum(changesOf), a.sum(messagesOf)
	cpu, err := cpuDuring(func() (err error) {
		t.changes, err = write(ctx, func(changes int) error {
			return a.until(ctx, events+int64(changes*len(a.tallies)), changesOf)
		})
		return err
	}, pids...)
	if err != nil {
		return t, err
	}
	t.events, t.messages = float64(a.sum(changesOf)-events), float64(a.sum(messagesOf)-messages)
	t.service, t.api = cpu[0], cpu[1]
	return t, nil
}

type fanOutRounds []fanOutRound

// perSecond is how many events each side told for a second of its CPU time. What it
// costs a side to follow its own source, the service the API server and the API
// server its store, is counted: it is part of what a watch costs.
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
	return fmt.Sprintf("kubeconnect sent %s events in a message; with one watcher, a change cost it %s ms of CPU, and the API server, with kubeconnect as its one watcher, %s ms: both are counted",
		figure(batch), figure(service), figure(api))
}
