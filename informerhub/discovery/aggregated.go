package discovery

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// The server behind an aggregated API may return different objects to each user, whatever RBAC
// allows: OpenShift's projects are an example. The objects that it returns to the service must not
// be served to other users. So the groups of aggregated APIs are not cached, unless the operator
// declares that their servers return the same objects to every user.

// APIServices is the resource of the registrations of API groups. An APIService with
// spec.service belongs to an aggregated API.
var APIServices = object.Resource{
	Group: "apiregistration.k8s.io", Version: "v1", Name: "apiservices", Kind: "APIService", Watchable: true,
}

// CustomResourceDefinitions is the resource of the definitions of custom resources.
var CustomResourceDefinitions = object.Resource{
	Group: "apiextensions.k8s.io", Version: "v1", Name: "customresourcedefinitions",
	Kind: "CustomResourceDefinition", Watchable: true,
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
	return scheme.Scheme.IsGroupRegistered(group) || group == CustomResourceDefinitions.Group || group == APIServices.Group
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
