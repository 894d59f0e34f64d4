//go:build unix

package serving

import (
	"math"
	"syscall"
)

// OpenFiles returns how many file descriptors this process can have open. The Go runtime has raised the
// soft limit to the hard limit before main.
func OpenFiles() Descriptors {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt32
	}
	return Descriptors(min(uint64(limit.Cur), math.MaxInt32)) //nolint:unconvert // signed on some systems
}
