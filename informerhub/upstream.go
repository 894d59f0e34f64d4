package informerhub

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

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

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/coalesce"
	"github.com/kubeconnect/kubeconnect/internal/tracing"
	"github.com/kubeconnect/kubeconnect/internal/watchlist"
)

// upstream is the connection of one cache to the API server: it lists and watches for the
// Reflector, and records the outcome in the cache.
type upstream struct {
	client rest.Interface
	cache  *scopeCache
	scope  scope
	// metadataOnly requests only the objects' metadata.
	metadataOnly bool
	// denied reports that the API server has denied a list or a watch; nil if nobody needs to know.
	denied func()
	// served reports whether the API server still serves the resource, with the same kind and scope
	// as the cache.
	served      func(context.Context) (bool, error)
	definitions *definitions
	watchLists  *watchlist.Guard
	memory      *privateMemory // of a private cache; nil otherwise
	// versions returns the API server's current version. Callers with a version that the cache has
	// not reached share the request.
	versions *coalesce.Requests[string]
	// reads returns it too, for callers that read the newest state, at a higher rate.
	reads  *coalesce.Requests[string]
	tracer trace.Tracer // of a shared cache; nil without traces
	delay  retryDelay
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
	defer u.reads.CloseWithError(ErrClosed)
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
	var verifying sync.WaitGroup
	verifying.Go(func() { u.cache.verifier.run(ctx) })
	reflector.RunWithContext(ctx)
	end()
	verifying.Wait()
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
	if err := u.delay.wait(ctx); err != nil {
		return nil, err
	}
	if options.Continue == "" {
		u.cache.listStarted(options.ResourceVersion)
	}
	if u.memory != nil {
		options = u.memory.listOptions(options)
	}
	ctx, span := u.beginSpan(ctx, "list")
	list, err := u.request(options).Do(u.delay.trace(ctx)).Get()
	tracing.End(span, err)
	u.watchLists.Listed(err)
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
	if err := u.delay.wait(ctx); err != nil {
		return nil, err
	}
	if options.SendInitialEvents != nil && *options.SendInitialEvents {
		return u.watchList(ctx, u.notOlder(options))
	}
	options.ResourceVersion = u.cache.watchFrom(options.ResourceVersion)
	ctx, span := u.beginSpan(ctx, "watch")
	ctx, over := traceLink(ctx)
	events, err := u.open(ctx, options)
	tracing.End(span, err)
	if err != nil {
		return nil, err
	}
	u.cache.watchOpened(false, over())
	return watchlist.Follow(events, u.cache.watchClosed, func(event watch.Event) bool { return u.admit(ctx, event) }), nil
}

// watchList opens a watch that begins with a snapshot. After an error the Reflector lists.
func (u *upstream) watchList(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	ctx, over := traceLink(ctx)
	ctx, attempt, err := u.watchLists.Begin(ctx, func() bool { return over().isStalled() })
	if err != nil {
		return nil, err
	}
	u.cache.listStarted(options.ResourceVersion)
	ctx, span := u.beginSpan(ctx, "watch")
	events, err := u.open(ctx, options)
	if err != nil {
		attempt.End()
		tracing.End(span, err)
		return nil, err
	}
	u.cache.watchOpened(true, over())
	if u.memory != nil {
		u.memory.beginSnapshot()
	}
	ended := func() { u.cache.watchClosed(); attempt.End(); span.End() }
	return watchlist.Follow(events, ended, func(event watch.Event) bool {
		attempt.Observe(event)
		if watchlist.Completes(event) {
			span.End() // the span is of the snapshot
		}
		return u.admit(ctx, event)
	}), nil
}

// open opens a watch, and records the outcome.
func (u *upstream) open(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	events, err := u.request(options).Watch(u.delay.trace(ctx))
	switch {
	case err == nil:
		u.cache.recordSuccess()
	case utilnet.IsConnectionRefused(err), apierrors.IsTooManyRequests(err):
		u.recordFailure(ctx, err)
	}
	// After any other error the Reflector lists, and the outcome of the list decides: an API server
	// without watch-list rejects such a watch although it is healthy.
	return events, err
}

