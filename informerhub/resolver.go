package informerhub

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Resolver finds the resource that a caller means, as kubectl does: by plural,
// singular, short name or kind, with or without version and group. It asks the
// API server's discovery once, and again when a name is not found, so a CRD that
// has just been made is found too. Its methods are safe for concurrent use.
type Resolver struct {
	client rest.Interface
	cached discovery.CachedDiscoveryInterface

	mu      sync.Mutex // guards the fields below
	current *catalogue
	// loading is set while discovery is being asked.
	loading *load
}

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

func newResolver(config *rest.Config, client *http.Client) (*Resolver, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	direct, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	return &Resolver{client: direct.RESTClient(), cached: memory.NewMemCacheClient(direct)}, nil
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
		return describe(r.client, err)
	}
	return nil
}

// Resolve finds a resource by its name in kubectl's syntax. The error is an
// [UnknownResourceError], or an [UnavailableError] where discovery could not be
// asked.
func (r *Resolver) Resolve(ctx context.Context, name string) (Resource, error) {
	known := r.known()
	if known != nil {
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
		if _, err := underway.wait(ctx); ctx.Err() != nil {
			return nil, err
		}
	}
	return r.join(underway).wait(ctx)
}

// join answers the turn that follows the one given, and starts it if nobody has.
func (r *Resolver) join(previous *load) *load {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loading == nil || r.loading == previous {
		r.loading = &load{done: make(chan struct{})}
		go r.load(r.loading)
	}
	return r.loading
}

func (l *load) wait(ctx context.Context) (*catalogue, error) {
	select {
	case <-l.done:
		return l.catalogue, l.err
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the API server's list of resources: %w", context.Cause(ctx))
	}
}

// load asks discovery. It ends by itself: discovery has a time limit of its own.
func (r *Resolver) load(turn *load) {
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
		return nil, describe(r.client, err)
	}
	_, lists, err := r.cached.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, describe(r.client, err)
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
	if ok {
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

// expand puts the resource in the place of its short name.
func (c *catalogue) expand(partial schema.GroupVersionResource) schema.GroupVersionResource {
	short := strings.ToLower(partial.Resource)
	for _, list := range c.lists {
		groupVersion, _ := schema.ParseGroupVersion(list.GroupVersion)
		if partial.Group != "" && partial.Group != groupVersion.Group {
			continue
		}
		for _, resource := range list.APIResources {
			if slices.Contains(resource.ShortNames, short) {
				partial.Resource, partial.Group = resource.Name, groupVersion.Group
				return partial
			}
		}
	}
	return partial
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
