// Package reads implements the RPCs that read once: Get, List, Count and GetTable.
//
// A request is parsed into a value: a [Selection], relations, joins. [Snapshots] takes the snapshot of a selection under the
// caller's permissions, from a cache or, for the latest state and for resources that are not cached, at the API server as the
// caller ([Upstream]). Lists cuts the snapshot into pages; a later page is of the same version, at any replica. [Relations]
// resolves the objects that a selection is related to, and [Relater] the objects that are joined to each row.
//
// server/streams uses the same selections, relations and joins for watches. reads must not import streams.
package reads