// admit takes an event of a watch. It reports whether there is memory for its object.
func (u *upstream) admit(ctx context.Context, event watch.Event) bool {
	if event.Type == watch.Error {
		if err := apierrors.FromObject(event.Object); apierrors.IsTooManyRequests(err) {
			u.recordFailure(ctx, err)
		}
	}
	return u.memory == nil || u.memory.admit(event)
}

func (u *upstream) recordFailure(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if isDenied(err) && u.denied != nil {
		u.denied()
	}
	if until, throttled := u.delay.after(err); throttled {
		u.cache.recordThrottling(err, until)
		return
	}
	u.cache.recordFailure(discovery.AsUnavailable(ctx, u.client, err))
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

// hasReached implements history. Clients can send arbitrary versions. So concurrent callers share
// one request, and a version that is far ahead is rejected without a request for a while. A version
// that is near needs a new request, because the API server may have reached it since.
func (u *upstream) hasReached(ctx context.Context, version string) (bool, error) {
	if latest, ok := u.versions.LastWithin(farAheadTTL); ok && isFarAhead(latest, version) {
		return false, nil
	}
	current, err := u.versions.Fresh(ctx)
	return err == nil && !object.Older(current, version), err
}

const (
	// farAheadTTL is the time for which the API server is not asked again about a version that
	// is far ahead of it.
	farAheadTTL = 10 * time.Second
	// maxChanges is more than the number of changes that an API server can make in that time.
	maxChanges = 10_000_000
)

// isFarAhead reports whether an API server at one version cannot soon reach another.
func isFarAhead(current, version string) bool {
	reached, requested := object.VersionNumber(current), object.VersionNumber(version)
	return reached < math.MaxUint64-maxChanges && requested > reached+maxChanges
}

// newestPerSecond is the rate of requests for the current version that readers of the newest state cause. Each takes the API server
// about as long as a read of one object.
const newestPerSecond = 50

// newest implements history.
func (u *upstream) newest(ctx context.Context) (string, error) { return u.reads.Fresh(ctx) }

// askCurrent requests the current version for all callers that share the request.
func (u *upstream) askCurrent() (string, error) { return u.current(context.Background()) }

// current implements history.
func (u *upstream) current(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, historySeconds*time.Second)
	defer cancel()
	return listedVersion(ctx, u.request(metav1.ListOptions{Limit: 1}))
}

// watchSince watches the events after a version, for at most historySeconds.
func (u *upstream) watchSince(ctx context.Context, version string) (watch.Interface, error) {
	seconds := int64(historySeconds)
	return u.request(metav1.ListOptions{
		ResourceVersion:     version,
		AllowWatchBookmarks: true,
		TimeoutSeconds:      &seconds,
		Watch:               true,
	}).Watch(ctx)
}

// historyError distinguishes an expired version from other errors of the API server.
func historyError(err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return errHistoryExpired
	}
	return err
}

// deletions implements history.
//
// The API server sends a bookmark only if it is newer than the last event. If the last change of
// the resource is the last change of the cluster too, that event ends the history.
func (u *upstream) deletions(ctx context.Context, since, until string) ([]latest, error) {
	ctx, cancel := context.WithTimeout(ctx, (historySeconds+1)*time.Second)
	defer cancel()
	events, err := u.watchSince(ctx, since)
	if err != nil {
		return nil, historyError(err)
	}
	defer events.Stop()
	began, reached := time.Now(), since
	var deleted []latest
	for event := range events.ResultChan() {
		state, ok := event.Object.(*Object)
		if !ok {
			if err := historyError(apierrors.FromObject(event.Object)); err == errHistoryExpired {
				return nil, err
			}
			return nil, errHistoryEnded
		}
		reached = state.ResourceVersion()
		// There may be other deletions at the version of a deletion.
		if object.Older(until, reached) || reached == until && event.Type != watch.Deleted {
			return deleted, nil
		}
		if event.Type == watch.Deleted {
			deleted = append(deleted, latest{object: state.HeadOnly(), deleted: true, version: state.ResourceVersion()})
		}
	}
	switch {
	case time.Since(began) < (historySeconds-1)*time.Second:
		return nil, errHistoryEnded
	case reached == until: // the API server has sent all deletions at this version meanwhile
		return deleted, nil
	}
	return nil, errHistorySilent
}

