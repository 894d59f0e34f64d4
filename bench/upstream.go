package main

import (
	"context"
	"fmt"
	"time"
)

const (
	// cutFor is how long callers are away.
	cutFor = 5 * time.Second
	// missed is how many changes they miss.
	missed = 100
	// callersPerConnection is how many of the callers share a connection.
	callersPerConnection = 100
)

// compareUpstream tells what many callers of one resource cost the API server, and
// what it costs to cut them all off and to let them come back.
func (l *lab) compareUpstream(ctx context.Context, results *report) error {
	watches := row{what: fmt.Sprintf("upstream watches for %d callers of one resource", l.callers), against: "direct watchers", ratio: less, first: "1", then: "1"}
	lists := row{what: fmt.Sprintf("%d callers cut for 5 s and back, upstream lists", l.callers), against: "relisting", first: "0", then: "0"}
	bytes := row{what: fmt.Sprintf("the same, bytes to the callers, %d changes missed", missed), against: "relisting", unit: "MB", ratio: less, first: "missed changes", then: "missed changes"}
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

// upstreamUse is what one round has found.
type upstreamUse struct {
	watches  float64 // open at the API server for the service
	lists    float64 // made at the API server when the callers came back
	resumed  float64 // bytes that the callers were sent when they came back
	relisted float64 // and what they would have been sent as lists
}

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
	// One caller takes the whole snapshot, the others go on from there.
	first, err := s.watchedBy(podsIn(listNamespace, "")).open(ctx, 1, 1)
	if err != nil {
		return u, err
	}
	defer first.close()
	if err := first.until(ctx, 1, syncedOf); err != nil {
		return u, err
	}
	u.relisted = float64(first.sum(bytesOf)) * float64(l.callers)
	token, err := l.attend(ctx, s, first.token(), 0)
	if err != nil {
		return u, err
	}
	after, err := l.watches(ctx)
	if err != nil {
		return u, err
	}
	u.watches = after - before
	return u, l.comeBack(ctx, s, token.token, changes, &u)
}

// attended is what an audience has had when it is cut off.
type attended struct {
	token string
	bytes float64
}

// attend opens all callers at a token, waits until each has been brought a number of
// changes, and cuts them off.
func (l *lab) attend(ctx context.Context, s *service, token string, changes int64) (attended, error) {
	all, err := s.watchedBy(podsIn(listNamespace, token)).open(ctx, l.callers, callersPerConnection)
	if err != nil {
		return attended{}, err
	}
	defer all.close()
	if err := all.until(ctx, int64(l.callers), messagesOf); err != nil {
		return attended{}, err
	}
	if err := all.until(ctx, int64(l.callers)*changes, changesOf); err != nil {
		return attended{}, err
	}
	if all.sum(syncedOf) > 0 {
		return attended{}, fmt.Errorf("%d callers were sent a snapshot", all.sum(syncedOf))
	}
	return attended{token: all.token(), bytes: float64(all.sum(bytesOf))}, nil
}

// comeBack makes changes while nobody listens, and lets all callers come back.
func (l *lab) comeBack(ctx context.Context, s *service, token string, changes *changer, u *upstreamUse) error {
	before, err := l.lists(ctx)
	if err != nil {
		return err
	}
	away := time.Now()
	if err := changes.stream(ctx, missed); err != nil {
		return err
	}
	if err := pause(ctx, cutFor-time.Since(away)); err != nil {
		return err
	}
	back, err := l.attend(ctx, s, token, missed)
	if err != nil {
		return err
	}
	after, err := l.lists(ctx)
	u.lists, u.resumed = after-before, back.bytes
	return err
}

// watches is how many watches of pods are open at the API server.
func (l *lab) watches(ctx context.Context) (float64, error) {
	return l.cluster.metric(ctx, "apiserver_longrunning_requests", `resource="pods"`, `verb="WATCH"`)
}

// lists is how many lists of pods it has answered.
func (l *lab) lists(ctx context.Context) (float64, error) {
	return l.cluster.metric(ctx, "apiserver_request_total", `resource="pods"`, `verb="LIST"`)
}
