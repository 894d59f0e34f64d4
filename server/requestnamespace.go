package server

import (
	"slices"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

// collectionVerbs are those of requests that name no object in their path. One that selects a
// name by a field is among them.
var collectionVerbs = []string{"list", "watch", "create", "deletecollection"}

// requestNamespace returns the namespace that the API server authorizes a request in: a request
// for one Namespace is a request in that namespace, although Namespaces have none. So a Role
// can allow it, and an authorizer that closes a namespace denies it.
func requestNamespace(resource informerhub.Resource, verb, namespace, name string) string {
	if resource.Group == "" && resource.Name == "namespaces" && name != "" && !slices.Contains(collectionVerbs, verb) {
		return name
	}
	return namespace
}
