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
	// revokedPace is how far apart the changes are in the namespace that is watched.
	revokedPace = 4 * time.Millisecond
	// Each caller watches for a while before its right is taken away, at least and at most.
	watchedFor  = 1500 * time.Millisecond
	watchedMost = 2500 * time.Millisecond
	// lookedOn is for how long the direct watch is looked at afterwards.
	lookedOn = time.Second
	// endTimeout is when the watch must have ended: long after the service has looked at
	// all rights again in any case.
	endTimeout = 30 * time.Second
)

// compareRevocation tells for how long callers are still told of pods, one after the
// other, when a binding of their own is deleted that was all their right to them. The
// API server looks at rights when a watch begins and not again, so there is nothing to
// hold that against.
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
		tellRevoked(all, results)
	}
	return err
}

func (c *controlPlane) readersToRevoke(ctx context.Context, count int) ([]account, error) {
	all := make([]account, count)
	err := inParallel(ctx, makers, count, func(i int) (err error) {
		all[i], err = c.readerOf(ctx, fmt.Sprintf("revoked-%d", i), fanOutNamespace)
		return err
	})
	return all, err
}

// revoked is what became of one caller's watch, in milliseconds.
type revoked struct {
	sinceSent float64 // from the request that took the right until the last content
	last      float64 // from that request's answer until the last content
	refused   float64 // and until the watch was ended
	direct    float64 // and until the direct watch brought something last while it was looked at
}

func tellRevoked(all []revoked, results *report) {
	const against = "a direct watch, which goes on"
	sent := row{what: fmt.Sprintf("from a revocation's request to the last byte, p50 of %d", len(all)), against: against, unit: "ms"}
	last := row{what: "the same, from its answer", against: against, unit: "ms"}
	refused := row{what: "the same, from its answer to the stream's end", against: against, unit: "ms"}
	var direct []float64
	for _, r := range all {
		sent.ours, last.ours, refused.ours = append(sent.ours, r.sinceSent), append(last.ours, r.last), append(refused.ours, r.refused)
		direct = append(direct, r.direct)
	}
	results.add(sent, last, refused)
	results.remark("%s ms and more after the revocations, each caller's direct watch still brought changes", figure(slices.Min(direct)))
}

// revokeAll takes one caller's right after the other.
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

// revokeFrom lets a caller watch both ways, takes its right away, and waits until the
// service has ended its watch.
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
		return r, errors.New("a watch has brought nothing yet")
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
	err = pause(ctx, lookedOn)
	return revoked{
		sinceSent: milliseconds(ours.last.Load().Sub(sent)),
		last:      milliseconds(ours.last.Load().Sub(answered)),
		refused:   milliseconds(refused.Sub(answered)),
		direct:    milliseconds(theirs.last.Load().Sub(answered)),
	}, err
}

// changesWatch is a watch with a connection of its own, and when it has told of a
// change last.
type changesWatch struct {
	*stream
	on   *connection
	last atomic.Pointer[time.Time]
}

func (w *changesWatch) close() { w.on.close() }

func (w *changesWatch) note(_ []byte, at time.Time) { w.last.Store(&at) }

// watchChanges watches at the service. The caller must call close.
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

// watchChangesAs watches at the API server. The caller must call close.
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

// refused waits until a watch is ended because its caller may not read any more, and
// answers when that was.
func (w *changesWatch) refused(ctx context.Context) (time.Time, error) {
	select {
	case <-w.ended:
	case <-time.After(endTimeout):
		return time.Time{}, fmt.Errorf("the watch goes on after %s", endTimeout)
	case <-ctx.Done():
		return time.Time{}, context.Cause(ctx)
	}
	at := time.Now()
	if w.failure == nil || !strings.Contains(w.failure.Error(), "forbidden") {
		return at, fmt.Errorf("the watch has ended, but not as one that is forbidden: %w", w.failure)
	}
	return at, nil
}
