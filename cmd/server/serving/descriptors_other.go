//go:build !unix

package serving

import "math"

// openFiles returns how many file descriptors this process can have open, which has no limit here.
func openFiles() descriptors { return math.MaxInt32 }
