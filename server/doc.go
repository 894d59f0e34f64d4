// Package server implements the RPCs of kubeconnect.v1: [New] returns the handler of everything that the service serves.
// With the packages below it, it is the only one that joins informerhub, auth and the generated API.
//
// The handlers stand below, by what a caller does; this package composes them, and has the small services itself (discovery,
// access). Imports run downwards only:
//
//	server              New, Config, DiscoveryService, AccessService
//	├─ logs             PodService                            ─▶ streams, reads, loglines
//	├─ streams          Watch, WatchMany, WatchCounts         ─▶ reads, follow
//	├─ writes           Create, Update, Patch, Delete, …      ─▶ writes/change, which uses client-go only
//	├─ reads            Get, List, Count, GetTable            ─▶ counts, joins, sorted
//	├─ access  target  tokens  budget                           permissions, names, tokens, memory and processors
//	├─ edge             what every call passes: gates, callers, errors, metrics, the life of streams
//	└─ encode  counts  joins  follow  sorted  scalar  tally     objects as messages, and what is computed from them
//
// A handler parses its request into a value, resolves the resource, checks the permissions, reads or writes, and encodes the
// result. Handlers return errors of the domain, which server/edge/callerrors maps in one place.
package server
