// Package serving accepts the connections of callers, and serves HTTP on them.
//
// [Listen] opens an [Endpoint]: in plain text, or over TLS with a certificate that is read again when its files
// change. [Start] serves a handler on it, over HTTP/1.1 and HTTP/2. What a client without a credential can use is
// bounded: connections in total, of one network, and by the limit of open files; headers, and bytes of bodies
// that are not read.
//
//	endpoint, err := serving.Listen(serving.Options{Address: "127.0.0.1:8080", MaxConnections: 100, MaxConnectionsPerAddress: 10})
//	server := serving.Start(endpoint, handler)
//	err = server.Wait(ctx) // until the context is done, or the listener fails
//	server.CloseListener()
//	server.FinishCalls(10 * time.Second)
//
// Each connection has an http.Server of its own, so that a call can drain its connection (streamlife.WithConnection): open
// streams continue, and the client opens another connection for its next calls.
//
// serving knows connections and requests, and neither settings nor calls: it imports of the service only
// auth.PeerNetwork, streamlife.WithConnection and logging.
package serving
