package discovery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/coalesce"
)

// Resolver finds the resource that a caller names, as kubectl does: by plural, singular, short name
// or kind, with or without version and group. It reads the API server's discovery once. It reads it
// again when a name is not found, so that a CRD that was just created is found, and when a caller
// requests fresh data because a response of the API server contradicts the known data (see
// [Contradicts]). Its methods are safe for concurrent use.
type Resolver struct {
	client   rest.Interface
	cached   discovery.CachedDiscoveryInterface
	options  Options
	requests *coalesce.Requests[*Snapshot]
	last     lastLists // owned by discover, which does not run concurrently
	warnOnce sync.Once // for the warning that aggregated APIs cannot be identified
}

const (
	// requestTimeout bounds one request to the API server.
	requestTimeout = 10 * time.Second
	// maxNameLength is the maximum length of a resource's name: the name itself, a version and a
	// group.
	maxNameLength = 63 + 1 + 63 + 1 + 253
	// maxResolved bounds the names whose resources are cached.
	maxResolved = 4096
)

// NewResolver returns a resolver that reads discovery through a client configuration and an HTTP
// client. It does not connect before the first call. Call CloseWithError when done.
func NewResolver(config *rest.Config, client *http.Client, options Options) (*Resolver, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	bounded := *client
	bounded.Timeout = requestTimeout
	direct, err := discovery.NewDiscoveryClientForConfigAndClient(config, &bounded)
	if err != nil {
		return nil, err
	}
	r := &Resolver{client: direct.RESTClient(), cached: memory.NewMemCacheClient(direct), options: options}
	r.requests = coalesce.New("list of resources", r.discover)
	return r, nil
}

// CloseWithError makes calls that need a request fail with an error, and waits for the request in
// flight.
func (r *Resolver) CloseWithError(err error) { r.requests.CloseWithError(err) }

// RESTClient returns the client that reads discovery.
func (r *Resolver) RESTClient() rest.Interface { return r.client }

// Ping requests the API server's version, and fails with an [UnavailableError] if there is no
// response.
func (r *Resolver) Ping(ctx context.Context) error {
	if err := r.client.Get().AbsPath("/version").Do(ctx).Error(); err != nil {
		return AsUnavailable(ctx, r.client, err)
	}
	return nil
}

// Resolve finds a resource by its name in kubectl's syntax. The error is an [UnknownResourceError],
// an [UnavailableError] if discovery could not be read, or a [GroupUnavailableError] if the name
// has a group that does not respond or matches a resource that such a group had before.
func (r *Resolver) Resolve(ctx context.Context, name string) (object.Resource, error) {
	if len(name) > maxNameLength {
		return object.Resource{}, &UnknownResourceError{Name: name[:maxNameLength] + "…"}
	}
	if known := r.requests.Last(); known != nil {
		if resource, ok := known.resolve(name); ok {
			return resource, nil
		}
	}
	fresh, err := r.requests.Fresh(ctx)
	if err != nil {
		return object.Resource{}, err
	}
	if resource, ok := fresh.resolve(name); ok {
		return resource, nil
	}
	if err := fresh.unavailable(name); err != nil {
		return object.Resource{}, err
	}
	return object.Resource{}, &UnknownResourceError{Name: name, NearMisses: fresh.nearMisses(name)}
}

// ResolveKinds returns the resources of kinds, in the cluster's preferred versions. Kinds that the
// cluster does not serve are missing from the result. Discovery is read at most once.
func (r *Resolver) ResolveKinds(ctx context.Context, kinds []schema.GroupKind) (map[schema.GroupKind]object.Resource, error) {
	if known := r.requests.Last(); known != nil {
		if found := known.resourcesOfKinds(kinds); len(found) == len(kinds) {
			return found, nil
		}
	}
	fresh, err := r.requests.Fresh(ctx)
	if err != nil {
		return nil, err
	}
	return fresh.resourcesOfKinds(kinds), nil
}

// Subresources returns the resource itself ("") and its subresources, in order, if the API server
// offers the verb for them. The data is at most a second old. The error is a [ResourceGoneError] if
// the API server does not serve the resource as described.
func (r *Resolver) Subresources(ctx context.Context, resource object.Resource, verb string) ([]string, error) {
	recent, err := r.requests.Recent(ctx, maxTypesAge)
	if err != nil {
		return nil, err
	}
	if served, err := recent.Serves(resource); err == nil && !served {
		return nil, &ResourceGoneError{resource}
	}
	return recent.offering(resource, verb), nil
}

// Serves reads discovery again, and reports whether a resource is served as described. See
// [Snapshot.Serves].
func (r *Resolver) Serves(ctx context.Context, resource object.Resource) (bool, error) {
	fresh, err := r.requests.Fresh(ctx)
	if err != nil {
		return false, err
	}
	return fresh.Serves(resource)
}

