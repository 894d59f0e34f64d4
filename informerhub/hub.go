package informerhub

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"weak"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/coalesce"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/listkey"
	"github.com/kubeconnect/kubeconnect/internal/managedfields"
	"github.com/kubeconnect/kubeconnect/internal/tracing"
	"github.com/kubeconnect/kubeconnect/internal/watchlist"
)

// Options are the settings of a hub. The zero value has sensible defaults.
type Options struct {
	// KeepManagedFields keeps metadata.managedFields in memory and in responses. They are about
	// half of an object.
	KeepManagedFields bool
	// WindowBytes bounds the objects that the feed of one resource retains, before and after each
	// change. Default: 16 MiB.
	WindowBytes int
	// IdleTimeout is the time after which a cache without readers and watchers is evicted. Default:
	// 10 minutes.
	IdleTimeout time.Duration
	// SnapshotTimeout bounds a caller's wait for the first snapshot of a cache. Default: 10 seconds.
	SnapshotTimeout time.Duration
	// Preload names resources whose caches [Hub.Preload] starts and which are not evicted when
	// idle. Names are those that callers use. Leases are cached only if they are named here.
	Preload []string
	// Uncached names resources that are never cached. Names are those that callers use. A name
	// without a group applies to every group, and the core events are also those of events.k8s.io.
	Uncached []string
	// CacheAggregated names API groups that are cached although the server of an aggregated API
	// serves them, because that server returns the same objects to every user with permission to
	// list them. Other groups of aggregated APIs are not cached.
	CacheAggregated []string
	// PrivateBytes bounds the objects of all private caches. Default: 256 MiB.
	PrivateBytes int
	// Tracer begins the traces of lists and watches. Default: none.
	Tracer trace.Tracer
	// Scopes decides which namespaces are cached. Default: all, by one Reflector for each resource.
	Scopes Scopes
	// Select limits the caches of some resources to a part of their objects, which the API server selects. Default: none.
	Select []Selected
}

// Selected limits the cache of a resource to the objects that selectors match.
type Selected struct {
	// Resource names the resource, as callers do. A name without a group applies to every group.
	Resource string
	// Labels and Fields are selectors in kubectl's syntax. An empty one matches everything.
	Labels, Fields string
}

const (
	defaultWindowBytes     = 16 << 20
	defaultIdleTimeout     = 10 * time.Minute
	defaultSnapshotTimeout = 10 * time.Second
)

// Hub owns the caches of a cluster's resources. Its methods are safe for concurrent use.
type Hub struct {
	config   *rest.Config
	client   *http.Client
	activity *activity
	options  Options
	resolver *discovery.Resolver
	schemas  *discovery.Schemas
	// definitions relists the caches of custom resources when their definitions change.
	definitions *definitions

	preloads   *preloads
	watchLists watchlist.Memory
	asking     *fairqueue.Queue // see verifier.slots

	privateConfig   *rest.Config     // of the clients of private caches
	privateActivity *activity        // of the connections of these clients
	privateBytes    *fairqueue.Queue // memory of private caches
	privateLists    *fairqueue.Queue // slots for the first snapshots of private caches

	running sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	closed  bool
	caches  map[reflected]*runningCache
	views   map[viewKey]weak.Pointer[Cache] // of several namespaces, or of one
	private map[*Private]struct{}
	pinned  map[Resource]bool // not evicted when idle
	started int64             // see Totals
	unused  int64
}

const (
	// maxAsking bounds the namespaces about which the API server is asked at the same time, for callers that wait for a
	// version, and maxAskingOfKey those for one caller. With many objects, a request takes a second or two.
	maxAsking      = 64
	maxAskingOfKey = maxAsking * 3 / 4
	// maxAskingWaits bounds the namespaces for which one caller waits for a slot.
	maxAskingWaits = 1024
)

// reflected identifies what one Reflector lists and watches.
type reflected struct {
	resource Resource
	scope    scope
}

// viewKey identifies what a Cache has.
type viewKey struct {
	resource   Resource
	namespaces listkey.Key[string]
}

