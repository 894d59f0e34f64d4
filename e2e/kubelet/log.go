package kubelet

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// Log is the output of one container. The zero value is empty. Its methods are safe for concurrent
// use.
type Log struct {
	// Previous is the log of the container's previous run; nil if there was none. It is set before
	// the log is read.
	Previous *Log

	mu      sync.Mutex // guards the fields below
	written []entry
	ended   bool
	changed chan struct{} // closed at the next change; nil if no reader waits
}

// entry is what a container has written at one time: a line, or a part of one.
type entry struct {
	at     time.Time
	stream string // Stdout or Stderr
	text   []byte
}

// Write writes to the standard output. Each text is sent separately.
func (l *Log) Write(texts ...string) {
	for _, text := range texts {
		l.WriteAt(time.Now(), "Stdout", text)
	}
}

// WriteAt writes to Stdout or Stderr with the given time.
func (l *Log) WriteAt(at time.Time, stream, text string) {
	l.change(func() { l.written = append(l.written, entry{at, stream, []byte(text)}) })
}

// End ends the container.
func (l *Log) End() { l.change(func() { l.ended = true }) }

func (l *Log) change(apply func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	apply()
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// from returns the entries from an index on.
func (l *Log) from(place int) (entries []entry, ended bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.written[place:], l.ended, l.changed
}

// Follow writes what the container writes from now on, to the writer of its stream, until the container ends or ctx is
// done. A writer can be nil.
func (l *Log) Follow(ctx context.Context, stdout, stderr io.Writer) error {
	l.mu.Lock()
	place := len(l.written)
	l.mu.Unlock()
	writers := map[string]io.Writer{"Stdout": stdout, "Stderr": stderr}
	for {
		entries, ended, changed := l.from(place)
		place += len(entries)
		for _, entry := range entries {
			if writer := writers[entry.stream]; writer != nil {
				if _, err := writer.Write(entry.text); err != nil {
					return err
				}
			}
		}
		if ended {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ServeHTTP implements http.Handler as a kubelet does for GET /containerLogs.
func (l *Log) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	options := r.URL.Query()
	if options.Get("previous") == "true" {
		if l.Previous == nil {
			http.Error(w, "previous terminated container not found", http.StatusBadRequest)
			return
		}
		l = l.Previous
	}
	l.send(&sender{w: w, options: options, left: limitOf(options)}, r)
}

// send sends the existing entries, and with the option follow also later ones, until the limit is
// reached or the reader disconnects.
func (l *Log) send(sender *sender, r *http.Request) {
	for place := 0; ; {
		entries, ended, changed := l.from(place)
		if place == 0 {
			place, entries = len(entries), sender.selected(entries)
		} else {
			place += len(entries)
		}
		if sender.send(entries) != nil || ended || sender.options.Get("follow") != "true" {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// sender sends a log to one reader.
type sender struct {
	w        http.ResponseWriter
	options  url.Values
	left     int64 // bytes until the limit
	isInLine bool  // the last entry did not end a line
}

// limitOf returns the maximum number of bytes that a reader requested.
func limitOf(options url.Values) int64 {
	if limit, err := strconv.ParseInt(options.Get("limitBytes"), 10, 64); err == nil {
		return limit
	}
	return 1 << 62
}

// selected returns the existing entries that match the reader's options.
func (s *sender) selected(entries []entry) []entry {
	since := s.since()
	var expected []entry
	for _, entry := range entries {
		if !entry.at.Before(since) {
			expected = append(expected, entry)
		}
	}
	if tail, err := strconv.Atoi(s.options.Get("tailLines")); err == nil {
		expected = expected[max(0, len(expected)-tail):]
	}
	return expected
}

// since returns the time from which the reader requested entries.
func (s *sender) since() time.Time {
	if seconds, err := strconv.Atoi(s.options.Get("sinceSeconds")); err == nil {
		return time.Now().Add(-time.Duration(seconds) * time.Second)
	}
	since, _ := time.Parse(time.RFC3339, s.options.Get("sinceTime"))
	return since
}

func (s *sender) send(entries []entry) error {
	for _, entry := range entries {
		if stream := s.options.Get("stream"); stream != "" && stream != "All" && stream != entry.stream {
			continue
		}
		if err := s.sendText(s.textOf(entry)); err != nil {
			return err
		}
	}
	return http.NewResponseController(s.w).Flush()
}

// textOf returns the text of an entry, with its time if it begins a line.
func (s *sender) textOf(entry entry) []byte {
	continues := s.isInLine
	s.isInLine = !bytes.HasSuffix(entry.text, []byte("\n"))
	if s.options.Get("timestamps") != "true" || continues {
		return entry.text
	}
	return fmt.Appendf(nil, "%s %s", entry.at.UTC().Format(time.RFC3339Nano), entry.text)
}

// sendText sends a text up to the limit, and flushes it.
func (s *sender) sendText(text []byte) error {
	if int64(len(text)) > s.left {
		text = text[:s.left]
	}
	s.left -= int64(len(text))
	if _, err := s.w.Write(text); err != nil {
		return err
	}
	if s.left == 0 {
		return io.EOF
	}
	return http.NewResponseController(s.w).Flush()
}