// errStarting is the error of an API server that has not started completely. Until then its
// discovery may omit groups that it serves.
var errStarting = errors.New("it is starting, and its discovery may not be complete yet")

// checkStarted returns an error unless the API server reports that it has started completely. An
// API server that is not ready for another reason has started, and so has one that denies the
// service the request. An API server that does not respond may be starting.
func (r *Resolver) checkStarted(ctx context.Context) error {
	checks, err := r.client.Get().AbsPath("/readyz").MaxRetries(0).Do(ctx).Raw()
	var status apierrors.APIStatus
	switch {
	case bytes.Contains(checks, []byte("[-]poststarthook/")):
		return errStarting
	case bytes.Contains(checks, []byte("[+]")): // the list of its checks
		return nil
	case errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError:
		return fmt.Errorf("it does not report whether it has started: %v", err)
	case errors.As(err, &status):
		return nil
	}
	return err
}

func (r *Resolver) discover() (*Snapshot, error) {
	// An API server that has started before discovery is read omits nothing.
	if err := r.checkStarted(context.Background()); err != nil {
		return nil, AsUnavailable(context.Background(), r.client, err)
	}
	r.cached.Invalidate()
	groups, lists, err := r.cached.ServerGroupsAndResources()
	failed, some := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !some {
		return nil, AsUnavailable(context.Background(), r.client, err)
	}
	aggregated, err := r.aggregated(context.Background())
	if err != nil {
		return nil, AsUnavailable(context.Background(), r.client, err)
	}
	away := r.last.update(lists, failed)
	served, _ := inOrder(groups, lists)
	cached := r.options.cachedOf(away)
	known, ordered := inOrder(withVersions(groups, cached), slices.Concat(lists, cached))
	snapshot := &Snapshot{
		mapper:     restmapper.NewDiscoveryRESTMapper(known),
		groups:     served,
		lists:      ordered,
		failed:     failed,
		lastKnown:  away,
		aggregated: aggregated,
		resolved:   make(map[string]object.Resource),
		applied:    make(map[string]map[schema.GroupResource]bool),
	}
	snapshot.excluded = uncachedBy(r.options, snapshot.named)
	return snapshot, nil
}

// inOrder sorts the results of discovery in the order in which the API server names its groups.
// client-go's lists have no order, so a short name of two groups would resolve differently from
// time to time.
func inOrder(
	groups []*metav1.APIGroup, lists []*metav1.APIResourceList,
) (resources []*restmapper.APIGroupResources, ordered []*metav1.APIResourceList) {
	served := make(map[string]*metav1.APIResourceList)
	for _, list := range lists {
		served[list.GroupVersion] = list
	}
	for _, group := range groups {
		groupResources := &restmapper.APIGroupResources{
			Group: *group, VersionedResources: make(map[string][]metav1.APIResource),
		}
		for _, version := range group.Versions {
			if list := served[version.GroupVersion]; list != nil {
				groupResources.VersionedResources[version.Version] = list.APIResources
				ordered = append(ordered, list)
			}
		}
		resources = append(resources, groupResources)
	}
	return resources, ordered
}

// withVersions returns the groups with the versions of lists. In the aggregated form of discovery,
// client-go omits the versions whose server is away.
func withVersions(groups []*metav1.APIGroup, lists []*metav1.APIResourceList) []*metav1.APIGroup {
	groups = slices.Clone(groups)
	for _, list := range lists {
		groupVersion, _ := schema.ParseGroupVersion(list.GroupVersion)
		at := slices.IndexFunc(groups, func(group *metav1.APIGroup) bool { return group.Name == groupVersion.Group })
		if at < 0 || slices.ContainsFunc(groups[at].Versions, isVersion(list.GroupVersion)) {
			continue
		}
		group := groups[at].DeepCopy()
		version := metav1.GroupVersionForDiscovery{GroupVersion: list.GroupVersion, Version: groupVersion.Version}
		group.Versions = append(group.Versions, version)
		if group.PreferredVersion.Version == "" {
			group.PreferredVersion = version
		}
		groups[at] = group
	}
	return groups
}

func isVersion(groupVersion string) func(metav1.GroupVersionForDiscovery) bool {
	return func(version metav1.GroupVersionForDiscovery) bool { return version.GroupVersion == groupVersion }
}

func (s *Snapshot) resolve(name string) (object.Resource, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if resource, ok := s.resolved[name]; ok {
		return resource, true
	}
	found, err := s.search(name)
	if err != nil {
		return object.Resource{}, false
	}
	resource, ok := s.find(found)
	if ok && len(s.resolved) < maxResolved {
		s.resolved[name] = resource
	}
	return resource, ok
}