// runningCache is a cache that is fed by a Reflector.
type runningCache struct {
	of       reflected
	cache    *scopeCache
	whole    *Cache        // the cache as that of the whole resource; nil if it is that of a namespace
	stop     chan struct{} // closed to end the cache
	lastUsed time.Time     // guarded by the hub's mu
	idle     *time.Timer   // ends the cache if it is unused
}

// New returns a hub that reads through a client configuration, with the permissions of that
// configuration. It does not connect before the first request. Call Close when done.
func New(config *rest.Config, options Options) (*Hub, error) {
	privateConfig, privateActivity := rest.CopyConfig(config), &activity{}
	privateActivity.instrument(privateConfig)
	config, activity := rest.CopyConfig(config), &activity{}
	activity.instrument(config)
	if options.Tracer != nil {
		config.Wrap(tracing.Transport)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	// Following a redirect would send the service's credentials to another host.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resolver, err := discovery.NewResolver(config, client, discovery.Options{
		Uncached: options.Uncached, Cached: options.Preload, CacheAggregated: options.CacheAggregated,
	})
	if err != nil {
		return nil, err
	}
	if options.WindowBytes == 0 {
		options.WindowBytes = defaultWindowBytes
	}
	if options.IdleTimeout == 0 {
		options.IdleTimeout = defaultIdleTimeout
	}
	if options.SnapshotTimeout == 0 {
		options.SnapshotTimeout = defaultSnapshotTimeout
	}
	h := &Hub{
		config:   config,
		client:   client,
		activity: activity,
		options:  options,
		resolver: resolver,
		schemas:  discovery.NewSchemas(resolver.RESTClient()),
		caches:   make(map[reflected]*runningCache),
		views:    make(map[viewKey]weak.Pointer[Cache]),
		private:  make(map[*Private]struct{}),
		pinned:   make(map[Resource]bool),

		asking: fairqueue.New(fairqueue.Limits{Name: "versions of namespaces", Total: maxAsking, PerKey: maxAskingOfKey, Waiting: maxAskingWaits}),

		privateConfig:   privateConfig,
		privateActivity: privateActivity,
		privateBytes:    newPrivateBytes(cmp.Or(options.PrivateBytes, defaultPrivateBytes)),
		privateLists:    newPrivateLists(),
	}
	h.preloads = newPreloads(h, options.Preload)
	activity.paused, privateActivity.paused = h.linkPaused, h.linkPaused
	h.definitions = newDefinitions(h.resolver, h.schemas, h.definitionsClient)
	return h, nil
}

// Close ends all caches and their watchers, and waits for them.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	for _, running := range h.caches {
		h.endLocked(running)
	}
	for private := range h.private {
		private.cancel()
	}
	h.mu.Unlock()
	h.running.Wait()
	h.definitions.running.Wait() // ended by the last cache
	h.resolver.CloseWithError(ErrClosed)
	h.schemas.CloseWithError(ErrClosed)
	h.client.CloseIdleConnections()
}

// Resolver returns the resolver of the names that callers use.
func (h *Hub) Resolver() *discovery.Resolver { return h.resolver }

// Schema returns the OpenAPI v3 schema of a resource's kind. See [discovery.Schemas.Get].
func (h *Hub) Schema(ctx context.Context, resource Resource) ([]byte, error) {
	return h.schemas.Get(ctx, resource)
}

// Cache returns the cache of a resource in some of its namespaces, ready to be read; none are all that [Options].Scopes allows. The
// first call for a resource, or a namespace, starts its Reflector
// and waits up to [Options].SnapshotTimeout for its first snapshot. Cache fails with a
// [discovery.UnavailableError] while the API server is unreachable, with a [SnapshotError] if the
// API server refuses or does not send the snapshot, with a [ScopeError] if one of the namespaces is not cached,
// and with a [discovery.ResourceGoneError] if the
// API server does not serve the resource as described. It also fails for a resource that must not be
// cached. Where the whole resource is cached, the cache has all namespaces.
func (h *Hub) Cache(ctx context.Context, resource Resource, namespaces ...string) (*Cache, error) {
	cache, err := h.Start(ctx, resource, namespaces...)
	if err != nil {
		return nil, err
	}
	return cache, cache.Ready(ctx)
}

