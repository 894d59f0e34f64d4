package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// writers is how many changes are made at a time in a burst.
const writers = 16

// changer makes changes that nobody else makes, so that none is without effect.
type changer struct {
	cluster *controlPlane
	places  []place // the pods that are changed in turn
	made    atomic.Int64
}

func (l *lab) changer(concerned func(number int) bool) *changer {
	c := &changer{cluster: l.cluster}
	for number := range l.pods {
		if concerned(number) {
			c.places = append(c.places, placeOf(number, l.pods))
		}
	}
	return c
}

// changeOne changes an annotation of the next pod.
func (c *changer) changeOne(ctx context.Context) error {
	number := c.made.Add(1)
	at := c.places[int(number)%len(c.places)]
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"bench.example.com/change":"%d"}}}`, number)
	_, err := c.cluster.client.CoreV1().Pods(at.namespace).
		Patch(ctx, at.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "bench"})
	return err
}

// burst makes changes as fast as the API server takes them.
func (c *changer) burst(ctx context.Context, changes int) error {
	return inParallel(ctx, writers, changes, func(int) error { return c.changeOne(ctx) })
}

// trickle makes changes at a steady rate for a while, and answers how many.
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

// inParallel does something for every number below count, and returns the first
// error.
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
