package server

import (
	"math"
	"runtime/debug"
)

// share is how much memory one use may take: a part of what the process should stay below
// (--memory-limit or GOMEMLIMIT), within bounds.
type share struct {
	part        int64 // of the limit: 4 is a quarter
	least, most int64 // bytes
	unlimited   int64 // bytes where the process has no limit
}

// bytes returns the size of the share.
func (s share) bytes() int64 {
	limit := debug.SetMemoryLimit(-1) // only reads it
	if limit == math.MaxInt64 {
		return s.unlimited
	}
	return min(max(limit/s.part, s.least), s.most)
}

// of returns how much of a capacity one caller may hold: the given part of it, or all of it
// where callers have no limits, because all of them are the same one.
func (l Limits) of(capacity, part int64) int64 {
	if l == (Limits{}) {
		return capacity
	}
	return max(1, capacity/part)
}
