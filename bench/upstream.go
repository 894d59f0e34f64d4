package main

import (
	"context"
	"fmt"
	"time"
)

const (
	// cutFor is the time for which the callers are disconnected.
	cutFor = 5 * time.Second
	// missed is the number of changes in that time.
	missed = 100
	// callersPerConnection is the number of callers on each connection.
	callersPerConnection = 100
)

// compareUpstream counts the watches that many callers of one resource cause at the API server, and
// the lists and bytes when all of them are disconnected and resume.
func (l *lab) compareUpstream(ctx context.Context, results *report) error {
	watches := row{
		what:    fmt.Sprintf("upstream watches for %d callers of one resource", l.callers),
		against: "direct watchers", ratio: less, first: "1", then: "1",
	}
	lists := row{
		what:    fmt.Sprintf("%d callers cut for 5 s and back, upstream lists", l.callers),
		against: "relisting", first: "0", then: "0",
	}
	bytes := row{
		what:    fmt.Sprintf("the same, bytes to the callers, %d changes missed", missed),
		against: "relisting", unit: "MB", ratio: less, first: "missed changes", then: "missed changes",
	}
	changes, err := l.changer(ctx, func(number int) bool { return number >= fanOutPods && number < fanOutPods+missed })
	if err != nil {
		return err
	}
	defer changes.close()
	err = l.fewRounds(func(int) error {
		u, err := l.cut(ctx, changes)
		if err != nil {
			return err
		}
		watches.ours, watches.theirs = append(watches.ours, u.watches), append(watches.theirs, float64(l.callers))
		lists.ours, lists.theirs = append(lists.ours, u.lists), append(lists.theirs, float64(l.callers))
		bytes.ours, bytes.theirs = append(bytes.ours, u.resumed/1e6), append(bytes.theirs, u.relisted/1e6)
		return nil
	})
	results.add(watches, lists, bytes)
	return err
}

// upstreamUse is the result of one round.
type upstreamUse struct {
	watches  float64 // watches of the service at the API server
	lists    float64 // lists at the API server when the callers resumed
	resumed  float64 // bytes sent to the callers when they resumed
	relisted float64 // bytes that lists would have taken instead
}

// cut runs one round.
func (l *lab) cut(ctx context.Context, changes *changer) (u upstreamUse, err error) {
	before, err := l.watches(ctx)
	if err != nil {
		return u, err
	}
	s, err := l.cluster.startFilled(ctx)
	if err != nil {
		return u, err
	}
	defer s.stop()
	// One caller receives the snapshot. The others resume from its token.
	first, err := s.watchedBy(podsIn(listNamespace, "")).open(ctx, 1, 1)
	if err != nil {
		return u, err
	}
	defer first.close()
	if err := first.until(ctx, 1, syncedOf); err != nil {
		return u, err
	}
	u.relisted = float64(first.sum(bytesOf)) * float64(l.callers)
	connected, err := l.watchUntil(ctx, s, first.token(), 0)
	if err != nil {
		return u, err
	}
	after, err := l.watches(ctx)
	if err != nil {
		return u, err
	}
	u.watches = after - before
	return u, l.resumeAll(ctx, s, connected.token, changes, &u)
}

// disconnected is the state of an audience when it is disconnected: the resume token of a watcher, and
// the bytes that all watchers have received.
type disconnected struct {
	token string
	bytes float64
}

// watchUntil opens the watches of all callers at a token, blocks until each has received the given
// number of changes, and disconnects them. It returns an error if a caller has received a snapshot.
func (l *lab) watchUntil(ctx context.Context, s *service, token string, changes int64) (disconnected, error) {
	all, err := s.watchedBy(podsIn(listNamespace, token)).open(ctx, l.callers, callersPerConnection)
	if err != nil {
		return disconnected{}, err
	}
	defer all.close()
	if err := all.until(ctx, int64(l.callers), messagesOf); err != nil {
		return disconnected{}, err
	}
	if err := all.until(ctx, int64(l.callers)*changes, changesOf); err != nil {
		return disconnected{}, err
	}
	if all.sum(syncedOf) > 0 {
		return disconnected{}, fmt.Errorf("%d callers were sent a snapshot", all.sum(syncedOf))
	}
	return disconnected{token: all.token(), bytes: float64(all.sum(bytesOf))}, nil
}

// resumeAll makes changes while no caller is connected, and lets all callers resume.
func (l *lab) resumeAll(ctx context.Context, s *service, token string, changes *changer, u *upstreamUse) error {
	before, err := l.lists(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := changes.stream(ctx, missed); err != nil {
		return err
	}
	if err := pause(ctx, cutFor-time.Since(began)); err != nil {
		return err
	}
	resumed, err := l.watchUntil(ctx, s, token, missed)
	if err != nil {
		return err
	}
	after, err := l.lists(ctx)
	u.lists, u.resumed = after-before, resumed.bytes
	return err
}

// watches returns the number of open watches of pods at the API server.
func (l *lab) watches(ctx context.Context) (float64, error) {
	return l.cluster.metric(ctx, "apiserver_longrunning_requests", `resource="pods"`, `verb="WATCH"`)
}

// lists returns the number of lists of pods that the API server has served.
func (l *lab) lists(ctx context.Context) (float64, error) {
	return l.cluster.metric(ctx, "apiserver_request_total", `resource="pods"`, `verb="LIST"`)
}
