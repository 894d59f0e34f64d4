package informerhub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
// has just been made is found too, and when a caller asks for a fresh answer, because
// the API server has contradicted the known one (see [Contradicts]). Its methods are
// safe for concurrent use.
type Resolver struct {
	client    rest.Interface
	cached    discovery.CachedDiscoveryInterface
	options   Options
	discovery *turns[*catalogue]
	last      lastLists // owned by discover, which runs once at a time
	warnOnce  sync.Once // of aggregated APIs that cannot be told from others
}

const (
	// maxNameLength is the longest that a resource's name can be: the name itself,
	// a version and a group.
	maxNameLength = 63 + 1 + 63 + 1 + 253
	// maxResolved bounds the spellings of names that are remembered.
	maxResolved = 4096
)

// catalogue is what discovery has said at one time.
type catalogue struct {
	mapper  meta.RESTMapper
	groups  []*restmapper.APIGroupResources
	lists   []*metav1.APIResourceList // of the groups, in their order
	failed  map[schema.GroupVersion]error
	away    []*metav1.APIResourceList // what failed groups had before
	refused map[schema.GroupResource]bool
	// aggregated refuses the resources of aggregated APIs too.
	aggregated aggregation
	mu         sync.Mutex // guards resolved
	resolved   map[string]Resource
}

func newResolver(config *rest.Config, client *http.Client, options Options) (*Resolver, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	bounded := *client
	bounded.Timeout = questionTimeout
	direct, err := discovery.NewDiscoveryClientForConfigAndClient(config, &bounded)
	if err != nil {
		return nil, err
	}
	r := &Resolver{client: direct.RESTClient(), cached: memory.NewMemCacheClient(direct), options: options}
	r.discovery = newTurns("list of resources", r.discover)
	return r, nil
}

func (r *Resolver) close() { r.discovery.close() }

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
// [UnknownResourceError], a [GroupUnavailableError] where the name has a group that
// does not answer or means a resource that such a group had before, or an [UnavailableError] where discovery could not be asked.
func (r *Resolver) Resolve(ctx context.Context, name string) (Resource, error) {
	if len(name) > maxNameLength {
		return Resource{}, &UnknownResourceError{Name: name[:maxNameLength] + "…"}
	}
	if known := r.discovery.known(); known != nil {
		if resource, ok := known.resolve(name); ok {
			return resource, nil
		}
	}
	fresh, err := r.discovery.refresh(ctx)
	if err != nil {
		return Resource{}, err
	}
	if resource, ok := fresh.resolve(name); ok {
		return resource, nil
	}
	if err := fresh.unavailable(name); err != nil {
		return Resource{}, err
	}
	return Resource{}, &UnknownResourceError{Name: name, NearMisses: fresh.nearMisses(name)}
}

// ResolveKinds finds the resources of kinds, in the versions that the cluster prefers. Of
// a kind that it does not serve, nothing is answered. Discovery is asked once at most.
func (r *Resolver) ResolveKinds(ctx context.Context, kinds []schema.GroupKind) (map[schema.GroupKind]Resource, error) {
	if known := r.discovery.known(); known != nil {
		if found := known.ofKinds(kinds); len(found) == len(kinds) {
			return found, nil
		}
	}
	fresh, err := r.discovery.refresh(ctx)
	if err != nil {
		return nil, err
	}
	return fresh.ofKinds(kinds), nil
}

// Offering are the resource itself ("") and its subresources, in order, for which the API
// server offers a verb. What is known is a second old at most. The error is a
// [ResourceGoneError] if the API server does not serve the resource as it is described.
func (r *Resolver) Offering(ctx context.Context, resource Resource, verb string) ([]string, error) {
	recent, err := r.discovery.recent(ctx, maxTypesAge)
	if err != nil {
		return nil, err
	}
	if served, err := recent.serves(resource); err == nil && !served {
		return nil, &ResourceGoneError{resource}
	}
	return recent.offering(resource, verb), nil
}

