package nodes

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

const (
	workers = 8
	// The delay after a key's first failure is firstRetry. It doubles with each further failure, up
	// to lastRetry.
	firstRetry = 10 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// queue passes the keys of changed objects to play: one call at a time for each key, and again
// later if play fails.
type queue struct {
	keys workqueue.TypedRateLimitingInterface[string]
	play func(ctx context.Context, key string) error
}

func newQueue(play func(ctx context.Context, key string) error) *queue {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstRetry, lastRetry)
	return &queue{keys: workqueue.NewTypedRateLimitingQueue(limiter), play: play}
}

// follow queues the key of each object that is added or changed.
func (q *queue) follow(informer cache.SharedIndexInformer) error {
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    q.add,
		UpdateFunc: func(_, changed any) { q.add(changed) },
	})
	return err
}

func (q *queue) add(object any) {
	if key, err := cache.MetaNamespaceKeyFunc(object); err == nil {
		q.keys.Add(key)
	}
}

// run processes the queue until ctx is done.
func (q *queue) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, q.keys.ShutDown)
	defer stop()
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for q.next(ctx) {
			}
		})
	}
	group.Wait()
}

// next processes one key. It returns false when the queue is shut down.
func (q *queue) next(ctx context.Context) bool {
	key, shutdown := q.keys.Get()
	if shutdown {
		return false
	}
	defer q.keys.Done(key)
	err := q.play(ctx, key)
	if err == nil || apierrors.IsNotFound(err) {
		q.keys.Forget(key)
		return true
	}
	if !apierrors.IsConflict(err) {
		klog.ErrorS(err, "Cannot update the status; retrying", "key", key)
	}
	q.keys.AddRateLimited(key)
	return true
}
