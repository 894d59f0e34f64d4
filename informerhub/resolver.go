package informerhub

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/flowcontrol"
)

// Resolver finds the resource that a caller means, as kubectl does: by plural,
// singular, short name or kind, with or without version and group. It asks the
// API server's discovery once, and again when a name is not found, so a CRD that
// has just been made is found too. Its methods are safe for concurrent use.
type Resolver struct {
	client  rest.Interface
	cached  discovery.CachedDiscoveryInterface
	pace    flowcontrol.RateLimiter
	running sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	closed  bool
	current *catalogue
	// loading is set while discovery is being asked.
	loading *load
}

const (
	// discoveryTimeout bounds one question to discovery.
	discoveryTimeout = 10 * time.Second
	// Names that are not found make discovery be asked again. Callers beyond this
	// pace wait for their turn, and share it.
	discoveriesPerSecond = 2
	discoveryBurst       = 10
	// maxNameLength is the longest that a resource's name can be: the name itself,
	// a version and a group.
	maxNameLength = 63 + 1 + 63 + 1 + 253
	// maxResolved bounds the spellings of names that are remembered.
	maxResolved = 4096
)

// catalogue is what discovery has said at one time.
type catalogue struct {
	mapper   meta.RESTMapper
	lists    []*metav1.APIResourceList
	mu       sync.Mutex // guards resolved
	resolved map[string]Resource
}

// load is one turn of asking discovery, shared by all who wait for it.
type load struct {
	done      chan struct{}
	catalogue *catalogue
	err       error
}

// closedLoad is every turn after close.
var closedLoad = func() *load {
	turn := &load{done: make(chan struct{}), err: ErrClosed}
	close(turn.done)
	return turn
}()

func newResolver(config *rest.Config, client *http.Client) (*Resolver, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	bounded := *client
	bounded.Timeout = discoveryTimeout
	direct, err := discovery.NewDiscoveryClientForConfigAndClient(config, &bounded)
	if err != nil {
		return nil, err
	}
	return &Resolver{
		client: direct.RESTClient(),
		cached: memory.NewMemCacheClient(direct),
		pace:   flowcontrol.NewTokenBucketRateLimiter(discoveriesPerSecond, discoveryBurst),
	}, nil
}

// close lets no more turns begin, and waits for the one under way.
func (r *Resolver) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.running.Wait()
}

// UnknownResourceError says that the cluster serves no resource by a name.
type UnknownResourceError struct {
	Name       string
	NearMisses []string // up to three names that the caller may have meant
}

func (e *UnknownResourceError) Error() string {
	if len(e.NearMisses) == 0 {
		return fmt.Sprintf("the cluster serves no resource %q", e.Name)
	}
	return fmt.Sprintf("the cluster serves no resource %q; did you mean %s?",
		e.Name, quotedList(e.NearMisses))
}

func quotedList(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(quoted, " or ")
}

// Reached asks the API server for its version, and fails with an
// [UnavailableError] if there is no answer.
func (r *Resolver) Reached(ctx context.Context) error {
	if err := r.client.Get().AbsPath("/version").Do(ctx).Error(); err != nil {
		return describe(ctx, r.client, err)
	}
	return nil
}

// Resolve finds a resource by its name in kubectl's syntax. The error is an
// [UnknownResourceError], or an [UnavailableError] where discovery could not be
// asked.
func (r *Resolver) Resolve(ctx context.Context, name string) (Resource, error) {
	if len(name) > maxNameLength {
		return Resource{}, &UnknownResourceError{Name: name[:maxNameLength] + "…"}
	}
	if known := r.known(); known != nil {
		if resource, ok := known.resolve(name); ok {
			return resource, nil
		}
	}
	fresh, err := r.refresh(ctx)
	if err != nil {
		return Resource{}, err
	}
	if resource, ok := fresh.resolve(name); ok {
		return resource, nil
	}
	return Resource{}, &UnknownResourceError{Name: name, NearMisses: fresh.nearMisses(name)}
}

// serves answers a function that asks discovery anew whether a resource is served.
func (r *Resolver) serves(resource Resource) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		fresh, err := r.refresh(ctx)
		if err != nil {
			return false, err
		}
		_, served := fresh.find(resource.GroupVersionResource())
		return served, nil
	}
}

func (r *Resolver) known() *catalogue {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current
}

// refresh asks discovery, by a request that begins after this call does: one that
// is under way already may have missed what the caller has just made. At most
// one is under way at any time, whatever the number of callers.
func (r *Resolver) refresh(ctx context.Context) (*catalogue, error) {
	r.mu.Lock()
	underway := r.loading
	r.mu.Unlock()
	if underway != nil {
		if err := underway.over(ctx); err != nil {
			return nil, err
		}
	}
	return r.join(underway).wait(ctx)
}

