package server

import (
	"math"
	"runtime/debug"
)

// share is the memory of one use: a fraction of the process's memory limit (--memory-limit or
// GOMEMLIMIT), within bounds.
type share struct {
	part        int64 // denominator: 4 is a quarter of the limit
	least, most int64 // bytes
	unlimited   int64 // bytes if the process has no limit
}

// bytes returns the size of the share.
func (s share) bytes() int64 {
	limit := debug.SetMemoryLimit(-1) // a negative limit only reads the current one
	if limit == math.MaxInt64 {
		return s.unlimited
	}
	return min(max(limit/s.part, s.least), s.most)
}

// of returns the part of a capacity that one caller can use: capacity/part, or all of it if callers
// have no limits, because all calls then count as one caller.
func (l Limits) of(capacity, part int64) int64 {
	if l == (Limits{}) {
		return capacity
	}
	return max(1, capacity/part)
}
