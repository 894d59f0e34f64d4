package loglines

import (
	"context"
	"errors"
	"slices"
	"time"
)

const (
	// collectTime is how long lines are collected to be sorted.
	collectTime = 50 * time.Millisecond
	// maxBatchBytes is the size at which a batch is sent at once.
	maxBatchBytes = 256 << 10
	// headBytes estimates the size of a line or an event without its text.
	headBytes = 128
)

// errLimitReached reports that a limit of all lines is reached. It is never returned to callers.
var errLimitReached = errors.New("a limit of the lines is reached")

// podName is the name of a pod with its UID.
type podName struct{ namespace, name, uid string }

func (l *containerLog) podName() podName { return podName{l.Namespace, l.Pod, l.uid} }

// output is what is to be sent next, and the number of what has been sent.
type output struct {
	batch   Batch
	pending []pendingLine // lines that are to be sorted
	bytes   int           // of the batch and the pending lines

	flushAt     time.Time // when it is to be sent; zero if there is nothing
	quietAt     time.Time // when it is sent even if there is nothing
	positionsAt time.Time // when it has positions

	sentLines, sentBytes int64
	podLines             map[podName]int64
}

// pendingLine is a line to be sent, with the time by which it is sorted. That time never descends
// in one log.
type pendingLine struct {
	log  *containerLog
	line Line
	at   time.Time
}

func (o *output) due() time.Time {
	if !o.flushAt.IsZero() && o.flushAt.Before(o.quietAt) {
		return o.flushAt
	}
	return o.quietAt
}

func (o *output) isFull() bool { return o.bytes >= maxBatchBytes }

// grow notes that something is to be sent.
func (o *output) grow(bytes int) {
	o.bytes += bytes
	if o.flushAt.IsZero() {
		o.flushAt = time.Now().Add(collectTime)
	}
}

func (o *output) add(log *containerLog, lines ...Line) {
	for _, line := range lines {
		if line.Time.After(log.sortTime) {
			log.sortTime = line.Time
		}
		o.pending = append(o.pending, pendingLine{log, line, log.sortTime})
		o.grow(len(line.Text) + headBytes)
	}
}

// event adds an event after all lines.
func (s *stream) event(ctx context.Context, event Event) error {
	if len(s.out.pending) > 0 || s.out.isFull() {
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	s.out.batch.Events = append(s.out.batch.Events, event)
	s.out.grow(headBytes + len(event.Message))
	return nil
}

// flush sends everything that is to be sent. It returns errLimitReached after the last line of a
// stream with a limit.
func (s *stream) flush(ctx context.Context) error {
	fullPods, limit := s.takePending()
	s.addPositions()
	batch := s.out.batch
	if batch.isEmpty() && limit == "" && time.Now().Before(s.out.quietAt) {
		return nil
	}
	batch.OpenLogs = s.slots
	s.out.batch, s.out.bytes, s.out.flushAt = Batch{}, 0, time.Time{}
	if err := s.send(ctx, batch); err != nil {
		return err
	}
	s.out.quietAt = time.Now().Add(quiet)
	if limit != "" {
		event := Event{Type: LimitReached, Reason: limitReached, Message: limit}
		return errors.Join(s.send(ctx, Batch{Events: []Event{event}}), errLimitReached)
	}
	for _, pod := range fullPods {
		if err := s.endPod(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

// takePending moves the pending lines into the batch, in the order of time, up to the limits. It
// returns the pods that have reached their limit, and the limit of all lines that is reached.
func (s *stream) takePending() (fullPods []podName, limit string) {
	lines := s.out.pending
	s.out.pending = nil
	slices.SortStableFunc(lines, func(a, b pendingLine) int { return a.at.Compare(b.at) })
	for _, next := range lines {
		pod := next.log.podName()
		switch {
		case s.exceeds(s.out.sentBytes+int64(len(next.line.Text)), s.options.MaxBytes):
			return fullPods, "limit_bytes is reached"
		case s.exceeds(s.out.podLines[pod]+1, s.options.MaxPodLines):
			continue
		}
		s.take(next)
		if s.isReached(s.out.podLines[pod], s.options.MaxPodLines) {
			fullPods = append(fullPods, pod)
		}
		if s.isReached(s.out.sentLines, s.options.MaxLines) {
			return fullPods, "limit_lines is reached"
		}
	}
	return fullPods, ""
}

func (s *stream) exceeds(count, limit int64) bool   { return limit > 0 && count > limit }
func (s *stream) isReached(count, limit int64) bool { return limit > 0 && count == limit }

func (s *stream) take(next pendingLine) {
	s.out.batch.Lines = append(s.out.batch.Lines, SentLine{next.log.LogName, next.line})
	s.out.sentLines++
	s.out.sentBytes += int64(len(next.line.Text))
	next.log.reported = next.line.Position
	if s.options.MaxPodLines > 0 {
		s.out.podLines[next.log.podName()]++
	}
}

// addPositions adds the positions of the logs that have been read further than what was sent, at an
// interval.
func (s *stream) addPositions() {
	now := time.Now()
	if now.Before(s.out.positionsAt) {
		return
	}
	s.out.positionsAt = now.Add(positionInterval)
	for _, log := range s.logs {
		if len(log.queue) == 0 && log.position.IsAfter(log.reported) && !log.position.Time.IsZero() {
			log.reported = log.position
			s.out.batch.Positions = append(s.out.batch.Positions, LogPosition{log.LogName, log.position})
		}
	}
}

// endPod ends the logs of a pod that has reached its limit.
func (s *stream) endPod(ctx context.Context, pod podName) error {
	for _, log := range s.logs {
		if log.podName() != pod || log.finished {
			continue
		}
		log.close()
		log.finished = true
		s.release(log)
		if err := s.ended(ctx, log, limitReached); err != nil {
			return err
		}
	}
	return s.event(ctx, Event{
		Type: LimitReached, LogName: LogName{Namespace: pod.namespace, Pod: pod.name}, UID: pod.uid,
		Reason: limitReached, Message: "limit_lines_per_pod is reached",
	})
}
