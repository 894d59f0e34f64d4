// Package access decides what a caller can read, for the calls of a service and for as long as a stream is open.
//
// A [Request] is a read that a caller wants to make: [ToGet], [ToList], [ToWatch] and [ToGetLog] return it with the
// permissions that the API server itself would require. [Permissions.Scope] returns the namespaces that the read can
// cover, or a Forbidden error with the API server's own message.
//
//	scope, err := permissions.Scope(ctx, identity, access.ToList(pods, "", ""))
//
// Scope also notes the read for the audit log, so no handler can read from memory without an event.
//
// A stream reads for longer than one decision is valid. It has a [Lease], which [Leases.Grant] returns:
//
//   - Nothing is sent under a lease that must be renewed. [Lease.Send] returns [ErrDue] instead.
//   - A lease must be renewed at an interval, when the caller's credential expires, and when permissions may have changed.
//     The renewal authenticates the caller and checks every permission again.
//   - A lease that cannot be renewed, because the cluster cannot be asked, is not lost: the stream withholds events.
//   - A message that its client does not read is cut off when the lease under which it was sent is lost.
//
// access knows callers and permissions. It does not know RPCs, and must not import gen or Connect.
package access
