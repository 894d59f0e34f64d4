package memorylimit

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestShare_HasBounds(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	of := Share{Divisor: 4, Min: 30 << 20, Max: 60 << 20, Unlimited: 1}
	for limit, want := range map[int64]int64{math.MaxInt64: 1, 1 << 40: 60 << 20, 200 << 20: 50 << 20, 100 << 20: 30 << 20} {
		debug.SetMemoryLimit(limit)
		if got := of.Bytes(); got != want {
			t.Errorf("%d with a limit of %d", got, limit)
		}
	}
}
