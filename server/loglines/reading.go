package loglines

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// errOtherRun reports that a log is that of another run than the expected one. It is never sent.
var errOtherRun = errors.New("the container has restarted")

// reading is an open log of one run. Its goroutine passes the log to the stream in pieces, and
// reads no further until the stream requests the next piece.
type reading struct {
	log  *containerLog
	run  int
	read Read
	// isFinal reports that the end of the log is the end of the run, or all that is wanted.
	isFinal bool
	skip    Position // lines up to it are skipped
	// expected reports that the log must contain the line at skip: otherwise it is that of a later
	// run, of which the pod's status does not say anything yet.
	expected bool
	seen     bool      // the line at skip has been read
	since    time.Time // older lines are skipped
	omit     bool      // all lines are skipped, because only their position is needed

	cancel context.CancelFunc
	more   chan struct{} // requests the next piece
}

// piece is what a reading has read: it was opened, has lines, or has ended.
type piece struct {
	of        *reading
	opened    bool
	lines     []Line
	position  Position // of the last line that was read; zero if there is none
	ended     bool
	seen      bool  // the line at the position that the log continues after has been read
	err       error // why it could not be opened or was cut off; nil at the end of the log
	remainder *Line // the last line, if it has no end
}

// follow reads the log until it ends or ctx is done.
func (r *reading) follow(ctx context.Context, open Opener, pieces chan<- piece) {
	body, err := open(ctx, r.read)
	if err != nil {
		r.pass(ctx, pieces, piece{ended: true, err: err})
		return
	}
	defer body.Close()
	if !r.pass(ctx, pieces, piece{opened: true}) {
		return
	}
	lines := newSplitter(body)
	for lines.err == nil {
		lines.fill()
		next, err := r.filtered(ctx, lines)
		if err != nil || !r.pass(ctx, pieces, next) || next.ended {
			return
		}
	}
	r.pass(ctx, pieces, r.endOf(lines))
}

// pass passes a piece to the stream, and waits until the stream requests the next one.
func (r *reading) pass(ctx context.Context, pieces chan<- piece, next piece) bool {
	next.of, next.seen = r, r.seen
	select {
	case pieces <- next:
	case <-ctx.Done():
		return false
	}
	if next.ended {
		return true
	}
	select {
	case <-r.more:
		return true
	case <-ctx.Done():
		return false
	}
}

// filtered returns the complete lines that have been read, in a processor slot if they are matched.
func (r *reading) filtered(ctx context.Context, lines *splitter) (next piece, err error) {
	if r.log.filter.filter != nil {
		var end func()
		if ctx, end, err = fairqueue.Begin(ctx); err != nil {
			return piece{}, err
		}
		defer end()
	}
	work := 0
	for line, ok := lines.take(); ok; line, ok = lines.take() {
		if work += r.log.filter.stepsOf(line); work > stepsBetweenYields {
			work = 0
			if err := fairqueue.Yield(ctx); err != nil {
				return piece{}, err
			}
		}
		if !line.IsAfter(r.skip) {
			r.seen = r.seen || line.Position == r.skip
			continue
		}
		if r.expected && !r.seen {
			return piece{ended: true, err: errOtherRun}, nil
		}
		next.position = line.Position
		if !r.omits(line) {
			if next.lines, err = r.log.filter.add(ctx, next.lines, line); err != nil {
				return piece{}, err
			}
		}
	}
	return next, nil
}

// omits reports whether a line is not to be sent, whatever the filter says.
func (r *reading) omits(line Line) bool {
	return r.omit || !line.Time.IsZero() && line.Time.Before(r.since)
}

// endOf returns the piece for the end of a log.
func (r *reading) endOf(lines *splitter) piece {
	if !errors.Is(lines.err, io.EOF) {
		return piece{ended: true, err: lines.err}
	}
	end := piece{ended: true}
	if line, ok := lines.remainder(); ok && line.IsAfter(r.skip) && !r.omits(line) && (r.seen || !r.expected) {
		line = copied(line)
		end.remainder = &line
	}
	return end
}
