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

// wider are rights that this one follows from: the same to all names, and in all
// namespaces.
func (a Attributes) wider() []Attributes {
	var wider []Attributes
	if a.Name != "" {
		everyName := a
		everyName.Name = ""
		wider = append(wider, everyName)
	}
	if a.Namespace != "" {
		everywhere := a
		everywhere.Namespace = ""
		wider = append(wider, everywhere)
		everywhere.Name = ""
		wider = append(wider, everywhere)
	}
	return wider
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
