package audit

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// maxQueued bounds the bytes of the lines that wait to be written. As many can be in a write meanwhile.
	maxQueued = 4 << 20
	// unknownDivisor is the divisor of the part of maxQueued that lines of unknown callers can fill.
	unknownDivisor = 2
	// gatherTime is the time for which lines are gathered, because each write costs two system calls.
	gatherTime = 100 * time.Millisecond
	// maxWait is the time that a call waits for room in the queue.
	maxWait = time.Second
	// retryInterval is the time after which a write that has failed is tried again.
	retryInterval = time.Second
	// closeTimeout is the time within which the last lines must be written.
	closeTimeout = 5 * time.Second
)

// Stdout is the path of the standard output.
const Stdout = "-"

// Output is the file of an audit log, or the standard output. Calls queue lines, and one goroutine writes them.
//
// A call does not wait while the queue has room. Without room it waits for maxWait, and then its line is lost. Until the next
// write succeeds, further lines without room are lost at once: a disk that stands still costs a caller one wait. A
// write that fails is tried again until it succeeds, so a disk that is full for a moment loses no line. Lines of unknown callers
// never wait, and fill only a part of the queue: clients without a credential cannot make lines of callers be lost.
//
// The methods are safe for concurrent use. Output implements prometheus.Collector.
type Output struct {
	// Set once.
	path                    string
	written, lost, failures prometheus.Counter
	wake                    chan struct{} // with an element if there are lines to write
	filling                 chan struct{} // with an element if the queue is half full
	closing                 chan struct{} // closed by Close
	done                    chan struct{} // closed when run has returned

	// Owned by run after Open.
	file   io.WriteCloser
	opened os.FileInfo // of file; nil for the standard output

	mu        sync.Mutex    // guards the fields below
	queued    []byte        // lines, each with its end
	room      chan struct{} // closed when queued is taken, and replaced
	isStalled bool          // a call has waited in vain, and no write has succeeded since
	isClosed  bool
}

// NewOutput returns an output that appends to a file, or writes to the standard output if path is Stdout. The caller must call
// Open.
func NewOutput(path string) *Output {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "kubeconnect_audit_" + name, Help: help})
	}
	return &Output{
		path:     path,
		written:  counter("written_events_total", "Events that were written to the audit log."),
		lost:     counter("lost_events_total", "Events that are not in the audit log, because it could not be written fast enough."),
		failures: counter("write_failures_total", "Failed attempts to write to the audit log. Each is repeated."),
		wake:     make(chan struct{}, 1),
		filling:  make(chan struct{}, 1),
		closing:  make(chan struct{}),
		done:     make(chan struct{}),
		room:     make(chan struct{}),
	}
}

// Open opens the file, which is created if it does not exist, and begins to write. The caller must call Close.
func (o *Output) Open() error {
	if err := o.open(); err != nil {
		return err
	}
	go o.run() // ends with Close
	return nil
}

// open opens the file at the path, in place of the present one.
func (o *Output) open() error {
	if o.path == Stdout {
		o.file = keptOpen{os.Stdout}
		return nil
	}
	file, err := os.OpenFile(o.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return err
	}
	if o.file != nil {
		_ = o.file.Close()
	}
	o.file, o.opened = file, info
	return nil
}

// keptOpen is a writer that the process keeps open.
type keptOpen struct{ io.Writer }

// Close implements io.Closer.
func (keptOpen) Close() error { return nil }

// Close writes the lines that are queued, within closeTimeout, and closes the file. Lines that are added later are lost.
func (o *Output) Close() {
	o.mu.Lock()
	o.isClosed = true
	o.mu.Unlock()
	close(o.closing)
	select {
	case <-o.done:
	case <-time.After(closeTimeout): // a write to a disk that stands still cannot be ended: the process ends with it
		slog.Warn("the last events of the audit log were not written", "path", o.path)
	}
}

