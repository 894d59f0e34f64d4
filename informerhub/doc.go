// Package informerhub caches the live state of a cluster's resources in memory and serves it to any
// number of readers. The API server's cost is one watch for each resource; one for each cached namespace, where a resource
// must not be listed as a whole (see [Options].Scopes and [Cache]).
//
// A [Hub] owns one [Cache] for each requested resource. A cache is fed by client-go's Reflector. It
// holds three things under one lock: the objects, their indexes, and a feed of the latest changes.
// A snapshot and its cursor in the feed are therefore always taken together, and a [Watcher] that
// reads from that cursor misses no change and receives none twice.
//
// Guarantees for readers:
//
//   - Ordered: within a stream, an object's versions never go back, and events come in the order of
//     their resource versions, except within snapshots. Several objects may be deleted at one
//     version: etcd does that with objects that share a lease.
//   - Unique: no change is delivered twice between two [Reset] events, except that a resumed stream
//     may deliver the last deletions again.
//   - Rewritten contents: the API server can return another content of an object at the same
//     resource version, when the schema or the conversion of its CRD changes. A relist finds such a
//     rewrite. The event is Modified (or Added or Deleted, if the selection depends on the
//     content), the object keeps its version, and the event has the version of the relist.
//   - Complete: after Reset … [Synced] and every event since, a reader holds exactly the cluster's
//     objects at the stream's resource version, under its selection. An object that enters the
//     selection is [Added], an object that leaves it is [Deleted]. After an outage of the API
//     server, the missed changes are derived by comparing a new snapshot with the old one, by UID
//     too. A snapshot is sent in parts. Each part has the state at the time when it is sent, and
//     comes with the changes to the objects of earlier parts, so a snapshot may contain Modified
//     and Deleted. Synced has the version that the snapshot has reached. If that is the version of
//     a deletion, other deletions at the same version may follow. The API server can leave some of the
//     deletions at one version out of a list or watch that begins while it handles them: the cache
//     checks each beginning within about two seconds, and relists if it finds one.
//   - Resumable: with the [Position] of the last batch a stream continues without loss, on any
//     replica: with every step as far back as the feed's window reaches, with the latest states of
//     changed objects as far back as its log reaches, and otherwise with Reset and a snapshot in
//     the same stream. A replica that has not reached the position, and cannot ask the API server,
//     fails with a [discovery.UnavailableError]. A stream cannot be resumed within a snapshot or
//     within latest states. In latest states, [Modified] may name an object that the reader did not
//     hold, and so may [Deleted], without content, because the earlier contents of the selection
//     are no longer known. A position in a history that was undone (etcd restored from a backup) is
//     not resumed, with one limit: a cache that was started after the restore, when versions had
//     grown past the position's, cannot detect it.
//   - Quiet under a mask: a reader of some fields of the objects ([Query.Fields]) receives no event
//     for a change that does not touch these fields; it then holds an older version of the object.
//     In latest states, Modified may name an object of which no selected field has changed.
//   - Bookmarked: a stream sends a [Bookmark] at a fixed interval, and a resumed stream also as soon
//     as none of the events is left that were pending when it began. Everything up to its
//     version has been delivered, and no event at or below it follows. After a Deleted, bookmarks
//     have the version before it until the deletion is known to be the last one at its version:
//     when something newer arrives, or the API server confirms it on request.
//   - Fresh or honest: [Cache.Freshness] reports whether the cache has lost the API server or still
//     has to catch up with it, and the time at which it was last complete. A reopened watch or a
//     running list does not make a cache current: it is current when it has reached the version
//     that the API server had after the watch was opened. One limit remains: delays of events on a
//     slow link are not noticed while the watch is open.
//   - Bounded: a watcher is a cursor in the feed. It has no queue, and memory does not grow with
//     its lag. A slow reader delays only itself, and receives the latest states once the window has
//     moved past its cursor. A reader that stops reading retains one part of a snapshot or of
//     latest states in memory, or one batch of changes.
//
// A change costs the lookup of its namespace, name, labels and selectable fields, and the wake-up
// of the watchers that these concern, whatever the number of other watchers. After a quiet period
// watchers are woken at once. In a burst they are woken at an interval of 0.1 milliseconds times the
// number of watchers with the same index key, but at least 2 and at most 100 milliseconds. The
// changes in between form one batch, which is matched and encoded once for all watchers that read
// the same.
//
// Objects are stored as the bytes that the API server sent, with a small parsed head (package
// object). They never change, and may be shared and read without a lock.
package informerhub
