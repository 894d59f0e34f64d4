package loglines

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// maxLeft bounds the number of positions of pods that are no longer selected.
const maxLeft = 1024

// stream reads logs, and sends their lines. It is owned by Run.
type stream struct {
	options Options // set once, like open and send
	open    Opener
	send    func(context.Context, Batch) error

	pieces  chan piece // from the goroutines in reading
	reading sync.WaitGroup

	synced    bool            // the first pods are known
	following bool            // the existing lines have been sent
	logs      []*containerLog // in the order in which they were found
	byName    map[LogName]*containerLog
	left      map[leftLog]Position // of logs of pods that exist and are no longer selected
	slots     int                  // logs that have a slot; at most Options.MaxLogs
	freed     bool                 // another log may be able to continue, because a slot was released or a time has come
	out       output
}

// unreachable is the message for errors that are no OpenError: their text can contain addresses.
const unreachable = "the log cannot be read now: the API server could not be reached"

// leftLog is the log of a container of a certain pod.
type leftLog struct{ uid, container string }

func newStream(options Options, open Opener, send func(context.Context, Batch) error) *stream {
	return &stream{
		options: options, open: open, send: send,
		pieces: make(chan piece), byName: map[LogName]*containerLog{}, left: map[leftLog]Position{},
		out: output{quietAt: time.Now().Add(quiet), positionsAt: time.Now().Add(positionInterval), podLines: map[podName]int64{}},
	}
}

// apply applies a change of the selected pods.
func (s *stream) apply(ctx context.Context, change Change) error {
	switch {
	case change.Synced:
		s.synced = true
		return nil
	case change.Notice != nil:
		s.out.batch.Notices = append(s.out.batch.Notices, change.Notice)
		s.out.grow(headBytes)
		return nil
	case change.Gone != "":
		return s.losePod(ctx, change.Pod, change.Gone)
	}
	for _, container := range change.Pod.Containers {
		if s.options.Selects != nil && !s.options.Selects(container.Name) {
			continue
		}
		if err := s.update(ctx, change.Pod, container); err != nil {
			return err
		}
	}
	return nil
}

// update sets the state of a container, and opens its log if it can be read.
func (s *stream) update(ctx context.Context, pod Pod, state Container) error {
	name := LogName{pod.Namespace, pod.Name, state.Name}
	log := s.byName[name]
	switch {
	case log == nil:
		log = s.add(name, pod.UID, state)
	case log.uid != pod.UID:
		if err := s.replace(ctx, log, pod.UID, state); err != nil {
			return err
		}
	default:
		log.update(state)
	}
	if !s.following {
		return nil
	}
	return s.advance(ctx, log)
}

// add adds the log of a container.
func (s *stream) add(name LogName, uid string, state Container) *containerLog {
	log := &containerLog{LogName: name, uid: uid, state: state, run: state.Run, initial: !s.synced, filter: logFilter{filter: s.options.Filter}}
	log.finished = s.isReached(s.out.podLines[log.podName()], s.options.MaxPodLines)
	position, listed := s.options.Resume[name]
	if left, ok := s.left[leftLog{uid, name.Container}]; ok {
		position, listed = left, true
		delete(s.left, leftLog{uid, name.Container})
	}
	switch {
	case s.options.Previous:
		log.run = state.Run - 1
	case listed:
		log.resumeAt(position)
	}
	s.logs = append(s.logs, log)
	s.byName[name] = log
	return log
}

// replace continues a log with that of a new pod under the same name. Lines of the new pod that were
// already read under the old one are not sent again.
func (s *stream) replace(ctx context.Context, log *containerLog, uid string, state Container) error {
	log.gone = PodDeleted
	position := log.position
	s.out.add(log, log.queue...)
	log.close()
	if err := s.remove(ctx, log); err != nil {
		return err
	}
	s.add(log.LogName, uid, state).position = position
	return nil
}

