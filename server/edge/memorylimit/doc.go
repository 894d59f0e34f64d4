// Package memorylimit knows the memory limit of the process (--memory-limit or GOMEMLIMIT). A [Share] is the
// memory of one use, as a part of the limit within bounds:
//
//	var share = memorylimit.Share{Divisor: 4, Min: 64 << 20, Max: 1 << 30, Unlimited: 1 << 30}
//	bytes := share.Bytes()
//
// [Monitor] logs and counts when the process needs more than its limit, which Go does not enforce.
//
// The package imports no other package of server/edge.
package memorylimit