// Running returns the cache of a resource, as Cache does, if it has a snapshot already; nil if it has none. It starts no cache.
func (h *Hub) Running(ctx context.Context, resource Resource, namespaces ...string) (*Cache, error) {
	cached, err := h.Namespaces(ctx, resource)
	if err != nil || !resource.Cacheable() {
		return nil, err
	}
	names, err := namesToCache(resource, cached, namespaces)
	if err != nil || !h.hasCache(resource, names) {
		return nil, err
	}
	cache, err := h.startedCache(resource, names, len(cached))
	if err != nil || !cache.isSynced() {
		return nil, err
	}
	return cache, nil
}

// Start returns the cache of a resource, as Cache does, but does not wait for its first snapshot.
// See [Cache.Ready].
func (h *Hub) Start(ctx context.Context, resource Resource, namespaces ...string) (*Cache, error) {
	if !resource.Cacheable() {
		return nil, fmt.Errorf("%s are not cached; read them at the API server", resource)
	}
	cached, err := h.Namespaces(ctx, resource)
	if err != nil {
		return nil, err
	}
	names, err := namesToCache(resource, cached, namespaces)
	if err != nil {
		return nil, err
	}
	if !resource.BuiltIn() && !h.hasCache(resource, names) {
		// A cache is long-lived, so it must not be started from an old discovery result.
		if err := h.resolver.Confirm(ctx, resource); err != nil {
			return nil, err
		}
	}
	return h.startedCache(resource, names, len(cached))
}

// scopesOf returns what the Reflectors of a resource list and watch, for some namespaces; nil for all at once.
func (h *Hub) scopesOf(resource Resource, names []string) []reflected {
	selected := h.selected(resource)
	if names == nil {
		return []reflected{{resource, selected}}
	}
	scopes := make([]reflected, len(names))
	for i, name := range names {
		selected.namespace = name
		scopes[i] = reflected{resource, selected}
	}
	return scopes
}

// selected returns the part of a resource that is cached, without a namespace.
func (h *Hub) selected(resource Resource) (all scope) {
	for _, one := range h.options.Select {
		if h.resolver.Applies(one.Resource, resource) {
			all.labels, all.fields = joinSelectors(all.labels, one.Labels), joinSelectors(all.fields, one.Fields)
		}
	}
	return all
}

// Selected returns the selectors, for people, of the objects of a resource that are cached; empty if that is all of them. An object
// that they do not match is not in any [Cache] of the resource, and may exist nevertheless.
func (h *Hub) Selected(resource Resource) string {
	selected := h.selected(resource)
	return joinSelectors(selected.labels, selected.fields)
}

// hasCache reports whether the resource has a cache of each of some namespaces.
func (h *Hub) hasCache(resource Resource, names []string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !slices.ContainsFunc(h.scopesOf(resource, names), func(of reflected) bool {
		running, ok := h.caches[of]
		return !ok || running.cache.hasEnded()
	})
}

// startedCache returns the cache of some namespaces, of which there are count in all.
func (h *Hub) startedCache(resource Resource, names []string, count int) (*Cache, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	var scopes []*scopeCache
	for _, of := range h.scopesOf(resource, names) {
		running, err := h.runningLocked(of, count)
		if err != nil {
			return nil, err
		}
		if names == nil {
			return running.whole, nil
		}
		scopes = append(scopes, running.cache)
	}
	return h.viewLocked(resource, names, scopes), nil
}

// viewLocked returns the cache that has some scopes. Those who ask for the same get the same one, as long as one of them has it.
func (h *Hub) viewLocked(resource Resource, names []string, scopes []*scopeCache) *Cache {
	key := viewKey{resource, listkey.Of(names)}
	if view := h.views[key].Value(); view != nil && slices.Equal(view.scopes, scopes) {
		return view
	}
	maps.DeleteFunc(h.views, func(_ viewKey, view weak.Pointer[Cache]) bool { return view.Value() == nil })
	view := newCache(resource, scopes...)
	h.views[key] = weak.Make(view)
	return view
}

// minWindowBytes bounds the parts into which the window of a resource is divided.
const minWindowBytes = 256 << 10

