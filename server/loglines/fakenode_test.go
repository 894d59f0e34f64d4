package loglines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// fakeNode has the logs of containers, as the kubelet of a node has them.
type fakeNode struct {
	opening chan struct{} // logs are opened when it is closed; nil for at once
	mu      sync.Mutex    // guards the fields below, and all logs
	logs    map[LogName]*fakeLog
	opened  []Read
	bytes   int // that readers have read
}

func newFakeNode() *fakeNode { return &fakeNode{logs: map[LogName]*fakeLog{}} }

// fakeLog is the log of a container, by its runs. A node keeps the last two.
type fakeLog struct {
	runs    []*fakeRun
	refusal error // of attempts to open it; nil for none
}

type fakeRun struct {
	started time.Time
	entries []fakeEntry
	ended   bool
	readers []*fakeReader
}

// fakeEntry is what a container writes at one time.
type fakeEntry struct {
	at   time.Time
	text string
}

// log returns the log of a container.
func (n *fakeNode) log(name LogName) *fakeLog {
	if n.logs[name] == nil {
		n.logs[name] = &fakeLog{runs: []*fakeRun{{started: time.Now()}}}
	}
	return n.logs[name]
}

func (n *fakeNode) change(name LogName, change func(*fakeLog)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	log := n.log(name)
	change(log)
	for _, run := range log.runs {
		for _, reader := range run.readers {
			select {
			case reader.changed <- struct{}{}:
			default:
			}
		}
	}
}

func (n *fakeNode) writeAt(name LogName, at time.Time, text string) {
	n.change(name, func(log *fakeLog) {
		last := log.runs[len(log.runs)-1]
		last.entries = append(last.entries, fakeEntry{at, text})
	})
}

// write writes at the current time.
func (n *fakeNode) write(name LogName, text string) { n.writeAt(name, time.Now(), text) }

// end ends the current run, and restart begins the next one.
func (n *fakeNode) end(name LogName) {
	n.change(name, func(log *fakeLog) { log.runs[len(log.runs)-1].ended = true })
}

func (n *fakeNode) restart(name LogName) {
	n.change(name, func(log *fakeLog) {
		log.runs[len(log.runs)-1].ended = true
		log.runs = append(log.runs, &fakeRun{started: time.Now()})
	})
}

// cut ends the connections of all readers of a log, with an error or nil for what looks like its
// end.
func (n *fakeNode) cut(name LogName, err error) {
	n.change(name, func(log *fakeLog) {
		for _, run := range log.runs {
			for _, reader := range run.readers {
				reader.cut = true
				reader.cutWith = err
			}
		}
	})
}

func (n *fakeNode) refuse(name LogName, err error) {
	n.change(name, func(log *fakeLog) { log.refusal = err })
}

// open implements Opener.
func (n *fakeNode) open(ctx context.Context, read Read) (io.ReadCloser, error) {
	if n.opening != nil {
		<-n.opening
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.opened = append(n.opened, read)
	log := n.log(read.LogName)
	index := len(log.runs) - 1
	if read.Previous {
		index--
	}
	switch {
	case log.refusal != nil:
		return nil, log.refusal
	case index < 0:
		return nil, &OpenError{Reason: "BadRequest", Message: "previous terminated container not found", IsWaiting: true}
	}
	run := log.runs[index]
	reader := &fakeReader{ctx: ctx, node: n, run: run, read: read, changed: make(chan struct{}, 1)}
	reader.next, reader.isNewLine = reader.begin(), true
	run.readers = append(run.readers, reader)
	return reader, nil
}

// fakeReader is an open log. It is guarded by the node, except for changed.
type fakeReader struct {
	ctx       context.Context
	node      *fakeNode
	run       *fakeRun
	read      Read
	next      int
	isNewLine bool
	buffer    bytes.Buffer
	cut       bool
	cutWith   error
	changed   chan struct{}
}

// begin returns the index of the first entry that is read.
func (r *fakeReader) begin() int {
	first := 0
	for first < len(r.run.entries) && r.run.entries[first].at.Before(r.read.Since) {
		first++
	}
	if r.read.Tail != nil { // each entry is a line in the tests of this option
		first = max(first, len(r.run.entries)-int(*r.read.Tail))
	}
	return first
}

func (r *fakeReader) Read(p []byte) (int, error) {
	for {
		if count, err := r.poll(p); count > 0 || err != nil {
			return count, err
		}
		select {
		case <-r.changed:
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		}
	}
}

func (r *fakeReader) poll(p []byte) (int, error) {
	r.node.mu.Lock()
	defer r.node.mu.Unlock()
	for ; r.next < len(r.run.entries) && r.buffer.Len() < len(p); r.next++ {
		entry := r.run.entries[r.next]
		if r.isNewLine {
			r.buffer.WriteString(entry.at.UTC().Format(time.RFC3339Nano) + " ")
		}
		r.buffer.WriteString(entry.text)
		r.isNewLine = entry.text[len(entry.text)-1] == '\n'
	}
	switch {
	case r.cut && r.cutWith != nil:
		return 0, r.cutWith
	case r.buffer.Len() > 0 && !r.cut:
		r.node.bytes += min(len(p), r.buffer.Len())
		return r.buffer.Read(p)
	case r.cut, r.run.ended, !r.read.Follow:
		return 0, io.EOF
	}
	return 0, nil
}

func (r *fakeReader) Close() error {
	r.node.mu.Lock()
	defer r.node.mu.Unlock()
	if r.run == nil {
		return errors.New("closed twice")
	}
	r.run.readers = slices.DeleteFunc(r.run.readers, func(other *fakeReader) bool { return other == r })
	return nil
}

// state returns the state of a container as the node reports it.
func (n *fakeNode) state(name LogName) Container {
	n.mu.Lock()
	defer n.mu.Unlock()
	runs := n.log(name).runs
	last := runs[len(runs)-1]
	state := Container{Name: name.Container, Run: len(runs) - 1, Running: !last.ended, Started: last.started.Truncate(time.Second)}
	if !state.Running {
		state.Ended = &Termination{Reason: "Error", ExitCode: int32(state.Run)}
	}
	if state.Run > 0 {
		state.Previous = &Termination{Reason: "Error", ExitCode: int32(state.Run - 1)}
	}
	return state
}

func (n *fakeNode) openCount() (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, log := range n.logs {
		for _, run := range log.runs {
			count += len(run.readers)
		}
	}
	return count
}

func (l LogName) String() string { return fmt.Sprintf("%s/%s", l.Pod, l.Container) }
