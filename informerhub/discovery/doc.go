// Package discovery knows which resources a cluster serves, and their schemas.
//
// A [Resolver] finds the resource that a caller names, as kubectl does, and describes all resources
// of the cluster. [Schemas] reads the OpenAPI schemas of their kinds. Both send requests to the API
// server with the permissions of a client configuration. Callers share the requests: at most one is
// in flight, and at most two are sent in a second.
//
// # Staleness
//
//   - [Resolver.Resolve] uses what is known. It reads discovery again for a name that is not found,
//     so that a custom resource that was just created is found.
//   - [Resolver.Types], [Resolver.Subresources], [Resolver.ResolveRecent], [Resolver.Confirm] and
//     [Schemas.Get] use data that is at most a second old.
//   - [Resolver.ResolveFresh], [Resolver.Refresh], [Resolver.Fresh] and [Resolver.Serves] send a
//     request after the call. They are for callers that have received an error of the API server
//     that contradicts the known data, see [Contradicts].
//
// While the API server starts, its discovery can be incomplete, and is not used.
//
// # Groups that do not respond
//
// The server of an aggregated API can be unreachable. The resources of its groups are unknown then,
// and not missing: [Resolver.Resolve] returns a [GroupUnavailableError] instead of an
// [UnknownResourceError], and [Resolver.Types] returns them as failed. Groups that are cached
// nevertheless ([Options.CacheAggregated]) resolve to the resources that they had when they last
// responded, because their objects are still in the cache.
//
// # Resources that must not be cached
//
// A resolved resource says whether it may be cached (object.Resource.Refused). Resources of
// aggregated APIs may not, because their servers may return other objects to each user, and neither
// may those that [Options] exclude.
package discovery
