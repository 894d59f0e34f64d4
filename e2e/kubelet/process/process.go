// Package process describes a process of a simulated container: the streams that it is started with, and how it ends.
package process

import (
	"context"
	"fmt"
	"io"
)

// Stdio is the streams of a process. A stream that the client did not request is nil.
type Stdio struct {
	// In is the standard input. The process closes it when it ends, which ends a Read in progress.
	In io.ReadCloser
	// Out is the standard output, or the output of the terminal.
	Out io.Writer
	// Err is the standard error output; nil with a terminal.
	Err io.Writer
	// TTY says that In and Out are those of a terminal. In then has the keys that the user presses, and Out is not
	// translated: lines end with a carriage return and a line feed.
	TTY bool
	// NextSize blocks until the terminal has another size, and returns false when there is none to follow or ctx is done.
	// It is nil without a terminal.
	NextSize func(ctx context.Context) (Size, bool)
}

// Size is the size of a terminal in characters.
type Size struct{ Columns, Rows uint16 }

// ExitError is the end of a process with an exit code that is not zero.
type ExitError int

// Error implements error.
func (e ExitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }
