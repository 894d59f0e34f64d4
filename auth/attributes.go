package auth

import (
	authorizationv1 "k8s.io/api/authorization/v1"
)

// Attributes are what a caller wants to do, in the words of a SubjectAccessReview.
type Attributes struct {
	// Verb is one of the API server's, such as get, list or watch; of HTTP's in lower
	// case for a Path.
	Verb string
	// Group, Version, Resource and Subresource say with what. Group is empty for the
	// core group.
	Group, Version, Resource, Subresource string
	// Namespace is empty for all namespaces, and for a resource without.
	Namespace string
	// Name is empty for all objects.
	Name string
	// Path is that of a request for no resource, such as /metrics; then only Verb counts
	// beside it.
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
