// Package follow keeps what is computed from the objects of a selection true while they change, such
// as counts or a sorted set, for all streams that ask for the same.
//
// # Usage
//
// A [State] is what is computed: it is filled with a snapshot of the selection, and then changed by
// one object at a time. A [Follower] has one state and a watcher, and publishes changes at most every
// [Interval]. A stream joins it through [Followers.Join], which starts it if no other stream has
// joined it, reads the state with [Follower.Read], waits for the next publication with
// [Follower.Wait], and leaves it with [Follower.Leave].
//
// # Guarantees
//
//   - What Read passes is computed from exactly the objects of the selection at the version of its
//     [Moment]. Only other objects that were deleted at the same version may still be included, until
//     the next publication.
//   - A change costs what State.Change costs, once for all streams. Only if the follower has fallen
//     behind the window of the cache, or if the cache has begun another history, it takes a snapshot
//     again, and fills a new state with it. The moments of the two states have different epochs.
//   - Within an epoch, versions do not go back.
//   - The memory of a state is charged to the account of one of the streams that have joined it, before it is
//     kept. When the last stream of that account leaves, another stream's account is charged. If none can be
//     charged, the follower ends with [ledger.ErrFull]. Other streams of a follower are charged nothing for it.
//
// # Concurrency
//
// Followers and Follower are safe for concurrent use. A follower has one goroutine, which ends some
// time after the last stream has left it, so that a stream that replaces another finds the state.
package follow
