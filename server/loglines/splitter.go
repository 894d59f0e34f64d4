package loglines

import (
	"bytes"
	"io"
	"time"
)

const (
	// maxTimeBytes bounds the time before a line, with the space after it.
	maxTimeBytes = 41
	// minBufferBytes is the free part of the buffer of a log that writes little. A buffer that a read
	// has filled is doubled, up to maxBufferBytes.
	minBufferBytes = 4 << 10
	maxBufferBytes = maxTimeBytes + MaxLineBytes + 1
)

// splitter splits a log with timestamps into lines. The node writes a time before each line, but
// not before the parts of a line that the container has written at different times.
type splitter struct {
	source     io.Reader
	buffer     []byte
	begin, end int      // the bytes that have not been taken
	last       Position // of the last line that was taken
	cut        bool     // the bytes begin with the rest of a line that was cut
	err        error    // why the source has ended
}

func newSplitter(source io.Reader) *splitter {
	return &splitter{source: source, buffer: make([]byte, minBufferBytes)}
}

// fill reads from the source once. It overwrites the lines that were taken.
func (s *splitter) fill() {
	rest, buffer := s.buffer[s.begin:s.end], s.buffer
	if size := s.nextSize(); size != len(buffer) {
		buffer = make([]byte, size)
	}
	s.begin, s.end, s.buffer = 0, copy(buffer, rest), buffer
	count, err := s.source.Read(s.buffer[s.end:])
	s.end += count
	s.err = err
}

// nextSize returns the size of the buffer for the next read. A source that has not filled the buffer
// may be silent for long, so its buffer shrinks.
func (s *splitter) nextSize() int {
	needed := s.end - s.begin + minBufferBytes
	switch {
	case s.end == len(s.buffer):
		return min(2*len(s.buffer), maxBufferBytes)
	case needed <= len(s.buffer) && len(s.buffer) <= 2*minBufferBytes:
		return len(s.buffer)
	}
	return min(needed, maxBufferBytes)
}

// take returns the next line if all of it has been read, or enough to cut it. The text is valid
// until the next call of fill.
func (s *splitter) take() (line Line, ok bool) {
	data := s.buffer[s.begin:s.end]
	at, head := s.timeOf(data)
	switch end := bytes.IndexByte(data, '\n'); {
	case end >= 0 && end-head <= MaxLineBytes:
		return s.line(at, data[head:end], end+1, false), true
	case len(data)-head > MaxLineBytes:
		return s.line(at, data[head:head+MaxLineBytes], head+MaxLineBytes, true), true
	}
	return Line{}, false
}

// remainder returns the last line of a log that has ended without a line end.
func (s *splitter) remainder() (line Line, ok bool) {
	data := s.buffer[s.begin:s.end]
	if len(data) == 0 {
		return Line{}, false
	}
	at, head := s.timeOf(data)
	return s.line(at, data[head:], len(data), false), true
}

// timeOf returns the time at the begin of a line, and its length with the space after it. Both are
// zero in the rest of a line, and in messages of the node itself, which have no time.
func (s *splitter) timeOf(data []byte) (at time.Time, length int) {
	space := bytes.IndexByte(data[:min(len(data), maxTimeBytes)], ' ')
	if s.cut || space < 0 {
		return time.Time{}, 0
	}
	at, err := time.Parse(time.RFC3339Nano, string(data[:space]))
	if err != nil {
		return time.Time{}, 0
	}
	return at.UTC(), space + 1
}

// line takes a line. A line without a time has that of the line before it.
func (s *splitter) line(at time.Time, text []byte, length int, cut bool) Line {
	if at.IsZero() {
		at = s.last.Time
	}
	if !at.Equal(s.last.Time) {
		s.last = Position{Time: at}
	}
	s.last.Ordinal++
	s.begin += length
	s.cut = cut
	return Line{Position: s.last, Text: text, Cut: cut}
}