// bookmarkTimeout is the time to wait for the bookmark of a watch of historySeconds. It is due after
// one second, and the API server looks for due bookmarks every 1.25 seconds at least.
const bookmarkTimeout = 2500 * time.Millisecond

// progressAgainAfter is the time after which the version of the API server is requested again while a bookmark of a namespace is
// awaited.
const progressAgainAfter = 500 * time.Millisecond

// progress implements history.
//
// The API server leaves out the bookmark of a watch of a namespace if its version is that of the last change of the resource, and
// that change was in another namespace. So its version is requested again meanwhile: then it is newer in a cluster where
// anything changes.
func (u *upstream) progress(ctx context.Context, since string, known func(watch.Event) bool) (string, error) {
	if _, err := u.current(ctx); err != nil { // brings the API server's own cache up to date
		return "", err
	}
	watchCtx, cancel := context.WithTimeout(ctx, bookmarkTimeout)
	defer cancel()
	events, err := u.watchSince(watchCtx, since)
	if err != nil {
		return "", err
	}
	defer events.Stop()
	if u.scope.namespace != "" {
		defer u.askAgain(watchCtx)()
	}
	for event := range events.ResultChan() {
		object, ok := event.Object.(*Object)
		switch {
		case ok && event.Type == watch.Bookmark:
			return object.ResourceVersion(), nil
		case !known(event):
			return "", errNoProgress
		}
	}
	if ctx.Err() == nil && watchCtx.Err() != nil {
		return "", errNoBookmarks
	}
	return "", errNoProgress
}

// askAgain requests the current version of the API server after a while, unless the returned function was called before.
func (u *upstream) askAgain(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	asking.Go(func() {
		if pause(ctx, progressAgainAfter) {
			_, _ = u.current(ctx) // only brings the API server's own cache up to date
		}
	})
	return func() {
		cancel()
		asking.Wait()
	}
}

// listedObjects is the number of objects in a part of a list whose objects are compared.
const listedObjects = 250

// listed implements history.
func (u *upstream) listed(ctx context.Context) (state listedState, err error) {
	options := metav1.ListOptions{Limit: listedObjects}
	for {
		got, err := object.RequestMetadata(u.request(options), u.cache.resource, object.PartialListKind).Do(ctx).Get()
		if err != nil {
			return listedState{}, err
		}
		list, ok := got.(*object.List)
		if !ok {
			return listedState{}, errNoProgress
		}
		state.version = list.ResourceVersion
		for _, listed := range list.Items {
			state.add(listed)
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return state, nil
		}
	}
}

// listedVersion returns the resource version of the list that a request returns.
func listedVersion(ctx context.Context, request *rest.Request) (string, error) {
	got, err := request.Do(ctx).Get()
	if err != nil {
		return "", err
	}
	list, ok := got.(*object.List)
	if !ok {
		return "", errors.New("the API server's response is not a list")
	}
	return list.ResourceVersion, nil
}

// beginSpan begins the span of a list or a watch. For a shared cache it begins a trace, because the
// cache belongs to no caller. For a private one it is below the span of the caller's stream.
func (u *upstream) beginSpan(ctx context.Context, name string) (context.Context, trace.Span) {
	var span trace.Span
	if u.tracer != nil && u.memory == nil {
		ctx, span = u.tracer.Start(ctx, name, trace.WithNewRoot())
	} else {
		ctx, span = tracing.Begin(ctx, name)
	}
	tracing.SetResource(span, u.cache.resource)
	return ctx, span
}
