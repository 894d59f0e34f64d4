package informerhub

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// The server behind an aggregated API may show each user other objects, whatever RBAC
// allows: OpenShift's projects are an example. What it shows the service must not be handed
// out to others. So the groups of aggregated APIs are not cached, unless the operator
// says that their servers show every user the same.

// serviceResource are the registrations of API groups. One with spec.service is of an
// aggregated API.
var serviceResource = Resource{
	Group: "apiregistration.k8s.io", Version: "v1", Name: "apiservices", Kind: "APIService", Watchable: true,
}

// aggregation is what is known of the cluster's aggregated APIs.
type aggregation struct {
	trusted []string // groups that are cached even so
	// groups are those of aggregated APIs; nil if the service may not read APIServices.
	groups map[string]bool
	// defined are the resources that CRDs define, if groups is nil. Empty if the service
	// may not read CRDs either.
	defined map[schema.GroupResource]bool
}

// refuses reports whether a resource may be one of an aggregated API. Without APIServices,
// that is everything but what the API server itself has, and what CRDs define.
func (a aggregation) refuses(resource schema.GroupResource) bool {
	for _, group := range a.trusted {
		if group == resource.Group {
			return false
		}
	}
	if a.groups != nil {
		return a.groups[resource.Group]
	}
	return !isOwnGroup(resource.Group) && !a.defined[resource]
}

// isOwnGroup reports whether a group is one of the API server's own.
func isOwnGroup(group string) bool {
	return scheme.Scheme.IsGroupRegistered(group) || group == definitionResource.Group || group == serviceResource.Group
}

// aggregated asks the API server for its aggregated APIs. It must be asked after discovery: an
// APIService is there before its group is.
func (r *Resolver) aggregated(ctx context.Context) (aggregation, error) {
	known := aggregation{trusted: r.options.CacheAggregated}
	services, err := r.listed(ctx, serviceResource, runtime.ContentTypeJSON)
	switch {
	case apierrors.IsNotFound(err): // an API server that aggregates nothing
		known.groups = make(map[string]bool)
		return known, nil
	case apierrors.IsForbidden(err):
		r.warnOnce.Do(func() {
			slog.Warn("the service may not list apiservices.apiregistration.k8s.io, and so does not know which APIs are aggregated; "+
				"only built-in resources and those of CRDs that it may list are kept in memory", "error", err)
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

// definedResources are the resources that CRDs define; none if the service may not list CRDs.
func (r *Resolver) definedResources(ctx context.Context) (map[schema.GroupResource]bool, error) {
	definitions, err := r.listed(ctx, definitionResource, acceptedMetadata)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	defined := make(map[schema.GroupResource]bool)
	for _, definition := range definitions {
		defined[schema.ParseGroupResource(definition.Name)] = true
	}
	return defined, err
}

// acceptedMetadata asks for a list of metadata, and for the objects where the API server cannot
// make that.
const acceptedMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

// registration is what is read of an APIService, or of a CRD.
type registration struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Group   string          `json:"group"`
		Service *map[string]any `json:"service"`
	} `json:"spec"`
}

func (r *Resolver) listed(ctx context.Context, resource Resource, accept string) ([]registration, error) {
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

// followServices has the caches of custom resources compared with discovery whenever an
// APIService changes, until the context ends: one that has become a resource of an
// aggregated API ends. Where APIServices cannot be watched, they are compared at an interval.
func (s *definitionsSession) followServices(ctx context.Context) {
	for ctx.Err() == nil {
		refusal := s.watchServices(ctx)
		if apierrors.IsForbidden(refusal) {
			s.warnServices.Do(func() {
				slog.Warn("APIServices cannot be watched; a group that another server comes to serve is noticed after half a minute", "error", refusal)
			})
		}
		for began := time.Now(); ctx.Err() == nil && time.Since(began) < definitionsRetry; {
			if !apierrors.IsNotFound(refusal) {
				s.check(ctx, s.of(""), false, func(*upstream) bool { return false })
			}
			pause(ctx, definitionsInterval)
		}
	}
}

// watchServices watches APIServices until the context ends or the API server refuses.
func (s *definitionsSession) watchServices(ctx context.Context) error {
	return s.watchMetadata(ctx, serviceResource, &serviceStore{session: s}, func() {})
}

// metadataOf lists and watches the metadata of a resource's objects. It calls refuse when the
// service may not, and failed when a list has failed.
func metadataOf(client rest.Interface, resource Resource, refuse context.CancelCauseFunc, failed func()) *listThenWatch {
	noted := func(err error) error {
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			refuse(err)
		}
		return err
	}
	return &listThenWatch{cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := metadataRequest(client, resource, partialListKind, options).Do(ctx).Get()
			if err != nil {
				failed()
			}
			return list, noted(err)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			events, err := metadataRequest(client, resource, partialKind, options).Watch(ctx)
			return events, noted(err)
		},
	}}
}

func metadataRequest(client rest.Interface, resource Resource, as string, options metav1.ListOptions) *rest.Request {
	return onlyMetadata(client.Get(), resource, as).
		Resource(resource.Name).
		SpecificallyVersionedParams(&options, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"})
}

// serviceStore is the store of a Reflector of APIServices. It keeps nothing.
type serviceStore struct {
	session *definitionsSession
	listed  sync.Once
}

// Add implements cache.ReflectorStore.
func (s *serviceStore) Add(object any) error { return s.Update(object) }

// Update implements cache.ReflectorStore.
func (s *serviceStore) Update(object any) error {
	// It is named VERSION.GROUP.
	_, group, _ := strings.Cut(object.(*Object).name, ".")
	s.session.regroup(group)
	return nil
}

// Delete implements cache.ReflectorStore. What is not aggregated any more is cached when
// it is discovered again.
func (s *serviceStore) Delete(any) error { return nil }

// Resync implements cache.ReflectorStore; there is nothing to do.
func (s *serviceStore) Resync() error { return nil }

// Replace implements cache.ReflectorStore. What the first list has was there when the caches were
// compared with discovery: see verify.
func (s *serviceStore) Replace([]any, string) error {
	first := false
	s.listed.Do(func() { first = true })
	if !first {
		s.session.regroup("")
	}
	return nil
}
