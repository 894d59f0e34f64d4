// Package kubejson writes Kubernetes objects as JSON straight from their protobuf
// messages, without a Go struct in between.
//
// [Append] promises one thing: the bytes are those that encoding/json makes of the
// kind's Go type, after its own Unmarshal and with its kind set; and where either of
// these refuses, Append refuses with its error.
//
// How it keeps the promise without knowing every corner of two codecs: the direct way
// takes only what an API server writes, and is sure of each step. Whatever else it
// meets (a type that it does not understand, a field in the wrong wire type, a field
// that stands twice, a map that is not in order, bytes that end too early) makes it
// give the whole object up to the Go type, which then decides. So the direct way can
// be slower than it might be, but not wrong.
//
// What is known of a Go type is worked out from its struct tags once, at the first
// object of its kind, and kept. Everything here is safe for concurrent use.
package kubejson
