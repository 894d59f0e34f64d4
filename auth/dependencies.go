package auth

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/kubernetes"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
)

// maxSkew is the tolerated difference between the clocks of the service and of the API server. From
// this time before its expiration, a token is reviewed every few seconds.
const maxSkew = time.Minute

// dependencies follows the objects and keys that service account tokens depend on: the issuer's
// keys, the service account, and the pod. While all of them exist, an accepted token need not be
// reviewed again. dependencies never accepts a token: only the API server does. The zero value
// follows nothing. The methods are safe for concurrent use.
type dependencies struct {
	ttl      time.Duration // how long the review of a token is cached
	issuer   *issuer
	accounts *liveObjects
	pods     *liveObjects
}

// newDependencies returns dependencies that are read through client and objects.
func newDependencies(client kubernetes.Interface, objects metadata.Interface, ttl time.Duration) *dependencies {
	reviews := client.AuthorizationV1().SelfSubjectAccessReviews()
	return &dependencies{
		ttl:      ttl,
		issuer:   newIssuer(client.Discovery().RESTClient()),
		accounts: newLiveObjects("serviceaccounts", reviews, objects),
		pods:     newLiveObjects("pods", reviews, objects),
	}
}

// run follows the dependencies until the context is done. It follows objects only after a token
// depends on one.
func (d *dependencies) run(ctx context.Context) {
	if d.ttl == 0 {
		return
	}
	var running sync.WaitGroup
	running.Go(func() { d.issuer.run(ctx) })
	running.Go(func() { d.accounts.run(ctx) })
	running.Go(func() { d.pods.run(ctx) })
	running.Wait()
}

// dependenciesOf returns the dependencies of an accepted token, and the time until which it need not be
// reviewed while they exist. The time is zero if they are not known.
func (d *dependencies) dependenciesOf(token string, accepted Identity, reviewed time.Time) (boundTo, time.Time) {
	if d.ttl == 0 || !strings.HasPrefix(accepted.Username, serviceaccount.ServiceAccountUsernamePrefix) {
		return boundTo{}, time.Time{}
	}
	bound, err := d.issuer.verify(token, accepted)
	if err != nil {
		slog.Debug("service account token is reviewed every few seconds", "user", accepted.Username, "error", err)
		return boundTo{}, time.Time{}
	}
	d.accounts.need()
	if bound.pod != "" {
		d.pods.need()
	}
	// Tokens that were reviewed together are not reviewed together again.
	until := reviewed.Add(d.ttl - rand.N(d.ttl/2+1))
	if end := bound.expires.Add(-maxSkew); end.Before(until) {
		until = end
	}
	return bound, until
}

// allExist reports whether all dependencies of a token are known to exist unchanged since the token was
// reviewed.
func (d *dependencies) allExist(bound boundTo, reviewed time.Time) bool {
	return d.issuer.has(bound.key) && d.accounts.has(bound.account, reviewed) &&
		(bound.pod == "" || d.pods.has(bound.pod, reviewed))
}

// isGone reports whether something that a token depends on was seen to be deleted. It returns false if
// the dependencies are not known.
func (d *dependencies) isGone(bound boundTo) bool {
	return bound.account != "" && (d.accounts.isGone(bound.account) || bound.pod != "" && d.pods.isGone(bound.pod))
}

// liveObjects has the UIDs of the objects of one kind that exist and are not being deleted. It
// reads only the metadata of objects, and keeps only their UIDs. It follows the cluster from the
// first call of need. Its methods are safe for concurrent use.
type liveObjects struct {
	follower *follower
	reviews  authorizationclient.SelfSubjectAccessReviewInterface
	needed   chan struct{} // closed by need
	need     func()

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
			l.follower.follow(ctx, l)
		} else {
			l.follower.setRefused(nil)
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
			ResourceAttributes: Attributes{Verb: verb, Version: "v1", Resource: l.follower.resource}.resource(),
		},
	}, metav1.CreateOptions{})
	return err != nil || review.Status.Allowed
}

// has reports whether an object that existed at a time certainly still exists.
func (l *liveObjects) has(uid string, since time.Time) bool {
	if !l.follower.hasFollowed(since) {
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
	return !exists && l.follower.currentState() == synced
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
	l.follower.UpdateResourceVersion(version)
	l.follower.synced()
	return nil
}

// Resync implements [cache.ReflectorStore]; there is nothing to do.
func (l *liveObjects) Resync() error { return nil }

// UpdateResourceVersion implements [cache.ResourceVersionUpdater].
func (l *liveObjects) UpdateResourceVersion(version string) {
	l.follower.UpdateResourceVersion(version)
}

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
