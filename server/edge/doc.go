// Package edge has what calls pass whatever they ask for: errors, limits, pages of other sites,
// compression, the end of streams, and clients that do not read.
//
// Handlers return domain errors. [MapErrors] maps them in one place to a Connect code and a
// kubeconnect.v1.Status, bounded in size, and removes the addresses of the cluster. A [LimitError]
// reports that a caller is over one of its [Limits], and when to retry. [Share] is the memory of one
// use.
//
// A stream is an [OpenStream] of [Streams], which ends at its maximum age, or when [Balance] finds that
// a peer should serve it: only where its client can resume it, and the client's connection is
// drained before. [CoalesceWrites] writes each message of a stream in one piece, and ends a stream
// whose client leaves a message unread; see [Unread]. [SameSite] and [CORS] decide which pages of
// browsers can call.
//
// The package does not know the handlers of the RPCs.
package edge
