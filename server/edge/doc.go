// Package edge has what every call passes, whatever it asks for. A [Chain] is the order: the bounds for
// unknown clients, pages of other sites, a gate that authenticates the caller and applies its
// limits before any of the message is read, and the interceptors.
//
// Handlers return domain errors. An interceptor maps them in one place to a Connect code and a
// kubeconnect.v1.Status, bounded in size, and removes the addresses of the cluster. A [LimitError]
// reports that a caller is over one of its [Limits], and when to retry. [Callers] counts the calls and
// streams of each. [Share] is the memory of one use, and [MemoryLimit] logs and counts when the process
// needs more than it may use. JSON that a request should not have is rejected before a handler is
// called.
//
// A stream is an [OpenStream] of [Streams], which ends at its maximum age, or when [Balance] finds that
// a peer should serve it: only where its client can resume it, and the client's connection is
// drained before. [CoalesceWrites] writes each message of a stream in one piece, and ends a stream
// whose client leaves a message unread; see [Unread]. sameSite and [CORS] decide which pages of
// browsers can call. conditionalReads gives the response of a read by GET a tag, and responds with 304
// to a client that has the response: never for another caller, and never before the caller's
// permissions are checked. A handler that knows what its response depends on calls [Unchanged], so
// that a response which has not changed is not computed.
//
// The package does not know the handlers of the RPCs.
package edge
