package informerhub

import "github.com/kubeconnect/kubeconnect/informerhub/object"

// The types of other packages that are in nearly every signature of this one.
type (
	// Object is an object of the cluster. It is immutable.
	Object = object.Object
	// Resource is a resource that the cluster serves. It is the key of its cache.
	Resource = object.Resource
)
