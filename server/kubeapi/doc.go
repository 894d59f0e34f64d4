// Package kubeapi serves Kubernetes' own API: programs that are written for the API server use the service by its address alone.
//
// GET, LIST and WATCH of cached resources are answered from the caches of informerhub, as the caller and in the forms of the API server:
// JSON, protobuf, and the metadata alone in both. Everything else is passed on to the API server as the caller, unchanged both ways:
// changes, tables, subresources, discovery, other forms, and connections into containers. So is every read that the API server would
// reject, so that its own error is returned, and every read that the cache cannot answer as the API server would: of a resource that is
// not cached in all of its namespaces, or at a version that this replica does not know.
//
//   - A list without a resource version is the newest: the API server is asked for its current version only, in a request that all
//     callers share. The list is passed on if the cache does not show in half a second that it has that version.
//   - A page of a list continues at every replica and at the API server, because its token is in the API server's own form.
//   - A watch from a resource version has every change since, or ends with 410 Expired.
//   - A caller with permissions in some namespaces is denied a read of all of them, as at the API server.
//
// The handler stands beside the handlers of the RPCs, on the same parts: the gate, the permissions, the leases, the budgets.
//
//	handler := chain.Handler(mux, kubeapi.New(config))
//
// It must not import the handlers of RPCs, and knows no message of the service's own API.
package kubeapi