// Add queues a line, without its end. See Output for when it blocks. isKnown is whether the caller is known.
func (o *Output) Add(line []byte, isKnown bool) {
	var waited <-chan time.Time
	for {
		room, ok := o.queue(line, isKnown)
		if ok {
			return
		}
		if room == nil {
			o.lose(1)
			return
		}
		if waited == nil {
			timer := time.NewTimer(maxWait)
			defer timer.Stop()
			waited = timer.C
		}
		select {
		case <-room:
		case <-waited:
			o.stall(true)
			o.lose(1)
			return
		}
	}
}

// queue appends a line to the queue. If there is no room, it returns a channel that is closed when there may be; nil if the
// line is lost.
func (o *Output) queue(line []byte, isKnown bool) (room <-chan struct{}, ok bool) {
	limit := maxQueued
	if !isKnown {
		limit /= unknownDivisor
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.isClosed:
		return nil, false
	case len(o.queued)+len(line) < limit:
		o.queued = append(append(o.queued, line...), '\n')
		signal(o.wake)
		if len(o.queued) >= maxQueued/2 {
			signal(o.filling)
		}
		return nil, true
	case o.isStalled || !isKnown || len(line) >= limit:
		return nil, false
	}
	return o.room, false
}

// signal puts an element into a channel that has room for one, unless it has one.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// stall records whether lines without room are lost at once.
func (o *Output) stall(isStalled bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.isStalled = isStalled
}

// lose counts lines that are lost.
func (o *Output) lose(lines int) {
	o.lost.Add(float64(lines))
	slog.Warn("events of the audit log are lost, because it is not written fast enough", "path", o.path, "events", lines)
}

// run writes lines until Close, and then those that are left.
func (o *Output) run() {
	defer close(o.done)
	for isOpen := true; isOpen; {
		select {
		case <-o.wake:
			isOpen = o.pause(gatherTime, o.filling)
		case <-o.closing:
			isOpen = false
		}
		o.flush()
	}
	_ = o.file.Close()
}

// pause blocks for a time, or until a channel has an element, or until Close. It reports whether the output is still open.
func (o *Output) pause(timeout time.Duration, until <-chan struct{}) bool {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-until:
		return true
	case <-o.closing:
		return false
	}
}

// take returns the lines of the queue, which is empty afterwards.
func (o *Output) take() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	taken := o.queued
	o.queued = nil
	close(o.room)
	o.room = make(chan struct{})
	return taken
}

// flush writes the lines of the queue. Those that are left when the output is closed are lost.
func (o *Output) flush() {
	lines := o.take()
	left := o.write(lines)
	o.written.Add(float64(bytes.Count(lines, newline) - bytes.Count(left, newline)))
	if len(left) > 0 {
		o.lose(bytes.Count(left, newline))
		return
	}
	o.stall(false)
}

var newline = []byte("\n")

// write writes lines until that succeeds, and returns what is left when the output is closed: it then tries once more.
func (o *Output) write(lines []byte) (left []byte) {
	left = lines
	for isLast := false; len(left) > 0; {
		if len(left) == len(lines) { // otherwise a line would be torn
			o.follow()
		}
		n, err := o.file.Write(left)
		if left = left[n:]; err == nil {
			continue
		}
		o.failures.Inc()
		slog.Warn("the audit log cannot be written: the service tries again", "path", o.path, "error", err)
		if isLast {
			return left
		}
		isLast = !o.pause(retryInterval, nil)
	}
	return nil
}

// follow opens the file again if another one, or none, is at the path, because the platform has rotated it. While the new one
// cannot be opened, the old one is written.
func (o *Output) follow() {
	if o.opened == nil {
		return
	}
	if info, err := os.Stat(o.path); err == nil && os.SameFile(info, o.opened) {
		return
	}
	if err := o.open(); err != nil {
		slog.Warn("the audit log cannot be opened again: the file that was moved is written", "path", o.path, "error", err)
	}
}

// Describe implements prometheus.Collector.
func (o *Output) Describe(descs chan<- *prometheus.Desc) { prometheus.DescribeByCollect(o, descs) }

// Collect implements prometheus.Collector.
func (o *Output) Collect(metrics chan<- prometheus.Metric) {
	for _, counter := range []prometheus.Counter{o.written, o.lost, o.failures} {
		counter.Collect(metrics)
	}
}
