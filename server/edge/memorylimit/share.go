package memorylimit

import (
	"math"
	"runtime/debug"
)

// Share is the memory of one use: a fraction of the process's memory limit (--memory-limit or
// GOMEMLIMIT), within bounds.
type Share struct {
	Divisor   int64 // denominator: 4 is a quarter of the limit
	Min, Max  int64 // bytes
	Unlimited int64 // bytes if the process has no limit
}

// Bytes returns the size of the share.
func (s Share) Bytes() int64 {
	limit := debug.SetMemoryLimit(-1) // a negative limit only reads the current one
	if limit == math.MaxInt64 {
		return s.Unlimited
	}
	return min(max(limit/s.Divisor, s.Min), s.Max)
}
