// Package object represents the objects of a cluster compactly: as the bytes that the API server
// sent, with a small parsed head ([Object]). It knows nothing of caches and feeds.
//
// A [Codec] makes a REST client of client-go decode responses into objects: protobuf for built-in
// kinds, JSON for others, without converting them to Go structs or maps. An object returns its
// content as protobuf or as Kubernetes JSON, whole or under a mask, and what objects are selected
// by: labels, owners, and the fields that the API server can select by ([SelectableFields]).
//
// Objects never change. All their fields are unexported, and no method changes what another method
// returns, so objects may be shared and read without a lock. Only the results of encodings, masks
// and filters are cached with an object, while it is in the window of a feed
// ([Object.CacheEncodings]).
//
// The package also has what describes an object from outside: its [Resource], and the order of
// resource versions ([CompareVersions]).
package object
