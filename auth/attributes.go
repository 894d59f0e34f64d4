package auth

import (
	authorizationv1 "k8s.io/api/authorization/v1"
)

// Attributes describe an action of a caller, like those of a SubjectAccessReview.
type Attributes struct {
	// Verb is a verb of the API server, such as get, list or watch. For a Path it is an HTTP method
	// in lower case.
	Verb string
	// Group, Version, Resource and Subresource name the resource. Group is empty for the core
	// group.
	Group, Version, Resource, Subresource string
	// Namespace is empty for all namespaces, and for a cluster-scoped resource.
	Namespace string
	// Name is empty for all objects.
	Name string
	// Path is the path of a non-resource request, such as /metrics. With a Path, only Verb is used
	// in addition.
	Path string
}

func (a Attributes) resource() *authorizationv1.ResourceAttributes {
	if a.Path != "" {
		return nil
	}
	return &authorizationv1.ResourceAttributes{
		Verb:        a.Verb,
		Group:       a.Group,
		Version:     a.Version,
		Resource:    a.Resource,
		Subresource: a.Subresource,
		Namespace:   a.Namespace,
		Name:        a.Name,
	}
}

func (a Attributes) nonResource() *authorizationv1.NonResourceAttributes {
	if a.Path == "" {
		return nil
	}
	return &authorizationv1.NonResourceAttributes{Verb: a.Verb, Path: a.Path}
}
