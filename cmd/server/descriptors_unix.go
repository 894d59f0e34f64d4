//go:build unix

package main

import (
	"math"
	"syscall"
)

// openFiles returns how many file descriptors this process can have open. The Go runtime has raised the
// soft limit to the hard limit before main.
func openFiles() descriptors {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt32
	}
	return descriptors(min(uint64(limit.Cur), math.MaxInt32)) //nolint:unconvert // signed on some systems
}