// runningLocked returns the running cache of a scope, of which the resource has count. It starts one if there is none.
//
//nolint:contextcheck // a cache outlives the call that starts it
func (h *Hub) runningLocked(of reflected, count int) (*runningCache, error) {
	if running, ok := h.caches[of]; ok {
		if !running.cache.hasEnded() {
			running.lastUsed = time.Now()
			return running, nil
		}
		h.endLocked(running)
	}
	client, err := h.clientFor(of.resource, h.client, of.resource.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	window := min(h.options.WindowBytes, max(minWindowBytes, h.options.WindowBytes/max(1, count)))
	cache := newScopeCache(of.resource, defaultLimits(window), h.activity)
	cache.namespace = of.scope.namespace
	cache.snapshotTimeout = h.options.SnapshotTimeout
	cache.feed.watchers.wakeInterval = wakeIntervalFor
	up := h.upstreamOf(cache, client)
	if up.scope = of.scope; of.scope.namespace != "" {
		cache.verifier.slots, cache.verifier.lists = h.asking, rate.NewLimiter(rate.Every(time.Second), namespaceLists)
	}
	if h.options.Scopes != nil {
		up.denied = func() { h.options.Scopes.Denied(of.resource) }
	}
	running := &runningCache{of: of, cache: cache, stop: make(chan struct{}), lastUsed: time.Now()}
	if of.scope.namespace == "" {
		running.whole = newCache(of.resource, cache)
	}
	running.idle = time.AfterFunc(h.options.IdleTimeout, func() { h.endIdle(running) })
	h.caches[of] = running
	h.running.Add(1)
	h.started++
	cache.logStart()
	go h.run(running, up)
	return running, nil
}

// upstreamOf returns the connection of a cache to the API server, through a client.
func (h *Hub) upstreamOf(cache *scopeCache, client rest.Interface) *upstream {
	served := func(ctx context.Context) (bool, error) { return h.resolver.Serves(ctx, cache.resource) }
	up := &upstream{client: client, cache: cache, served: served, definitions: h.definitions, tracer: h.options.Tracer}
	cache.selector.selectableFields = object.NewSelectableFields(cache.resource, up.supports)
	up.versions, up.reads = coalesce.New("version", up.askCurrent), coalesce.New("version", up.askCurrent)
	up.reads.Limiter = flowcontrol.NewTokenBucketRateLimiter(newestPerSecond, newestPerSecond)
	up.watchLists = h.watchLists.Guard(cache.resource.String())
	cache.history = up
	return up
}

// run feeds one cache until its stop channel is closed. The hub owns the goroutine and waits for it
// by running.
func (h *Hub) run(running *runningCache, up *upstream) {
	defer h.running.Done()
	up.run(wait.ContextForChannel(running.stop))
	running.cache.end(ErrClosed)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endLocked(running)
}

// endLocked ends a cache, so that a new one of the same resource can be started.
func (h *Hub) endLocked(running *runningCache) {
	if h.caches[running.of] != running {
		return // already ended
	}
	delete(h.caches, running.of)
	running.idle.Stop()
	close(running.stop)
}

// endIdle ends a cache that has been unused for the idle timeout, or schedules the next check.
func (h *Hub) endIdle(running *runningCache) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if running.cache.watched() || running.cache.waiting.Load() > 0 || h.pinned[running.of.resource] {
		running.lastUsed = time.Now()
	}
	remaining := h.options.IdleTimeout - time.Since(running.lastUsed)
	switch {
	case h.caches[running.of] != running:
	case remaining <= 0:
		h.unused++
		running.cache.logEnd("unused")
		h.endLocked(running)
	default:
		running.idle.Reset(remaining)
	}
}

// Preload starts the caches of [Options.Preload], and keeps them until the context ends. It blocks
// until then.
func (h *Hub) Preload(ctx context.Context) { h.preloads.run(ctx) }

// Warm returns nil once each cache of [Options.Preload] has had a snapshot, and before that an
// error that names the missing ones. It does not wait for resources that the cluster does not
// serve, that the service has no permission to list, or for which the API server has returned
// errors for preloadTimeout, as long as another resource has a snapshot: a single broken resource
// must not stop all replicas. Once Warm has returned nil, it always returns nil.
func (h *Hub) Warm() error { return h.preloads.checkWarm() }

// pin prevents the eviction of an idle cache.
func (h *Hub) pin(resource Resource) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pinned[resource] = true
}

