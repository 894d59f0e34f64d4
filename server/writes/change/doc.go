// Package change makes changes at the API server as a caller, by client-go only. It knows neither the
// RPCs nor their messages.
//
// A [Change] is one request to the API server about a [Target], and a [Writer] sends it: by
// client-go's REST client, with the target's path, for resources of all groups. A change that requires
// a resource version, and that could create its target, is preceded by a read (existing.go).
//
// A [Manifest] is an object as a client sent it, in JSON, YAML or protobuf. Its bytes are forwarded, so
// that the API server itself reports unknown and duplicate fields. Only what the API server needs is
// added to them: preconditions in the metadata, and the type of a custom resource (complete.go).
// [NoteOutcome] records, in the transport, when a failed request can be repeated.
//
// Errors are those of the API server. A few messages that name the wrong party or omit the object
// are rewritten (apimessages.go).
package change