// join answers the turn that follows the one given, and starts it if nobody has.
func (r *Resolver) join(previous *load) *load {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return closedLoad
	}
	if r.loading == nil || r.loading == previous {
		r.loading = &load{done: make(chan struct{})}
		r.running.Add(1)
		go r.load(r.loading)
	}
	return r.loading
}

func (l *load) wait(ctx context.Context) (*catalogue, error) {
	if err := l.over(ctx); err != nil {
		return nil, err
	}
	return l.catalogue, l.err
}

// over waits until the turn is over, whatever has come of it.
func (l *load) over(ctx context.Context) error {
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the API server's list of resources: %w", context.Cause(ctx))
	}
}

// load asks discovery. It ends by itself, within discoveryTimeout of its turn, and
// close waits for it.
func (r *Resolver) load(turn *load) {
	defer r.running.Done()
	r.pace.Accept()
	turn.catalogue, turn.err = r.discover()
	r.mu.Lock()
	defer r.mu.Unlock()
	if turn.err == nil {
		r.current = turn.catalogue
	}
	r.loading = nil
	close(turn.done)
}

func (r *Resolver) discover() (*catalogue, error) {
	r.cached.Invalidate()
	groups, err := restmapper.GetAPIGroupResources(r.cached)
	if err != nil {
		return nil, describe(context.Background(), r.client, err)
	}
	_, lists, err := r.cached.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, describe(context.Background(), r.client, err)
	}
	return &catalogue{
		mapper:   restmapper.NewDiscoveryRESTMapper(groups),
		lists:    lists,
		resolved: make(map[string]Resource),
	}, nil
}

func (c *catalogue) resolve(name string) (Resource, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if resource, ok := c.resolved[name]; ok {
		return resource, true
	}
	found, err := c.search(name)
	if err != nil {
		return Resource{}, false
	}
	resource, ok := c.find(found)
	if ok && len(c.resolved) < maxResolved {
		c.resolved[name] = resource
	}
	return resource, ok
}

// search follows kubectl: a resource with version and group, then with a group,
// then as a kind.
func (c *catalogue) search(name string) (schema.GroupVersionResource, error) {
	versioned, grouped := schema.ParseResourceArg(name)
	if versioned != nil {
		if found, err := c.mapper.ResourceFor(c.expand(*versioned)); err == nil {
			return found, nil
		}
	}
	found, err := c.mapper.ResourceFor(c.expand(grouped.WithVersion("")))
	if err == nil {
		return found, nil
	}
	// Not kubectl's, but what everyone tries: "pods.v1" for the core group.
	if found, err := c.mapper.ResourceFor(c.expand(schema.GroupVersionResource{Version: grouped.Group, Resource: grouped.Resource})); err == nil && grouped.Group != "" {
		return found, nil
	}
	kind, groupKind := schema.ParseKindArg(name)
	if kind == nil {
		kind = &schema.GroupVersionKind{Group: groupKind.Group, Kind: groupKind.Kind}
	}
	var versions []string
	if kind.Version != "" {
		versions = append(versions, kind.Version)
	}
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), versions...)
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	return mapping.Resource, nil
}

// expand puts the resource in the place of its short name. A resource's own name
// comes first, so that no short name can take it over.
func (c *catalogue) expand(partial schema.GroupVersionResource) schema.GroupVersionResource {
	name := strings.ToLower(partial.Resource)
	if _, taken := c.first(partial.Group, func(served metav1.APIResource) bool {
		return served.Name == name || served.SingularName == name
	}); taken {
		return partial
	}
	if found, ok := c.first(partial.Group, func(served metav1.APIResource) bool {
		return slices.Contains(served.ShortNames, name)
	}); ok {
		partial.Group, partial.Resource = found.Group, found.Resource
	}
	return partial
}

// first is the first resource in discovery's order, of one group if that is given,
// that meets a condition.
func (c *catalogue) first(group string, meets func(metav1.APIResource) bool) (schema.GroupResource, bool) {
	for _, list := range c.lists {
		groupVersion, _ := schema.ParseGroupVersion(list.GroupVersion)
		if group != "" && group != groupVersion.Group {
			continue
		}
		if at := slices.IndexFunc(list.APIResources, meets); at >= 0 {
			return schema.GroupResource{Group: groupVersion.Group, Resource: list.APIResources[at].Name}, true
		}
	}
	return schema.GroupResource{}, false
}

// find answers a resource that is named in full.
func (c *catalogue) find(name schema.GroupVersionResource) (Resource, bool) {
	for _, list := range c.lists {
		if list.GroupVersion != name.GroupVersion().String() {
			continue
		}
		for _, served := range list.APIResources {
			if served.Name == name.Resource {
				return Resource{
					Group:      name.Group,
					Version:    name.Version,
					Name:       name.Resource,
					Kind:       served.Kind,
					Namespaced: served.Namespaced,
					Watchable:  slices.Contains(served.Verbs, "list") && slices.Contains(served.Verbs, "watch"),
				}, true
			}
		}
	}
	return Resource{}, false
}
