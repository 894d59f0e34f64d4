package harness

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
)

// output records the lines that a process prints.
type output struct {
	mu     sync.Mutex // guards the fields below
	lines  []string
	rest   []byte        // the incomplete last line
	closed bool          // whether the process has ended
	more   chan struct{} // closed and replaced when the fields above change
}

func newOutput() *output { return &output{more: make(chan struct{})} }

// Write implements io.Writer for the process.
func (o *output) Write(printed []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rest = append(o.rest, printed...)
	for {
		line, rest, complete := bytes.Cut(o.rest, []byte("\n"))
		if !complete {
			break
		}
		o.lines = append(o.lines, string(line))
		o.rest = rest
	}
	o.wakeLocked()
	return len(printed), nil
}

func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.wakeLocked()
}

func (o *output) wakeLocked() {
	close(o.more)
	o.more = make(chan struct{})
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.lines, "\n") + string(o.rest)
}

// find blocks until a line matches and returns the first one. Lines that are already printed count.
func (o *output) find(ctx context.Context, match func(line string) bool) (string, error) {
	for seen := 0; ; {
		lines, closed, more := o.after(seen)
		for _, line := range lines {
			if match(line) {
				return line, nil
			}
		}
		seen += len(lines)
		if closed {
			return "", errors.New("process ended before it printed the expected line")
		}
		select {
		case <-more:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

func (o *output) after(seen int) (lines []string, closed bool, more <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lines[seen:], o.closed, o.more
}
