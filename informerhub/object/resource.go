package object

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// Resource is a resource that the cluster serves, in one version. It is comparable, and the key of
// its cache.
type Resource struct {
	Group      string
	Version    string
	Name       string // the plural, such as "pods"
	Kind       string
	Namespaced bool
	// Watchable reports whether the API server can list and watch the resource, so that it can be
	// cached.
	Watchable bool
	// Refused reports whether the resource is excluded from caching: by the operator, because it is
	// a lease that the operator has not named, or because the server of an aggregated API serves it
	// (see Uncached, Preload and CacheAggregated in the options of informerhub).
	Refused bool
}

// Cacheable reports whether the resource is cached when it is read.
func (r Resource) Cacheable() bool { return r.Watchable && !r.Refused }

// GroupVersion returns the resource's group and version.
func (r Resource) GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: r.Group, Version: r.Version}
}

// GroupVersionResource returns the resource's name with its group and version.
func (r Resource) GroupVersionResource() schema.GroupVersionResource {
	return r.GroupVersion().WithResource(r.Name)
}

// GroupVersionKind returns the kind of the resource's objects.
func (r Resource) GroupVersionKind() schema.GroupVersionKind {
	return r.GroupVersion().WithKind(r.Kind)
}

// GroupResource returns the resource without its version, as errors name it.
func (r Resource) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Name}
}

// String returns the resource in kubectl's syntax: "deployments.v1.apps", "pods.v1".
func (r Resource) String() string {
	return strings.TrimSuffix(strings.Join([]string{r.Name, r.Version, r.Group}, "."), ".")
}

// BuiltIn reports whether client-go has a Go type for the resource's kind, and therefore a protobuf
// form.
func (r Resource) BuiltIn() bool {
	return scheme.Scheme.Recognizes(r.GroupVersionKind())
}

// Fits reports whether an object, as the API server sent it, has the kind and the scope that
// discovery reports for its resource.
func (r Resource) Fits(object *Object) bool {
	if (object.namespace != "") != r.Namespaced {
		return false
	}
	if object.format != formatJSON {
		return true // protobuf is used only for built-in kinds
	}
	kind := jsonString(jsonMember(object.raw, "kind"))
	return kind == "" || kind == PartialKind || kind == r.Kind
}
