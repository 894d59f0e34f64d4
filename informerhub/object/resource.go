package object

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
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

// CompareVersions compares two resource versions of one resource. Versions that cannot be compared
// are treated as equal.
func CompareVersions(a, b string) int {
	order, err := resourceversion.CompareResourceVersion(a, b)
	if err != nil {
		return 0
	}
	return order
}

// Older reports whether version a is older than b.
func Older(a, b string) bool { return CompareVersions(a, b) < 0 }

// IsVersion reports whether text is a resource version, as the API server writes them.
func IsVersion(text string) bool {
	_, err := resourceversion.CompareResourceVersion(text, text)
	return err == nil
}

// VersionNumber returns the number of a version, for storage: it takes eight bytes, and does not
// retain the object that the version was read from. A version that does not fit is
// math.MaxUint64, and cannot be searched for.
func VersionNumber(version string) uint64 {
	n, _ := strconv.ParseUint(version, 10, 64) // the largest number if out of range
	return n
}

// FormatVersion returns the version with a number.
func FormatVersion(number uint64) string { return strconv.FormatUint(number, 10) }

// The API server can send the metadata of objects instead of the objects, as meta.k8s.io/v1
// PartialObjectMetadata. In protobuf this is a valid message of any kind with only metadata, and is
// read as such.
const (
	// PartialKind is the kind of an object's metadata.
	PartialKind = "PartialObjectMetadata"
	// PartialListKind is the kind of a list of it.
	PartialListKind = PartialKind + "List"
)

// RequestMetadata makes a request return the metadata of a resource's objects, as
// PartialObjectMetadata or a list of these: kind is [PartialKind] or [PartialListKind].
func RequestMetadata(request *rest.Request, resource Resource, kind string) *rest.Request {
	if resource.BuiltIn() {
		return request.SetHeader("Accept", runtime.ContentTypeProtobuf+asPartial(kind)+","+metadataAsJSON(kind))
	}
	return RequestMetadataAsJSON(request, kind)
}

// RequestMetadataAsJSON is like [RequestMetadata], for a response that is always JSON.
func RequestMetadataAsJSON(request *rest.Request, kind string) *rest.Request {
	return request.SetHeader("Accept", metadataAsJSON(kind))
}

// metadataAsJSON accepts the whole objects too, of an API server that cannot send their metadata alone.
func metadataAsJSON(kind string) string {
	return runtime.ContentTypeJSON + asPartial(kind) + "," + runtime.ContentTypeJSON
}

func asPartial(kind string) string { return ";as=" + kind + ";g=meta.k8s.io;v=v1" }
