// Package budget bounds what one call may use of a replica while it runs: memory for its response, for what it reads at the
// API server and for the messages that it sends, and processors.
//
// A unary call reserves memory before it builds its response, and releases it when the response has been written to the
// connection, also if its client has disconnected: see [Responses]. What is read from the API server is reserved while it is
// read, because such a response can have any size: see [ReservingClient]. A stream reserves memory for each batch that it
// sends, until its client has read it: see [Messages]. Work that takes longer than a moment is done in a processor slot of its
// caller: see [InSlot].
//
// What one caller uses never takes the last of what others need: each budget has a part for one caller. A call that waits is
// rejected after some seconds by a RESOURCE_EXHAUSTED error with a retry time. What outlives a call, or is kept between
// messages, is charged by internal/ledger instead.
//
// budget knows objects and connections. It must not import auth's authorizers, and knows no RPC.
package budget