// serves returns a function that asks discovery again whether a resource is served as it is
// described.
func (r *Resolver) serves(resource Resource) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		fresh, err := r.discovery.refresh(ctx)
		if err != nil {
			return false, err
		}
		return fresh.serves(resource)
	}
}

// errStarting says that the API server has not started completely. Until then, discovery may
// leave groups out that it serves.
var errStarting = errors.New("it is starting, and its discovery may not be complete yet")

// started returns an error unless the API server says that it has started completely. One
// that is not ready for another reason has started, and so has one that the service may not
// ask. An API server that does not answer may be starting.
func (r *Resolver) started(ctx context.Context) error {
	said, err := r.client.Get().AbsPath("/readyz").MaxRetries(0).Do(ctx).Raw()
	var status apierrors.APIStatus
	switch {
	case bytes.Contains(said, []byte("[-]poststarthook/")):
		return errStarting
	case bytes.Contains(said, []byte("[+]")): // these are its checks
		return nil
	case errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError:
		return fmt.Errorf("it does not say whether it has started: %v", err)
	case errors.As(err, &status):
		return nil
	}
	return err
}

func (r *Resolver) discover() (*catalogue, error) {
	// An API server that has started before it is asked leaves nothing out.
	if err := r.started(context.Background()); err != nil {
		return nil, describe(context.Background(), r.client, err)
	}
	r.cached.Invalidate()
	groups, lists, err := r.cached.ServerGroupsAndResources()
	failed, some := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !some {
		return nil, describe(context.Background(), r.client, err)
	}
	aggregated, err := r.aggregated(context.Background())
	if err != nil {
		return nil, describe(context.Background(), r.client, err)
	}
	resources, ordered := inOrder(groups, lists)
	return &catalogue{
		mapper:     restmapper.NewDiscoveryRESTMapper(resources),
		groups:     resources,
		lists:      ordered,
		failed:     failed,
		away:       r.last.note(ordered, failed),
		refused:    refusedBy(r.options, ordered),
		aggregated: aggregated,
		resolved:   make(map[string]Resource),
	}, nil
}

// inOrder puts what is served in the order in which the API server names its groups:
// client-go's lists are in none, and a short name that two groups have would mean now this
// and now that.
func inOrder(groups []*metav1.APIGroup, lists []*metav1.APIResourceList) (resources []*restmapper.APIGroupResources, ordered []*metav1.APIResourceList) {
	served := make(map[string]*metav1.APIResourceList)
	for _, list := range lists {
		served[list.GroupVersion] = list
	}
	for _, group := range groups {
		of := &restmapper.APIGroupResources{Group: *group, VersionedResources: make(map[string][]metav1.APIResource)}
		for _, version := range group.Versions {
			if list := served[version.GroupVersion]; list != nil {
				of.VersionedResources[version.Version] = list.APIResources
				ordered = append(ordered, list)
			}
		}
		resources = append(resources, of)
	}
	return resources, ordered
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

// ofKinds are the resources of kinds, of those that are served.
func (c *catalogue) ofKinds(kinds []schema.GroupKind) map[schema.GroupKind]Resource {
	found := make(map[schema.GroupKind]Resource)
	for _, kind := range kinds {
		mapping, err := c.mapper.RESTMapping(kind)
		if err != nil {
			continue
		}
		if resource, ok := c.find(mapping.Resource); ok {
			found[kind] = resource
		}
	}
	return found
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
				return c.newResource(name.GroupVersion(), served), true
			}
		}
	}
	return Resource{}, false
}

func (c *catalogue) newResource(of schema.GroupVersion, served metav1.APIResource) Resource {
	return Resource{
		Group:      of.Group,
		Version:    of.Version,
		Name:       served.Name,
		Kind:       served.Kind,
		Namespaced: served.Namespaced,
		Watchable:  slices.Contains(served.Verbs, "list") && slices.Contains(served.Verbs, "watch"),
		Refused:    c.refuses(schema.GroupResource{Group: of.Group, Resource: served.Name}),
	}
}

// refuses reports whether a resource must not be kept in memory.
func (c *catalogue) refuses(resource schema.GroupResource) bool {
	return c.refused[resource] || c.aggregated.refuses(resource)
}