// awaitEnd blocks until a cache has ended in one of its namespaces, or until other namespaces may be cached. It unpins the resource,
// because its definition may have changed.
func (h *Hub) awaitEnd(ctx context.Context, cache *Cache, changed <-chan struct{}) {
	cache.awaitEnd(ctx, changed)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.pinned, cache.resource)
}

// PrivateConfig returns the configuration for clients of private caches: a copy of the hub's, with
// the hub's credentials, which a client replaces by those of its user. Its connections record when
// data arrives on them. [Cache.Freshness] of private caches depends on that.
func (h *Hub) PrivateConfig() *rest.Config { return rest.CopyConfig(h.privateConfig) }

// Private starts a private cache, and waits for its first snapshot. If the caller's memory is
// exhausted, Private fails, and watchers of the cache end, with a RequestEntityTooLarge error.
// Otherwise Private fails as [Hub.Cache] does. The cache ends with the context. Call End when done.
func (h *Hub) Private(ctx context.Context, resource Resource, options PrivateOptions) (*Private, error) {
	endTurn, err := h.privateLists.Acquire(ctx, options.Caller, 1)
	if err != nil {
		return nil, fmt.Errorf("waiting for a slot to list %s: %w", resource.Name, err)
	}
	defer endTurn()
	private, err := h.startPrivate(ctx, resource, options)
	if err != nil {
		return nil, err
	}
	if err := private.scope.ready(ctx); err != nil {
		private.End()
		return nil, err
	}
	return private, nil
}

func (h *Hub) startPrivate(ctx context.Context, resource Resource, options PrivateOptions) (*Private, error) {
	client, err := h.clientFor(resource, options.Client, resource.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if err := checkSelectors(options.Query); err != nil {
		return nil, err
	}
	cache := newScopeCache(resource, defaultLimits(privateWindowBytes), h.privateActivity)
	cache.snapshotTimeout = h.options.SnapshotTimeout
	cache.isPrivate = true
	up := h.upstreamOf(cache, client)
	up.scope = scopeOf(options.Query)
	up.metadataOnly = options.MetadataOnly
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	private := &Private{Cache: newCache(resource, cache), scope: cache, cancel: cancel, ended: make(chan struct{})}
	up.memory = &privateMemory{
		queue: h.privateBytes, caller: options.Caller, resource: resource,
		overflow: func(err error) {
			cache.end(err)
			cancel()
		},
	}
	h.private[private] = struct{}{}
	h.running.Add(1)
	go h.runPrivate(ctx, private, up)
	return private, nil
}

// runPrivate feeds one cache until its cancel is called. The hub owns the goroutine and waits for
// it by running.
func (h *Hub) runPrivate(ctx context.Context, private *Private, up *upstream) {
	defer h.running.Done()
	defer close(private.ended)
	up.run(ctx)
	up.memory.end()
	private.cancel()
	private.scope.end(ErrClosed)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.private, private)
}

