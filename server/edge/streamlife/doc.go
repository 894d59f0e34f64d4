// Package streamlife ends streams while their clients and the service continue. A stream ends early only with an
// error that says what its client should do, and a watch only where its client can resume it: between messages,
// when everything that it has sent has a resume token.
//
// A stream is an [OpenStream] of [Streams], which ends at its maximum age, or when [Balance] finds that a peer should
// serve it; its connection is drained before, so that the client opens another one. [CancelOnShutdown] ends all streams
// when the service shuts down. [CoalesceWrites] writes each message of a stream in one piece, and ends a stream whose
// client leaves a message unread; see [Unread].
//
//	ctx, stream, end := streams.Begin(ctx, 1)
//	defer end()
//	part := &streamlife.StreamPart{Stream: stream}
//
// The package imports call, callerrors and health.
package streamlife
