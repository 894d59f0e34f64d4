// Package streams implements the RPCs that stay open: Watch, WatchMany and WatchCounts.
//
// A stream has one part, or in a WatchMany several: a watch, live counts, or a watch with a page. A part resolves its resource,
// gets an access lease, attaches to a cache, and then sends batches for as long as its client reads:
//
//		Watches.Watch ─▶ part.start: lease, relation, cache, resume token ─▶ part.follow: batch ─▶ lease ─▶ stream.Send
//
//	  - Nothing is sent without a valid lease. While a lease cannot be renewed, the stream repeats its bookmark as stale.
//	  - A stream is never silent for longer than ten seconds, whatever it waits for.
//	  - A stream reserves memory before it encodes a batch, and never blocks a cache or another stream.
//	  - A client that resumes with the last token that it received misses nothing, at any replica.
//
// A part is owned by the goroutine that runs it. streams must not import logs, which follows pods by a watch.
package streams