// Live returns a reader of a resource that sends its requests through an HTTP client.
func (h *Hub) Live(resource Resource, client *http.Client) (*Live, error) {
	whole, err := h.clientFor(resource, client, resource.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	part, err := h.clientFor(resource, client, schema.GroupVersionKind{})
	if err != nil {
		return nil, err
	}
	return &Live{resource: resource, client: whole, part: part, selector: selectorOf(resource)}, nil
}

// CurrentVersion returns a resource version of a resource that is not older than any change that
// the API server has confirmed before the call. It lists the metadata of one object in a namespace,
// or in all namespaces if that is empty, through a client that acts as a caller. With a nil client
// it uses the hub's own permissions.
func (h *Hub) CurrentVersion(
	ctx context.Context, resource Resource, namespace string, httpClient *http.Client,
) (string, error) {
	if httpClient == nil {
		httpClient = h.client
	}
	client, err := h.clientFor(resource, httpClient, resource.GroupVersionKind())
	if err != nil {
		return "", err
	}
	// Without a version in the request, the response is not older than the request.
	options := metav1.ListOptions{Limit: 1}
	version, err := listedVersion(ctx, object.RequestMetadata(client.Get(), resource, object.PartialListKind).
		NamespaceIfScoped(namespace, namespace != "").
		Resource(resource.Name).
		SpecificallyVersionedParams(&options, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"}).
		MaxRetries(0))
	if err != nil {
		return "", discovery.AsUnavailable(ctx, client, err)
	}
	return version, nil
}

// runningCaches returns the caches that all callers share, and the private ones.
func (h *Hub) runningCaches() (shared, private []*scopeCache) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, running := range h.caches {
		shared = append(shared, running.cache)
	}
	for running := range h.private {
		private = append(private, running.scope)
	}
	return shared, private
}

// linkPaused makes each cache whose watch is on a link determine what it has missed since the given
// time, after which nothing has arrived.
func (h *Hub) linkPaused(over *link, since time.Time) {
	shared, private := h.runningCaches()
	for _, cache := range slices.Concat(shared, private) {
		cache.markUncertain(over, since)
	}
}

// Freshness returns how current the replica is: the worst value of the caches that have a snapshot.
// A cache for which the API server returns errors, because the service has lost the permission to
// list the resource or its conversion webhook is down, is left out while there are others: its own
// reads are stale, but the API server is reachable. A hub without snapshots delays no reader, and
// is not stale.
func (h *Hub) Freshness() Freshness {
	var counted, refused []Freshness
	shared, _ := h.runningCaches()
	for _, cache := range shared {
		switch fresh, followed, synced := cache.followed(); {
		case !synced:
		case followed.refused:
			refused = append(refused, fresh)
		default:
			counted = append(counted, fresh)
		}
	}
	if len(counted) == 0 {
		counted = refused
	}
	return worst(counted, Freshness{LastContact: h.activity.time()})
}

// HasSnapshot reports whether any cache has a snapshot, so that the hub can serve reads without the
// API server.
func (h *Hub) HasSnapshot() bool {
	shared, _ := h.runningCaches()
	return slices.ContainsFunc(shared, func(c *scopeCache) bool {
		c.mu.RLock()
		defer c.mu.RUnlock()
		return c.state.synced && c.state.ended == nil
	})
}

// Totals returns the numbers of caches.
func (h *Hub) Totals() Totals {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Totals{Started: h.started, Unused: h.unused, Private: len(h.private), UnfinishedWatchLists: h.watchLists.Unfinished()}
}

// Status returns the state of the cached resources, and of those of [Options].Preload that the service may not list, in no
// particular order. It takes each cache's lock for a
// moment, whatever the size of the cache.
func (h *Hub) Status() []Status {
	shared, _ := h.runningCaches()
	merged := make(map[Resource]Status, len(shared))
	for _, cache := range shared {
		status := cache.status()
		if other, ok := merged[cache.resource]; ok {
			status = status.merge(other)
		}
		merged[cache.resource] = status
	}
	for _, status := range h.preloads.denied() {
		if _, ok := merged[status.Resource]; !ok {
			merged[status.Resource] = status
		}
	}
	return slices.Collect(maps.Values(merged))
}

// clientFor returns a REST client over an HTTP client. It decodes Objects of a resource, or of
// another kind that the API server converts them to. Without a kind, the kind is read from the
// response.
func (h *Hub) clientFor(resource Resource, client *http.Client, kind schema.GroupVersionKind) (rest.Interface, error) {
	groupVersion := resource.GroupVersion()
	config := rest.CopyConfig(h.config)
	config.GroupVersion = &groupVersion
	config.APIPath = "/apis"
	if resource.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = &object.Codec{Kind: kind, KeepManagedFields: h.options.KeepManagedFields}
	config.ContentType = runtime.ContentTypeJSON
	config.AcceptContentTypes = runtime.ContentTypeJSON
	if resource.BuiltIn() {
		config.AcceptContentTypes = strings.Join([]string{runtime.ContentTypeProtobuf, runtime.ContentTypeJSON}, ",")
	}
	config.QPS = -1 // the Reflector limits its own rate, and callers have their own limits
	if client != h.client {
		config.WarningHandler = rest.NoWarnings{} // warnings are meant for the caller
	}
	if !h.options.KeepManagedFields {
		client = managedfields.Omit(client)
	}
	return rest.RESTClientForConfigAndClient(config, client)
}

func (h *Hub) definitionsClient(resource Resource) (rest.Interface, error) {
	return h.clientFor(resource, h.client, resource.GroupVersionKind())
}
