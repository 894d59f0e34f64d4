package loglines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// LogName is the name of a log.
type LogName struct{ Namespace, Pod, Container string }

// Options are what is read. The zero value reads the existing lines of all containers.
type Options struct {
	Follow   bool
	Previous bool
	// Since omits older lines; zero for none.
	Since time.Time
	// Tail is the number of existing lines to begin with, for each container; nil for all.
	Tail *int64
	// Selects reports whether the logs of the containers with a name are read; nil for all.
	Selects func(container string) bool
	// Filter selects lines; nil for all.
	Filter *Filter
	// Limits of the lines and bytes that are sent; zero for none.
	MaxLines, MaxPodLines, MaxBytes int64
	// MaxLogs is the number of logs that are read at a time. Required.
	MaxLogs int
	// Acquire allows another log to be open, until release is called; nil for any number. Its error is
	// sent as the message of a log that waits for it, and returned by Run if no log can be opened at
	// the begin, or without Follow not all of them: the lines would be incomplete.
	Acquire func() (release func(), err error)
	// Resume has the positions after which logs continue.
	Resume map[LogName]Position
}

// Read is a log that is to be opened, with timestamps.
type Read struct {
	LogName
	Follow, Previous bool
	Since            time.Time // in whole seconds; zero for the begin
	Tail             *int64
}

// Opener opens a log. Read and Close of the result return when ctx is done.
type Opener func(ctx context.Context, read Read) (io.ReadCloser, error)

// OpenError is the error of an Opener that says whether the log can be opened later. Other errors
// are temporary.
type OpenError struct {
	Reason, Message string
	IsWaiting       bool // the container has no log yet, or has none any more
	IsFinal         bool // opening it again would not help
}

func (e *OpenError) Error() string { return e.Message }

// TooManyLogsError reports that a selection has more logs than Options.MaxLogs.
type TooManyLogsError struct{ Logs, Max int }

func (e *TooManyLogsError) Error() string {
	return fmt.Sprintf("the selection has %d logs to read, and max_logs is %d: select fewer pods or containers, or increase max_logs", e.Logs, e.Max)
}

// Change is a change of the selected pods.
type Change struct {
	Pod Pod
	// Gone is the reason why the pod is no longer selected, which is PodDeleted or PodNotSelected;
	// empty for a pod that is selected.
	Gone string
	// Synced reports that all pods of the selection have been sent. It comes without a pod.
	Synced bool
	// Notice is for the client. It comes without a pod.
	Notice *Notice
}

// The reasons why a log ends, in addition to those of the cluster.
const (
	PodDeleted     = "PodDeleted"
	PodNotSelected = "PodNotSelected"
	limitReached   = "LimitReached"
	wasRead        = "Read"
	tooManyLogs    = "MaxLogs"
	noSlot         = "TooManyOpenLogs"
)

// Notice is what a client must know of the selection.
type Notice struct {
	Warnings   []string
	CoversAll  bool
	Namespaces []string // if it does not cover all
}

// EventType is the type of an event; see kubeconnect.v1.LogEventType.
type EventType int

// The types of events.
const (
	Began EventType = iota + 1
	Ended
	WaitingForLog
	Failed
	LinesLost
	LimitReached
)

// Event is what happens to a log.
type Event struct {
	Type EventType
	LogName
	UID             string
	Run             int
	Reason, Message string
	ExitCode        *int32
}

// SentLine is a line with the name of its log.
type SentLine struct {
	LogName
	Line
}

// LogPosition is a position with the name of its log.
type LogPosition struct {
	LogName
	Position
}

// Batch is what is sent at once: notices, then events, then lines.
type Batch struct {
	Notices   []*Notice
	Events    []Event
	Lines     []SentLine
	Positions []LogPosition
	// OpenLogs is the number of logs that wait while the batch is being sent.
	OpenLogs int
}

func (b Batch) isEmpty() bool { return len(b.Notices)+len(b.Events)+len(b.Lines)+len(b.Positions) == 0 }

const (
	// quiet is the time without a batch after which an empty one is sent.
	quiet = 5 * time.Second
	// drainTime bounds the time for which the log of a deleted pod is read to its end.
	drainTime = 30 * time.Second
	// positionInterval is the interval of Batch.Positions.
	positionInterval = 10 * time.Second
)

// Run sends the lines of the logs of some pods until all have been read, or with Options.Follow
// until ctx is done. It receives the selected pods from changes, up to Synced, and with Follow also
// later changes. It returns a *[TooManyLogsError] if these pods have too many logs. Send is called
// by one goroutine. When Run returns, all logs are closed.
func Run(ctx context.Context, options Options, changes <-chan Change, open Opener, send func(context.Context, Batch) error) error {
	ctx, cancel := context.WithCancel(ctx)
	s := newStream(options, open, send)
	defer s.releaseAll()
	defer s.reading.Wait()
	defer cancel()
	err := s.run(ctx, changes)
	if errors.Is(err, errLimitReached) {
		return nil
	}
	return err
}

func (s *stream) run(ctx context.Context, changes <-chan Change) error {
	for !s.synced {
		if err := s.step(ctx, changes); err != nil {
			return err
		}
	}
	if err := s.readExisting(ctx, changes); err != nil || !s.options.Follow {
		return err
	}
	s.following, s.freed = true, true
	for {
		if err := s.advanceFreed(ctx); err != nil {
			return err
		}
		if err := s.step(ctx, changes); err != nil {
			return err
		}
	}
}

// step waits for the next input, and handles it.
func (s *stream) step(ctx context.Context, changes <-chan Change) error {
	timer := time.NewTimer(time.Until(s.nextDue()))
	defer timer.Stop()
	select {
	case change := <-changes:
		return s.apply(ctx, change)
	case received := <-s.pieces:
		return s.receive(ctx, received)
	case <-timer.C:
		return s.doDue(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// nextDue returns when something must be done next although nothing is received.
func (s *stream) nextDue() time.Time {
	due := s.out.due()
	if !s.following {
		return due
	}
	for _, log := range s.logs {
		if at := log.due(); !at.IsZero() && at.Before(due) {
			due = at
		}
	}
	return due
}

// doDue does what is due.
func (s *stream) doDue(ctx context.Context) error {
	now := time.Now()
	if !s.out.due().After(now) {
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	s.freed = s.following // all logs are looked at
	return nil
}
