// Package tracing has the spans of OpenTelemetry below those of calls. A call's span is begun by
// server/edge, and cmd/server exports all spans; this package needs no configuration.
//
// [Begin] and [Wait] begin a span only below a span that is recorded. Without one, as when tracing is
// off, they do not allocate. [Transport] passes the context on to the API server.
//
// Spans leave the process. They never have a credential, the name or the content of an object, or the
// message of an error, which can quote an object.
package tracing
