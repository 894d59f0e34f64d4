// Package ledger charges the memory that is kept for callers to those callers, before it is kept.
//
// A [Ledger] has a total, in bytes. An [Account] is one credential of one caller in a ledger. What is
// kept until some event, such as the end of a stream, is a [Charge] to an account. [With] puts the account of
// a call into its context, so that everything below charges it without knowing who calls:
//
//	charge, err := ledger.From(ctx).Charge(bytes)
//	if err != nil {
//		return err
//	}
//	defer charge.Release()
//
// # Guarantees
//
//   - All charges together are at most the total.
//   - A caller is charged no more than it leaves free for others. A single caller holds at most half of the
//     total, n callers with their maximum hold 1/(n+1) of it each, and some of it is always left for another
//     caller.
//   - A credential is charged no more than two fifths of what its caller could hold, alone. The other
//     credentials of the caller, such as the other pods of a service account, have the rest.
//   - If [Limits.Undivided] is set, all calls count as one caller, and only the total is a bound.
//   - A charge that does not fit fails with [ErrFull], and changes nothing. Before it fails, what was
//     registered with [Ledger.OnShortage] releases what is kept without need.
//   - [Account.Share] charges an account once for equal keys, however often what the key names is kept.
//   - A released charge counts no longer. Further calls of its methods do nothing.
//
// The zero Account, which [From] returns for a context without one, is free: it is charged nothing.
//
// # Concurrency
//
// All methods are safe for concurrent use, except OnShortage, which is called before the first charge.
// Functions of OnShortage are called without a lock of the ledger.
package ledger
