// Package informerhub keeps the live state of a cluster's resources in memory
// and serves it to any number of readers at the cost, for the API server, of one
// watch for each resource.
//
// A [Hub] owns one [Cache] for each resource that was asked for. A cache is fed
// by client-go's Reflector and holds three things under one lock: the objects,
// their indexes, and a feed of the last changes. So a snapshot and the place in
// the feed that it belongs to are always taken together, and a [Watcher] that
// reads on from there misses nothing and sees nothing twice.
//
// What readers can rely on:
//
//   - Ordered: within a stream, an object's versions never go back, and events
//     come in the order of their resource versions, snapshots aside. Several objects may
//     be deleted at one version, as etcd does with those that share a lease.
//   - Unique: no change is delivered twice between two [Reset] events, except that a
//     stream that is resumed may deliver the last deletions again.
//   - Rewritten contents: the API server can serve another content of an object at the
//     same resource version, when the schema or the conversion of its CRD changes. A
//     relist finds it. The event is Modified (or Added or Deleted, where a selection
//     depends on the content), the object has the version that it had before, and the
//     event has the version of the relist.
//   - Complete: after Reset … [Synced] and every event since, a reader holds
//     exactly what the cluster holds at the stream's resource version, under its
//     selection. Entering the selection is [Added], leaving it [Deleted], and
//     what was missed while the API server was away is made up for by comparing
//     a new snapshot with the old one, by UID too. A snapshot is sent in parts, each as it
//     is when it is sent, with the changes to the objects of the parts before it; so there
//     may be Modified and Deleted in it. Synced is at the version that it has come to. If
//     that is the version of a deletion, other deletions at the same version may follow.
//   - Resumable: with the [Position] of the last batch a stream continues without
//     loss, on any replica: in every step as far as the feed's window reaches, in
//     the latest states of what has changed as far as its log does, and otherwise
//     by Reset and a snapshot in the same stream. A replica that has not come to the
//     position, and cannot ask the API server, fails with an [UnavailableError]. Within a
//     snapshot and within latest states a stream cannot be resumed. In latest states, [Modified] may
//     name an object that the reader did not hold, and [Deleted] too, without
//     content: what the selection held at the time is not known any more. Of a history
//     that was undone (etcd restored from a backup) nothing is continued, with one limit: a
//     cache that has started after the restore, when versions had grown past the position's,
//     cannot see that it was undone.
//   - Quiet under a mask: a reader of some fields of the objects ([Query.Fields]) is not
//     told of a change that is none under its mask, and holds an object's older version
//     then. In latest states, Modified may name an object that has not changed so.
//   - Bookmarked: a quiet stream sends a [Bookmark] at a fixed interval. Everything up to
//     its version has been delivered, and nothing at or below it follows. Behind a deletion
//     it is at the version before that until something newer, or the API server when it is
//     asked, says that the deletion was the last one at its version.
//   - Fresh or honest: [Cache.Freshness] says whether the cache has lost the API server, or
//     is yet to catch up with it, and as of when it is complete. A watch that has been
//     opened again, or a list that is on its way, does not make a cache current: it is when
//     it has reached the version that the API server has come to since. One limit remains:
//     events that a slow link delays while a watch is open are not noticed.
//   - Bounded: a watcher is a place in the feed. It has no queue, and memory does not
//     grow with its lag; a slow reader delays only itself, and is sent the latest
//     states when the window has gone on without it. One that stands still keeps one part
//     of a snapshot or of latest states in memory, or one batch of changes.
//
// A change costs what looking up its namespace, name, labels and selectable fields
// does, and waking the watchers that these concern, whatever the number of others. After
// a quiet time watchers are woken at once. In a burst they are woken every 2
// milliseconds, or every 0.1 for each watcher that has the same interest, up to 100:
// what came meanwhile is one batch, matched and encoded once for all who read the same.
//
// Objects are kept as the bytes that the API server sent, with a small parsed
// head ([Object]). They are never changed after they have been put in a cache,
// and may be shared and read without a lock.
package informerhub
