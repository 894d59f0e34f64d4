// Package edge has what calls pass whatever they ask for: pages of other sites, compression, the end of
// streams, and clients that do not read.
//
// A stream is an [OpenStream] of [Streams], which ends at its maximum age, or when [Balance] finds that
// a peer should serve it: only where its client can resume it, and the client's connection is
// drained before. [CoalesceWrites] writes each message of a stream in one piece, and ends a stream
// whose client leaves a message unread; see [Unread]. [SameSite] and [CORS] decide which pages of
// browsers can call.
//
// The package knows neither the messages of the RPCs nor their handlers.
package edge
