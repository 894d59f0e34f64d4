// Package write makes changes at the API server as a caller, by client-go only. It knows neither the
// RPCs nor their messages.
//
// A [Manifest] is an object as a client sent it, in JSON, YAML or protobuf. It is forwarded unchanged,
// except for preconditions that are added to its metadata. A [Change] is one request to the API
// server about a [Target], and a [Writer] sends it. [NoteOutcome] records, in the transport, the parts
// of the response that client-go does not return from every client.
//
// Errors are those of the API server. A few messages that name the wrong party or omit the object
// are rewritten (apimessages.go).
package write