// losePod ends the logs of a pod that is not selected any more. The log of a deleted pod is read to
// its end.
func (s *stream) losePod(ctx context.Context, pod Pod, reason string) error {
	for _, log := range slices.Clone(s.logs) {
		if log.Namespace != pod.Namespace || log.Pod != pod.Name || pod.UID != "" && log.uid != pod.UID {
			continue
		}
		log.gone, log.drainUntil = reason, time.Now().Add(drainTime)
		if !s.following && s.synced {
			continue // its existing lines are read first
		}
		if reason != PodDeleted {
			log.close()
		}
		if log.current == nil {
			if err := s.remove(ctx, log); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove removes the log of a pod that is gone.
func (s *stream) remove(ctx context.Context, log *containerLog) error {
	if log.gone == PodDeleted && log.remainder != nil {
		lines, err := s.filterLast(ctx, log, *log.remainder)
		if err != nil {
			return err
		}
		s.out.add(log, lines...)
	}
	if log.gone == PodNotSelected && len(s.left) < maxLeft && log.position != (Position{}) {
		s.left[leftLog{log.uid, log.Container}] = log.position
	}
	s.logs = slices.DeleteFunc(s.logs, func(other *containerLog) bool { return other == log })
	if s.byName[log.LogName] == log {
		delete(s.byName, log.LogName)
	}
	s.release(log)
	err := s.ended(ctx, log, log.gone)
	if log.gone == PodDeleted {
		delete(s.out.podLines, log.podName())
	}
	return err
}

// ended reports that a log has ended, if it began.
func (s *stream) ended(ctx context.Context, log *containerLog, reason string) error {
	if len(s.out.pending) > 0 {
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	if !log.began {
		return nil // also if its pod has just reached its limit
	}
	log.began = false
	event := log.event(Ended, reason, "")
	if end := log.state.endOf(log.run); end != nil {
		event.ExitCode = &end.ExitCode
	}
	return s.event(ctx, event)
}

// advanceFreed advances all logs, in the order in which they were found, if one of them may be able
// to continue.
func (s *stream) advanceFreed(ctx context.Context) error {
	for s.freed {
		s.freed = false
		for _, log := range slices.Clone(s.logs) {
			if err := s.advance(ctx, log); err != nil {
				return err
			}
		}
	}
	return nil
}

// advance opens a log if there is something to read, and otherwise reports what it waits for.
func (s *stream) advance(ctx context.Context, log *containerLog) error {
	now := time.Now()
	switch {
	case log.gone != "" && (log.current == nil || !now.Before(log.drainUntil)):
		log.close()
		return s.remove(ctx, log)
	case log.current != nil, log.finished, now.Before(log.retryAt):
		return nil
	}
	log.retryAt = time.Time{}
	switch {
	case !log.isUnread():
		if waiting := log.state.Waiting; waiting != nil {
			return s.awaitLog(ctx, log, waiting.Reason, waiting.Message)
		}
		return nil
	}
	return s.startInSlot(ctx, log)
}

// awaitLog reports that a log cannot be read yet.
func (s *stream) awaitLog(ctx context.Context, log *containerLog, reason, message string) error {
	if log.waiting == reason {
		return nil
	}
	log.waiting = reason
	return s.event(ctx, log.event(WaitingForLog, reason, message))
}

// start opens a log that has a slot.
func (s *stream) start(ctx context.Context, log *containerLog) error {
	if !s.options.Previous && log.run < log.state.Run-1 {
		if err := s.loseLines(ctx, log); err != nil {
			return err
		}
		log.run = log.state.Run - 1
	}
	opened := s.newReading(log)
	ctx, opened.cancel = context.WithCancel(ctx)
	log.current = opened
	s.reading.Go(func() {
		defer opened.cancel()
		opened.follow(ctx, s.open, s.pieces)
	})
	return nil
}

func (s *stream) loseLines(ctx context.Context, log *containerLog) error {
	return s.event(ctx, log.event(LinesLost, "", "the node does not have all lines any more: the container has restarted more than once, or its log was rotated, while it was not read"))
}

// detour continues a log that is not the one of the expected run. The rest of that run is then in
// the log of the previous one.
func (s *stream) detour(ctx context.Context, log *containerLog, end piece) error {
	if end.of.read.Previous {
		return s.leaveGap(ctx, log)
	}
	log.detour = true
	return s.start(ctx, log)
}

// leaveGap continues a log whose last line is in no run that the node has.
func (s *stream) leaveGap(ctx context.Context, log *containerLog) error {
	log.detour, log.unverified = false, true
	if err := s.loseLines(ctx, log); err != nil {
		return err
	}
	return s.start(ctx, log)
}

// newReading returns how the next run of a log is read.
func (s *stream) newReading(log *containerLog) *reading {
	previous := s.options.Previous || log.run < log.state.Run || log.detour
	next := &reading{
		log: log, run: log.run, skip: log.position, since: s.options.Since, more: make(chan struct{}, 1),
		isFinal:  previous || !s.options.Follow || log.state.Ended != nil,
		expected: !log.position.Time.IsZero() && log.lastRun == log.run && !log.detour && !log.unverified,
	}
	since := s.options.Since
	if log.position.Time.After(since) {
		since = log.position.Time
	}
	next.read = Read{LogName: log.LogName, Follow: s.following && !next.isFinal, Previous: previous, Since: since.Truncate(time.Second)}
	if log.initial {
		next.read.Tail = s.options.Tail
	}
	if tail := next.read.Tail; tail != nil && *tail == 0 && !next.read.Follow { // the last line, for its position
		one := int64(1)
		next.read.Tail, next.omit = &one, true
	}
	return next
}

// receive handles a piece of a log.
func (s *stream) receive(ctx context.Context, next piece) error {
	log := next.of.log
	if log.current != next.of {
		return nil // it was closed
	}
	if next.opened {
		log.current.more <- struct{}{}
		return s.beginLog(ctx, log)
	}
	if next.position != (Position{}) {
		log.position, log.lastRun = next.position, next.of.run
		log.initial, log.unverified, log.backoff, log.remainder = false, false, 0, nil
	}
	if next.ended {
		var err error
		log.current = nil
		if next.lines, err = s.lastLine(ctx, log, next); err != nil {
			return err
		}
	}
	if !s.following {
		return s.enqueue(ctx, log, next)
	}
	return s.forward(ctx, log, next)
}

// forward sends the lines of a followed log.
func (s *stream) forward(ctx context.Context, log *containerLog, next piece) error {
	s.out.add(log, next.lines...)
	if s.out.isFull() {
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	if next.ended {
		return s.finish(ctx, log, next)
	}
	if log.current != nil { // otherwise the pod has reached its limit
		log.current.more <- struct{}{}
	}
	return nil
}

// lastLine returns what is to be sent of the incomplete line at the end of a log.
func (s *stream) lastLine(ctx context.Context, log *containerLog, end piece) ([]Line, error) {
	if end.remainder == nil || !end.of.isFinal && log.gone == "" {
		return nil, nil
	}
	log.position, log.remainder = end.remainder.Position, nil
	return s.filterLast(ctx, log, *end.remainder)
}

// filterLast returns what is to be sent because of the last line of a log.
func (s *stream) filterLast(ctx context.Context, log *containerLog, line Line) ([]Line, error) {
	if log.filter.filter == nil {
		return log.filter.add(ctx, nil, line)
	}
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	return log.filter.add(ctx, nil, line)
}

// beginLog reports that a log was opened, unless it continues.
func (s *stream) beginLog(ctx context.Context, log *containerLog) error {
	log.waiting = ""
	if log.began {
		return nil
	}
	log.began = true
	return s.event(ctx, log.event(Began, "", ""))
}

// finish decides what follows the end of an open log.
func (s *stream) finish(ctx context.Context, log *containerLog, end piece) error {
	switch {
	case log.finished:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case log.gone != "":
		return s.remove(ctx, log)
	case errors.Is(end.err, errOtherRun):
		return s.detour(ctx, log, end)
	case end.err != nil:
		return s.fail(ctx, log, end)
	case log.detour && !end.seen:
		return s.leaveGap(ctx, log)
	case end.of.isFinal:
		return s.endRun(ctx, log)
	}
	log.sawEnd, log.initial = true, false
	if end.remainder != nil {
		log.remainder = end.remainder
	}
	if s.following {
		log.retry()
	}
	return nil
}

// endRun reports that a run has been read completely, and continues with the next one.
func (s *stream) endRun(ctx context.Context, log *containerLog) error {
	reason := ""
	if end := log.state.endOf(log.run); end != nil {
		reason = end.Reason
	} else if log.run == log.state.Run {
		reason = wasRead
	}
	if err := s.ended(ctx, log, reason); err != nil {
		return err
	}
	return s.nextRun(ctx, log)
}

func (s *stream) nextRun(ctx context.Context, log *containerLog) error {
	log.run++
	log.began, log.sawEnd, log.initial, log.remainder = false, false, false, nil
	log.detour, log.unverified = false, false
	if !s.following && !s.options.Previous && log.isUnread() {
		return s.start(ctx, log)
	}
	s.release(log)
	if s.following && !s.options.Previous {
		return s.advance(ctx, log)
	}
	return nil
}

// fail reports that a log could not be opened, or was cut off, and decides whether it is opened
// again.
func (s *stream) fail(ctx context.Context, log *containerLog, end piece) error {
	failure := &OpenError{Reason: "ServiceUnavailable", Message: unreachable}
	errors.As(end.err, &failure)
	switch {
	case failure.IsWaiting && log.detour:
		return s.leaveGap(ctx, log)
	case failure.IsWaiting && end.of.read.Previous && !s.options.Previous:
		return s.skipRun(ctx, log)
	case failure.IsWaiting:
		log.initial = false // when it starts, it is read from its first line
		s.release(log)
		log.retry()
		return s.awaitLog(ctx, log, failure.Reason, failure.Message)
	case failure.IsFinal:
		log.finished = true
		s.release(log)
	default:
		log.retry()
	}
	log.began = false
	return s.event(ctx, log.event(Failed, failure.Reason, failure.Message))
}

// skipRun continues with the next run, because the node has no log of the previous one any more.
func (s *stream) skipRun(ctx context.Context, log *containerLog) error {
	if !log.sawEnd {
		if err := s.loseLines(ctx, log); err != nil {
			return err
		}
	}
	return s.nextRun(ctx, log)
}
