package auth

import (
	"context"
	"fmt"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
)

// liveObjects has the UIDs of the objects of one kind that exist and are not being deleted. It
// reads only the metadata of objects, and keeps only their UIDs. It follows the cluster from the
// first call of need. Its methods are safe for concurrent use.
type liveObjects struct {
	*follower
	reviews authorizationclient.SelfSubjectAccessReviewInterface
	needed  chan struct{} // closed by need
	need    func()

	mu   sync.Mutex // guards uids
	uids map[types.UID]struct{}
}

func newLiveObjects(
	resource string,
	reviews authorizationclient.SelfSubjectAccessReviewInterface,
	api metadata.Interface,
) *liveObjects {
	client := api.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource})
	l := &liveObjects{
		follower: newFollower[metav1.PartialObjectMetadata](resource, "tokens are reviewed every few seconds", client),
		reviews:  reviews,
		needed:   make(chan struct{}),
		uids:     map[types.UID]struct{}{},
	}
	l.need = sync.OnceFunc(func() { close(l.needed) })
	return l
}

// run follows the objects, from the first call of need, until the context is done. It does not try
// to list without the permission, because granting it is the operator's choice.
func (l *liveObjects) run(ctx context.Context) {
	select {
	case <-l.needed:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		if l.isPermitted(ctx, "list") && l.isPermitted(ctx, "watch") {
			l.follow(ctx, l)
		} else {
			l.setRefused(nil)
		}
		select {
		case <-time.After(refusedPause):
		case <-ctx.Done():
		}
	}
}

// isPermitted reports whether the service is allowed to follow the objects. It returns true if the
// review fails.
func (l *liveObjects) isPermitted(ctx context.Context, verb string) bool {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	review, err := l.reviews.Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: Attributes{Verb: verb, Version: "v1", Resource: l.resource}.resource(),
		},
	}, metav1.CreateOptions{})
	return err != nil || review.Status.Allowed
}

// has reports whether an object that existed at a time certainly still exists.
func (l *liveObjects) has(uid string, since time.Time) bool {
	if !l.hasFollowed(since) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, exists := l.uids[types.UID(uid)]
	return exists
}

// isGone reports whether the objects that were followed last do not include an object.
func (l *liveObjects) isGone(uid string) bool {
	l.mu.Lock()
	_, exists := l.uids[types.UID(uid)]
	l.mu.Unlock()
	return !exists && l.currentState() == synced
}

// Add implements [cache.ReflectorStore].
func (l *liveObjects) Add(object any) error { return l.Update(object) }

// Update implements [cache.ReflectorStore].
func (l *liveObjects) Update(object any) error {
	meta, err := metadataOf(object)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	addLive(l.uids, meta)
	return nil
}

// Delete implements [cache.ReflectorStore].
func (l *liveObjects) Delete(object any) error {
	meta, err := metadataOf(object)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.uids, meta.UID)
	return nil
}

// Replace implements [cache.ReflectorStore].
func (l *liveObjects) Replace(objects []any, version string) error {
	uids := make(map[types.UID]struct{}, len(objects))
	for _, object := range objects {
		meta, err := metadataOf(object)
		if err != nil {
			return err
		}
		addLive(uids, meta)
	}
	l.mu.Lock()
	l.uids = uids
	l.mu.Unlock()
	l.UpdateResourceVersion(version)
	l.synced()
	return nil
}

// Resync implements [cache.ReflectorStore]; there is nothing to do.
func (l *liveObjects) Resync() error { return nil }

// Transformer implements [cache.TransformingStore]: a Reflector that streams the initial events
// keeps only the needed fields of each object.
func (l *liveObjects) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		meta, err := metadataOf(object)
		if err != nil {
			return nil, err
		}
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID,
			ResourceVersion: meta.ResourceVersion, DeletionTimestamp: meta.DeletionTimestamp,
		}}, nil
	}
}

// addLive adds the UID of an object. It treats an object that is being deleted as deleted: the
// API server decides for how long its tokens are still accepted.
func addLive(uids map[types.UID]struct{}, meta *metav1.PartialObjectMetadata) {
	if meta.DeletionTimestamp != nil {
		delete(uids, meta.UID)
		return
	}
	uids[meta.UID] = struct{}{}
}

func metadataOf(object any) (*metav1.PartialObjectMetadata, error) {
	meta, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return nil, fmt.Errorf("%T is not object metadata", object)
	}
	return meta, nil
}
