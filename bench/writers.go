package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// writers is the number of concurrent changes outside of bursts.
const writers = 16

// changer changes pods in etcd, without the API server. No other writer may change the same pods. A
// pod must not be changed again before its previous change is written.
type changer struct {
	store   *store
	pods    []*storedPod // changed in turn
	places  []place      // of the pods
	written atomic.Int64
}

// changer returns a changer of the pods whose numbers are selected. The caller must call close.
func (l *lab) changer(ctx context.Context, concerned func(number int) bool) (*changer, error) {
	s, err := openStore(l.cluster)
	if err != nil {
		return nil, err
	}
	c := &changer{store: s}
	if err := c.read(ctx, l.placesOf(concerned)); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (l *lab) placesOf(concerned func(number int) bool) (places []place) {
	for number := range l.pods {
		if concerned(number) {
			places = append(places, placeOf(number, l.pods))
		}
	}
	return places
}

func (c *changer) read(ctx context.Context, places []place) error {
	c.pods, c.places = make([]*storedPod, len(places)), places
	return inParallel(ctx, writers, len(places), func(i int) (err error) {
		c.pods[i], err = c.store.readPod(ctx, places[i])
		return err
	})
}

func (c *changer) close() { c.store.close() }

// changePhases makes each later change concern the phase of the pod too.
func (c *changer) changePhases() error {
	for _, pod := range c.pods {
		if err := pod.changePhase(); err != nil {
			return err
		}
	}
	return nil
}

// shuffle makes later changes concern the pods in a random order. It must not be called while pods are
// changed.
func (c *changer) shuffle() {
	rand.Shuffle(len(c.pods), func(i, j int) {
		c.pods[i], c.pods[j] = c.pods[j], c.pods[i]
		c.places[i], c.places[j] = c.places[j], c.places[i]
	})
}

// changeOne changes the next pod.
func (c *changer) changeOne(ctx context.Context) error {
	number := int(c.written.Add(1))
	return c.pods[number%len(c.pods)].change(ctx, c.store)
}

// next returns the places of the pods that the next changes concern.
func (c *changer) next(changes int) (places []place) {
	for number := range changes {
		places = append(places, c.places[(int(c.written.Load())+1+number)%len(c.places)])
	}
	return places
}

// burst makes all changes concurrently. There must be at least as many pods as changes.
func (c *changer) burst(ctx context.Context, changes int) error {
	return inParallel(ctx, changes, changes, func(int) error { return c.changeOne(ctx) })
}

// stream makes changes as fast as etcd accepts them.
func (c *changer) stream(ctx context.Context, changes int) error {
	return inParallel(ctx, writers, changes, func(int) error { return c.changeOne(ctx) })
}

// trickle makes a change in every interval for a duration, and returns the number of changes.
func (c *changer) trickle(ctx context.Context, each, lasting time.Duration) (changes int, err error) {
	ticker := time.NewTicker(each)
	defer ticker.Stop()
	for began := time.Now(); time.Since(began) < lasting; changes++ {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return changes, context.Cause(ctx)
		}
		if err := c.changeOne(ctx); err != nil {
			return changes, err
		}
	}
	return changes, nil
}

// bursts makes a number of changes in bursts, one in every interval.
func (c *changer) bursts(ctx context.Context, burst int, each time.Duration, changes int) error {
	ticker := time.NewTicker(each)
	defer ticker.Stop()
	for made := 0; made < changes; made += burst {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := c.burst(ctx, min(burst, changes-made)); err != nil {
			return err
		}
	}
	return nil
}

// meanwhile makes a change in every interval while a function runs. The function's context is
// canceled if a change fails.
func (c *changer) meanwhile(ctx context.Context, each time.Duration, do func(context.Context) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		if _, err := c.trickle(ctx, each, runTimeout); ctx.Err() == nil {
			fail(err)
		}
	})
	err := do(ctx)
	fail(nil)
	running.Wait()
	return err
}

// inParallel calls a function for every number below count, in the given number of goroutines, and
// returns the first error.
func inParallel(ctx context.Context, workers, count int, do func(number int) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var next atomic.Int64
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for number := int(next.Add(1)) - 1; number < count && ctx.Err() == nil; number = int(next.Add(1)) - 1 {
				if err := do(number); err != nil {
					fail(err)
				}
			}
		})
	}
	working.Wait()
	return context.Cause(ctx)
}
