package informerhub

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/coalesce"
	"github.com/kubeconnect/kubeconnect/internal/tracing"

	"go.opentelemetry.io/otel/trace"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// upstream is the connection of one cache to the API server: it lists and watches for the
// Reflector, and records the outcome in the cache.
type upstream struct {
	client rest.Interface
	cache  *Cache
	scope  scope
	// metadataOnly requests only the objects' metadata.
	metadataOnly bool
	// served reports whether the API server still serves the resource, with the same kind and scope
	// as the cache.
	served      func(context.Context) (bool, error)
	definitions *definitions
	memory      *privateMemory // of a private cache; nil otherwise
	// versions returns the API server's current version. Callers with a version that the cache has
	// not reached share the request.
	versions *coalesce.Requests[string]
	tracer   trace.Tracer // of a shared cache; nil without traces
	// endRun ends the running Reflector; nil before the first one.
	endRun atomic.Pointer[context.CancelFunc]
}

// backoff returns the pauses of the Reflector between attempts. They are short, about five seconds
// at most, because a cache that is behind justifies an attempt.
func backoff() *wait.Backoff {
	return &wait.Backoff{
		Duration: 100 * time.Millisecond,
		Factor:   2,
		Steps:    8,
		Cap:      5 * time.Second,
		Jitter:   0.2,
	}
}

// run keeps the cache up to date until the context ends or the API server no longer serves the
// resource.
func (u *upstream) run(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer u.versions.CloseWithError(ErrClosed)
	defer u.definitions.join(ctx, u, stop)()
	for ctx.Err() == nil {
		u.reflect(ctx, stop)
	}
}

// reflect runs a Reflector until the context ends or relist is called.
func (u *upstream) reflect(ctx context.Context, stop context.CancelFunc) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	u.endRun.Store(&end)
	lists := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := u.list(ctx, u.notOlder(options))
			if u.endIfUnserved(ctx, err) {
				stop()
			}
			return list, err
		},
		WatchFuncWithContext: u.watch,
	}
	reflector := cache.NewReflectorWithOptions(lists, &Object{}, u.store(), cache.ReflectorOptions{
		Name:            "informerhub",
		TypeDescription: u.cache.resource.String(),
		Backoff:         backoff(),
	})
	var closing sync.WaitGroup
	closing.Go(func() { u.cache.closeVersions(ctx) })
	closing.Go(func() { u.cache.confirmCurrent(ctx) })
	closing.Go(func() { u.cache.checkDeletions(ctx) })
	reflector.RunWithContext(ctx)
	end()
	closing.Wait()
}

// store returns the store that the Reflector fills.
func (u *upstream) store() cache.ReflectorStore {
	if u.memory != nil {
		return boundedStore{u.cache, u.memory}
	}
	return u.cache
}

// relist makes the cache compare its state with a new list. Watchers receive the differences.
func (u *upstream) relist() {
	if end := u.endRun.Load(); end != nil {
		(*end)()
	}
}

// notOlder requests a list that is not older than the cache. The Reflector requests any version at
// first, and later one that it has seen. The cache may have advanced past that version through an
// answer of the API server, see progress.
func (u *upstream) notOlder(options metav1.ListOptions) metav1.ListOptions {
	cached := u.cache.reachedVersion()
	requested := options.ResourceVersion
	if requested == "0" && isRequestable(cached) || requested != "" && object.Older(requested, cached) {
		options.ResourceVersion, options.ResourceVersionMatch = cached, metav1.ResourceVersionMatchNotOlderThan
		options.Limit = 0 // with a limit, some API servers read the version as an exact one
	}
	return options
}

func (u *upstream) request(options metav1.ListOptions) *rest.Request {
	options.LabelSelector = u.scope.labels
	options.FieldSelector = joinSelectors(u.scope.fields, options.FieldSelector)
	request := u.client.Get()
	switch {
	case u.metadataOnly && options.Watch:
		request = object.RequestMetadata(request, u.cache.resource, object.PartialKind)
	case u.metadataOnly:
		request = object.RequestMetadata(request, u.cache.resource, object.PartialListKind)
	}
	return request.
		NamespaceIfScoped(u.scope.namespace, u.scope.namespace != "").
		Resource(u.cache.resource.Name).
		SpecificallyVersionedParams(&options, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"})
}

func (u *upstream) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if options.Continue == "" {
		u.cache.listStarted(options.ResourceVersion)
	}
	if u.memory != nil {
		options = u.memory.listOptions(options)
	}
	ctx, span := u.beginSpan(ctx, "list")
	list, err := u.request(options).Do(ctx).Get()
	tracing.End(span, err)
	if err != nil {
		u.recordFailure(ctx, err)
		return nil, err
	}
	u.cache.recordSuccess()
	if page, ok := list.(*object.List); ok && u.memory != nil {
		return list, u.memory.receive(page.Items...)
	}
	return list, nil
}

func (u *upstream) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	u.cache.watchClosed()
	lists := options.SendInitialEvents != nil && *options.SendInitialEvents
	if lists {
		options = u.notOlder(options)
		u.cache.listStarted(options.ResourceVersion)
	} else {
		options.ResourceVersion = u.cache.watchFrom(options.ResourceVersion)
	}
	ctx, span := u.beginSpan(ctx, "watch")
	ctx, over := traceLink(ctx)
	events, err := u.request(options).Watch(ctx)
	if err != nil || !lists {
		tracing.End(span, err)
	}
	switch {
	case err == nil:
		u.cache.recordSuccess()
		u.cache.watchOpened(lists, over())
		ended := func() { u.cache.watchClosed(); span.End() }
		events = newEndingWatch(events, ended, endWithSnapshot(span, u.eventCounter(lists)))
	case utilnet.IsConnectionRefused(err), apierrors.IsTooManyRequests(err):
		u.recordFailure(ctx, err)
	}
	// After any other error the Reflector lists, and the outcome of the list decides: an API server
	// without watch-list rejects such a watch although it is healthy.
	return events, err
}

// eventCounter returns the function that counts the objects of a watch; nil if they are not
// counted. With lists, the watch begins with a snapshot.
func (u *upstream) eventCounter(lists bool) func(watch.Event) bool {
	if u.memory == nil {
		return nil
	}
	if lists {
		u.memory.beginSnapshot()
	}
	return u.memory.admit
}

func (u *upstream) recordFailure(ctx context.Context, err error) {
	if ctx.Err() == nil {
		u.cache.recordFailure(discovery.AsUnavailable(ctx, u.client, err))
	}
}

// endIfUnserved ends the cache if an error shows that the resource is no longer served.
func (u *upstream) endIfUnserved(ctx context.Context, err error) bool {
	if !apierrors.IsNotFound(err) {
		return false
	}
	if served, err := u.served(ctx); served || err != nil {
		return false
	}
	u.endUnserved()
	return true
}

// endUnserved ends the cache, because the API server serves another resource instead.
func (u *upstream) endUnserved() {
	u.cache.end(&discovery.ResourceGoneError{Resource: u.cache.resource})
}

// supports asks the API server whether it can select by a field.
func (u *upstream) supports(ctx context.Context, field string) error {
	err := u.request(metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector(field, "-").String(),
		ResourceVersion: "0",
		Limit:           1,
	}).Do(ctx).Error()
	if err != nil {
		return discovery.AsUnavailable(ctx, u.client, err)
	}
	return nil
}
