// Package health reports whether the service can serve calls, and whether it knows the cluster's current state.
// [Readiness] is the first: cmd/server sets it. [Upstream] is the second: the API server is reachable, grants the
// permissions that every call needs, and answers [Reviews] of callers. They are separate, because a replica that
// cannot reach the API server still serves its last state, marked as stale.
//
// [Handle] serves both over HTTP (/livez, /readyz, /upstreamz) and as grpc.health.v1.Health. The options of the
// handlers bound the requests, which are not authenticated; package edge passes them.
//
// The package imports no other package of server/edge.
package health