// search follows kubectl: it looks for a resource with version and group, then with a group, then
// for a kind.
func (s *Snapshot) search(name string) (schema.GroupVersionResource, error) {
	versioned, grouped := schema.ParseResourceArg(name)
	if versioned != nil {
		if found, err := s.mapper.ResourceFor(s.expand(*versioned)); err == nil {
			return found, nil
		}
	}
	found, err := s.mapper.ResourceFor(s.expand(grouped.WithVersion("")))
	if err == nil {
		return found, nil
	}
	// Not in kubectl, but commonly tried: "pods.v1" for the core group.
	byVersion := schema.GroupVersionResource{Version: grouped.Group, Resource: grouped.Resource}
	if found, err := s.mapper.ResourceFor(s.expand(byVersion)); err == nil && grouped.Group != "" {
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
	mapping, err := s.mapper.RESTMapping(kind.GroupKind(), versions...)
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	return mapping.Resource, nil
}

// resourcesOfKinds returns the resources of the kinds that are served.
func (s *Snapshot) resourcesOfKinds(kinds []schema.GroupKind) map[schema.GroupKind]object.Resource {
	found := make(map[schema.GroupKind]object.Resource)
	for _, kind := range kinds {
		mapping, err := s.mapper.RESTMapping(kind)
		if err != nil {
			continue
		}
		if resource, ok := s.find(mapping.Resource); ok {
			found[kind] = resource
		}
	}
	return found
}

// expand replaces a short name by the name of its resource. A resource's own name takes precedence,
// so that no short name can replace it.
func (s *Snapshot) expand(partial schema.GroupVersionResource) schema.GroupVersionResource {
	name := strings.ToLower(partial.Resource)
	if _, taken := s.first(partial.Group, func(served metav1.APIResource) bool {
		return served.Name == name || served.SingularName == name
	}); taken {
		return partial
	}
	if found, ok := s.first(partial.Group, func(served metav1.APIResource) bool {
		return slices.Contains(served.ShortNames, name)
	}); ok {
		partial.Group, partial.Resource = found.Group, found.Resource
	}
	return partial
}

// first returns the first resource in discovery's order that meets a condition, in one group if
// group is not empty.
func (s *Snapshot) first(group string, meets func(metav1.APIResource) bool) (schema.GroupResource, bool) {
	for _, list := range s.lists {
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

// find returns the resource with a complete name.
func (s *Snapshot) find(name schema.GroupVersionResource) (object.Resource, bool) {
	for _, list := range s.lists {
		if list.GroupVersion != name.GroupVersion().String() {
			continue
		}
		for _, served := range list.APIResources {
			if served.Name == name.Resource {
				return s.newResource(name.GroupVersion(), served), true
			}
		}
	}
	return object.Resource{}, false
}

func (s *Snapshot) newResource(groupVersion schema.GroupVersion, served metav1.APIResource) object.Resource {
	return object.Resource{
		Group:      groupVersion.Group,
		Version:    groupVersion.Version,
		Name:       served.Name,
		Kind:       served.Kind,
		Namespaced: served.Namespaced,
		Watchable:  slices.Contains(served.Verbs, "list") && slices.Contains(served.Verbs, "watch"),
		Refused:    s.excludes(schema.GroupResource{Group: groupVersion.Group, Resource: served.Name}),
	}
}

// excludes reports whether a resource must not be cached.
func (s *Snapshot) excludes(resource schema.GroupResource) bool {
	return s.excluded[resource] || s.aggregated.excludes(resource)
}

// Discovery is a copy, and the API server may serve something else by now: a CRD can have moved to
// another version, or have been deleted and recreated with another scope or kind. Responses of the
// API server show it.

// Contradicts reports whether an error shows that the API server may not serve a resource as
// discovery describes it. The API server has not executed the request then.
func Contradicts(err error) bool {
	var unserved *ResourceGoneError
	var schemaless *NoSchemaError
	return errors.As(err, &unserved) || errors.As(err, &schemaless) || isPathUnknown(err)
}

// isPathUnknown reports whether the API server serves nothing at the path of a request. Its
// response is plain text then, which client-go converts to a Status with this cause; since Kubernetes
// 1.38 it is a Status that names nothing. For a missing object, the Status has its resource and name.
func isPathUnknown(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Kind == "" && details.Name == "" || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// ResolveFresh resolves a resource as Resolve does, with a discovery request that is sent after
// this call.
func (r *Resolver) ResolveFresh(ctx context.Context, name string) (object.Resource, error) {
	if err := r.Refresh(ctx); err != nil {
		return object.Resource{}, err
	}
	return r.Resolve(ctx, name)
}

// ResolveRecent resolves a resource as Resolve does. Its discovery data is at most a second old.
func (r *Resolver) ResolveRecent(ctx context.Context, name string) (object.Resource, error) {
	if _, err := r.requests.Recent(ctx, maxTypesAge); err != nil {
		return object.Resource{}, err
	}
	return r.Resolve(ctx, name)
}

// Refresh reads discovery again. Concurrent calls share the request.
func (r *Resolver) Refresh(ctx context.Context) error {
	_, err := r.Fresh(ctx)
	return err
}

// Fresh reads discovery again, and returns the result. Concurrent calls share the request.
func (r *Resolver) Fresh(ctx context.Context) (*Snapshot, error) { return r.requests.Fresh(ctx) }

// Confirm returns a [ResourceGoneError] if the API server does not serve a resource as described.
// Its discovery data is at most a second old.
func (r *Resolver) Confirm(ctx context.Context, resource object.Resource) error {
	recent, err := r.requests.Recent(ctx, maxTypesAge)
	if err != nil {
		return err
	}
	if served, err := recent.Serves(resource); err == nil && !served {
		return &ResourceGoneError{resource}
	}
	return nil
}

// Types returns the resources that the cluster serves, and the versions of groups whose
// resources are unknown, both in order. The data is at most a second old. The error is an
// [UnavailableError] if discovery could not be read.
func (r *Resolver) Types(ctx context.Context) ([]Type, []FailedGroupVersion, error) {
	recent, err := r.requests.Recent(ctx, maxTypesAge)
	if err != nil {
		return nil, nil, err
	}
	return recent.types(), recent.failures(), nil
}

// maxTypesAge is the maximum age of a list of types. It bounds the delay until a new CRD is
// visible, and limits frequent callers to one request to the API server a second.
const maxTypesAge = time.Second

// Type is discovery's description of a resource, in the version that the cluster prefers.
type Type struct {
	object.Resource
	Singular     string
	ShortNames   []string
	Categories   []string
	Verbs        []string
	Subresources []string // in order
	Versions     []string // all served versions, the preferred one first
}

// FailedGroupVersion is a version of an API group that discovery could not read, because the API server
// behind it is down.
type FailedGroupVersion struct {
	schema.GroupVersion
	Err error
}

// preferredFirst returns the versions of a group, the preferred one first.
func preferredFirst(group metav1.APIGroup) []string {
	versions := []string{}
	for _, version := range group.Versions {
		versions = append(versions, version.Version)
	}
	slices.SortStableFunc(versions, func(a, b string) int {
		switch group.PreferredVersion.Version {
		case a:
			return -1
		case b:
			return 1
		}
		return 0
	})
	return versions
}

// aggregated requests the API server's aggregated APIs. It must be called after discovery, because
// an APIService exists before its group does.
func (r *Resolver) aggregated(ctx context.Context) (aggregation, error) {
	known := aggregation{trusted: r.options.CacheAggregated}
	services, err := r.listRegistrations(ctx, APIServices, runtime.ContentTypeJSON)
	switch {
	case apierrors.IsNotFound(err): // an API server without aggregation
		known.groups = make(map[string]bool)
		return known, nil
	case apierrors.IsForbidden(err):
		r.warnOnce.Do(func() {
			slog.Warn("the service may not list apiservices.apiregistration.k8s.io, " +
				"so it does not know which APIs are aggregated; " +
				"only built-in resources and those of CRDs that it may list are cached")
		})
		known.defined, err = r.definedResources(ctx)
		return known, err
	case err != nil:
		return aggregation{}, err
	}
	known.groups = make(map[string]bool)
	for _, service := range services {
		if service.Spec.Service != nil {
			known.groups[service.Spec.Group] = true
		}
	}
	return known, nil
}

// definedResources returns the resources that CRDs define; none if the service has no permission to
// list CRDs.
func (r *Resolver) definedResources(ctx context.Context) (map[schema.GroupResource]bool, error) {
	definitions, err := r.listRegistrations(ctx, CustomResourceDefinitions, acceptedMetadata)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	defined := make(map[schema.GroupResource]bool)
	for _, definition := range definitions {
		defined[schema.ParseGroupResource(definition.Name)] = true
	}
	return defined, err
}

func (r *Resolver) listRegistrations(ctx context.Context, resource object.Resource, accept string) ([]registration, error) {
	text, err := r.client.Get().AbsPath("/apis", resource.Group, resource.Version, resource.Name).
		SetHeader("Accept", accept).MaxRetries(0).Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []registration `json:"items"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("reading the API server's %s: %w", resource.Name, err)
	}
	return list.Items, nil
}
