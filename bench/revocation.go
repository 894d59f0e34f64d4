package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// revokedPace is the interval between changes in the namespace that is watched.
	revokedPace = 4 * time.Millisecond
	// watchedFor and watchedMost bound the duration of a watch before its caller's permission is revoked.
	watchedFor  = 1500 * time.Millisecond
	watchedMost = 2500 * time.Millisecond
	// observedAfter is how long the direct watch is observed after the revocation.
	observedAfter = time.Second
	// endTimeout is the time limit for the end of a watch after the revocation. It is much longer than
	// the interval at which the service re-checks all permissions.
	endTimeout = 30 * time.Second
)

// compareRevocation measures how long a watch continues after the only binding that allows its caller
// to read the pods is deleted. It revokes the permission of one caller after the other. The API server
// checks permissions only when a watch begins, so there is no ratio.
func (l *lab) compareRevocation(ctx context.Context, results *report) error {
	everywhere, err := l.cluster.readerEverywhere(ctx)
	if err != nil {
		return err
	}
	callers, err := l.cluster.readersToRevoke(ctx, l.revoked)
	if err != nil {
		return err
	}
	s, err := l.cluster.startForCallers(ctx, everywhere)
	if err != nil {
		return err
	}
	defer s.stop()
	changes, err := l.changer(ctx, func(number int) bool { return number < fanOutPods })
	if err != nil {
		return err
	}
	defer changes.close()
	var all []revoked
	err = changes.meanwhile(ctx, revokedPace, func(ctx context.Context) (err error) {
		all, err = l.revokeAll(ctx, s, callers)
		return err
	})
	if err == nil {
		reportRevoked(all, results)
	}
	return err
}

func (c *controlPlane) readersToRevoke(ctx context.Context, count int) ([]account, error) {
	all := make([]account, count)
	err := inParallel(ctx, parallelCreates, count, func(i int) (err error) {
		all[i], err = c.readerOf(ctx, fmt.Sprintf("revoked-%d", i), fanOutNamespace)
		return err
	})
	return all, err
}

// revoked is the timing of one caller's revocation, in milliseconds.
type revoked struct {
	sinceSent float64 // from the request that deleted the binding to the last event
	last      float64 // from the response to that request to the last event
	refused   float64 // from the response to the end of the watch
	direct    float64 // from the response to the last event of the direct watch while it was observed
}

func reportRevoked(all []revoked, results *report) {
	const against = "a direct watch, which continues"
	sent := row{
		what:    fmt.Sprintf("from a revocation's request to the last byte, p50 of %d", len(all)),
		against: against, unit: "ms",
	}
	last := row{what: "the same, from its response", against: against, unit: "ms"}
	refused := row{what: "the same, from its response to the stream's end", against: against, unit: "ms"}
	var direct []float64
	for _, r := range all {
		sent.ours = append(sent.ours, r.sinceSent)
		last.ours = append(last.ours, r.last)
		refused.ours = append(refused.ours, r.refused)
		direct = append(direct, r.direct)
	}
	results.add(sent, last, refused)
	results.remark("each caller's direct watch still delivered changes %s ms or more after the revocation",
		figure(slices.Min(direct)))
}

// revokeAll revokes the permission of one caller after the other.
func (l *lab) revokeAll(ctx context.Context, s *service, callers []account) (all []revoked, err error) {
	for _, caller := range callers {
		r, err := l.revokeFrom(ctx, s, caller)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", caller.name, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// revokeFrom opens a caller's watches at the service and at the API server, revokes the caller's
// permission, and blocks until the service has ended its watch.
func (l *lab) revokeFrom(ctx context.Context, s *service, caller account) (r revoked, err error) {
	ours, err := s.as(caller).watchChanges()
	if err != nil {
		return r, err
	}
	defer ours.close()
	theirs, err := l.cluster.watchChangesAs(ctx, caller)
	if err != nil {
		return r, err
	}
	defer theirs.close()
	if err := pause(ctx, watchedFor+rand.N(watchedMost-watchedFor)); err != nil {
		return r, err
	}
	if ours.last.Load() == nil || theirs.last.Load() == nil {
		return r, errors.New("a watch has not delivered any change")
	}
	sent := time.Now()
	if err := l.cluster.revoke(ctx, caller, fanOutNamespace); err != nil {
		return r, err
	}
	answered := time.Now()
	refused, err := ours.refused(ctx)
	if err != nil {
		return r, err
	}
	err = pause(ctx, observedAfter)
	return revoked{
		sinceSent: milliseconds(ours.last.Load().Sub(sent)),
		last:      milliseconds(ours.last.Load().Sub(answered)),
		refused:   milliseconds(refused.Sub(answered)),
		direct:    milliseconds(theirs.last.Load().Sub(answered)),
	}, err
}

// changesWatch is a watch on its own connection, with the time of its last change.
type changesWatch struct {
	*stream
	on   *connection
	last atomic.Pointer[time.Time]
}

func (w *changesWatch) close() { w.on.close() }

func (w *changesWatch) note(_ []byte, at time.Time) { w.last.Store(&at) }

// watchChanges opens a watch at the service. The caller must call close.
func (s *service) watchChanges() (*changesWatch, error) {
	on, err := s.dial()
	if err != nil {
		return nil, err
	}
	w := &changesWatch{on: on}
	if w.stream, err = s.watch(on, podsIn(fanOutNamespace, "")(0), eachModified(w.note)); err != nil {
		w.close()
	}
	return w, err
}

// watchChangesAs opens a watch at the API server as a service account. The caller must call close.
func (c *controlPlane) watchChangesAs(ctx context.Context, caller account) (*changesWatch, error) {
	version, err := c.version(ctx, fanOutNamespace)
	if err != nil {
		return nil, err
	}
	on, err := c.dialAs(caller)
	if err != nil {
		return nil, err
	}
	w := &changesWatch{on: on}
	if w.stream, err = c.watch(on, fanOutNamespace, version, asStream, eachMessage(kubeHead, w.note)); err != nil {
		w.close()
	}
	return w, err
}

// refused blocks until the watch ends because its caller is no longer allowed to read, and returns the
// time of its end.
func (w *changesWatch) refused(ctx context.Context) (time.Time, error) {
	select {
	case <-w.ended:
	case <-time.After(endTimeout):
		return time.Time{}, fmt.Errorf("the watch has not ended after %s", endTimeout)
	case <-ctx.Done():
		return time.Time{}, context.Cause(ctx)
	}
	at := time.Now()
	if w.failure == nil || !strings.Contains(w.failure.Error(), "forbidden") {
		return at, fmt.Errorf("the watch has not ended as forbidden: %w", w.failure)
	}
	return at, nil
}
