package informerhub

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub/object"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// The server behind an aggregated API may return different objects to each user, whatever RBAC
// allows: OpenShift's projects are an example. The objects that it returns to the service must not
// be served to other users. So the groups of aggregated APIs are not cached, unless the operator
// declares that their servers return the same objects to every user.

// serviceResource is the resource of the registrations of API groups. An APIService with
// spec.service belongs to an aggregated API.
var serviceResource = Resource{
	Group: "apiregistration.k8s.io", Version: "v1", Name: "apiservices", Kind: "APIService", Watchable: true,
}

// aggregation is the known state of the cluster's aggregated APIs.
type aggregation struct {
	trusted []string // groups that are cached nevertheless
	// groups are those of aggregated APIs; nil if the service has no permission to read
	// APIServices.
	groups map[string]bool
	// defined are the resources that CRDs define, if groups is nil. It is empty if the service has
	// no permission to read CRDs either.
	defined map[schema.GroupResource]bool
}

// excludes reports whether a resource may belong to an aggregated API. If APIServices are unknown,
// that is every resource except those of the API server itself and those that CRDs define.
func (a aggregation) excludes(resource schema.GroupResource) bool {
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

// aggregated requests the API server's aggregated APIs. It must be called after discovery, because
// an APIService exists before its group does.
func (r *Resolver) aggregated(ctx context.Context) (aggregation, error) {
	known := aggregation{trusted: r.options.CacheAggregated}
	services, err := r.listRegistrations(ctx, serviceResource, runtime.ContentTypeJSON)
	switch {
	case apierrors.IsNotFound(err): // an API server without aggregation
		known.groups = make(map[string]bool)
		return known, nil
	case apierrors.IsForbidden(err):
		r.warnOnce.Do(func() {
			slog.Warn("the service may not list apiservices.apiregistration.k8s.io, "+
				"so it does not know which APIs are aggregated; "+
				"only built-in resources and those of CRDs that it may list are cached", "error", err)
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
	definitions, err := r.listRegistrations(ctx, definitionResource, acceptedMetadata)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	defined := make(map[schema.GroupResource]bool)
	for _, definition := range definitions {
		defined[schema.ParseGroupResource(definition.Name)] = true
	}
	return defined, err
}

// acceptedMetadata requests a list of metadata, or of the objects if the API server cannot return
// metadata.
const acceptedMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

// registration is the part of an APIService or a CRD that is read.
type registration struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Group   string          `json:"group"`
		Service *map[string]any `json:"service"`
	} `json:"spec"`
}

func (r *Resolver) listRegistrations(ctx context.Context, resource Resource, accept string) ([]registration, error) {
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

// followServices compares the caches of custom resources with discovery whenever an APIService
// changes, until the context ends. A cache whose resource has become part of an aggregated API
// ends. If APIServices cannot be watched, the caches are compared at an interval.
func (s *definitionsSession) followServices(ctx context.Context) {
	for ctx.Err() == nil {
		refusal := s.watchServices(ctx)
		if apierrors.IsForbidden(refusal) {
			s.warnServices.Do(func() {
				slog.Warn("APIServices cannot be watched; "+
					"a group that moves to another server is noticed after half a minute", "error", refusal)
			})
		}
		for began := time.Now(); ctx.Err() == nil && time.Since(began) < definitionsRetry; {
			if !apierrors.IsNotFound(refusal) {
				s.check(ctx, s.upstreamsOf(""), false, func(*upstream) bool { return false })
			}
			pause(ctx, definitionsInterval)
		}
	}
}

// watchServices watches APIServices until the context ends or the API server denies it.
func (s *definitionsSession) watchServices(ctx context.Context) error {
	return s.watchMetadata(ctx, serviceResource, &serviceStore{session: s}, func() {})
}

// metadataOf lists and watches the metadata of a resource's objects. It calls refuse when the
// service has no permission, and failed when a list has failed.
func metadataOf(
	client rest.Interface, resource Resource, refuse context.CancelCauseFunc, failed func(),
) *listThenWatch {
	noted := func(err error) error {
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			refuse(err)
		}
		return err
	}
	return &listThenWatch{cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := metadataRequest(client, resource, object.PartialListKind, options).Do(ctx).Get()
			if err != nil {
				failed()
			}
			return list, noted(err)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			events, err := metadataRequest(client, resource, object.PartialKind, options).Watch(ctx)
			return events, noted(err)
		},
	}}
}

func metadataRequest(client rest.Interface, resource Resource, kind string, options metav1.ListOptions) *rest.Request {
	return object.RequestMetadata(client.Get(), resource, kind).
		Resource(resource.Name).
		SpecificallyVersionedParams(&options, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"})
}

// serviceStore is the store of a Reflector of APIServices. It stores nothing.
type serviceStore struct {
	session *definitionsSession
	listed  sync.Once
}

// Add implements cache.ReflectorStore.
func (s *serviceStore) Add(object any) error { return s.Update(object) }

// Update implements cache.ReflectorStore.
func (s *serviceStore) Update(object any) error {
	// An APIService is named VERSION.GROUP.
	_, group, _ := strings.Cut(object.(*Object).Name(), ".")
	s.session.recordRegrouped(group)
	return nil
}

// Delete implements cache.ReflectorStore. A resource that is no longer aggregated is cached once it
// is discovered again.
func (s *serviceStore) Delete(any) error { return nil }

// Resync implements cache.ReflectorStore. It does nothing.
func (s *serviceStore) Resync() error { return nil }

// Replace implements cache.ReflectorStore. The first list needs no comparison, because its
// APIServices existed when the caches were compared with discovery: see verify.
func (s *serviceStore) Replace([]any, string) error {
	first := false
	s.listed.Do(func() { first = true })
	if !first {
		s.session.recordRegrouped("")
	}
	return nil
}
