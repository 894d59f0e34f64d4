package server

import (
	"slices"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

// collectionVerbs are the verbs of requests without an object's name in their path, even if a field
// selector selects a name.
var collectionVerbs = []string{"list", "watch", "create", "deletecollection"}

// requestNamespace returns the namespace that the API server authorizes a request in: a request for
// one Namespace is a request in that namespace, although Namespaces are cluster-scoped. So a Role
// can allow it, and an authorizer that denies access to a namespace denies it.
func requestNamespace(resource informerhub.Resource, verb, namespace, name string) string {
	if resource.Group == "" && resource.Name == "namespaces" && name != "" && !slices.Contains(collectionVerbs, verb) {
		return name
	}
	return namespace
}
