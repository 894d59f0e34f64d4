// Package kubejson converts Kubernetes objects from their protobuf messages to JSON directly,
// without a Go struct in between.
//
// [Append] guarantees one thing: the bytes are those that encoding/json makes of the kind's Go
// type, after its own Unmarshal and with its kind set. If either of these fails, Append fails with
// its error.
//
// It keeps the guarantee without handling every special case of two codecs. The direct conversion
// accepts only messages that an API server writes, and is certain of each step. Otherwise the whole
// object is converted through its Go type: for an unsupported type, a field with the wrong wire
// type, a duplicate field, an unordered map, or truncated bytes. So the conversion can be slow in
// such cases, but not wrong.
//
// The description of a Go type is derived from its struct tags once, at the first object of its
// kind, and cached. The package is safe for concurrent use.
package kubejson
