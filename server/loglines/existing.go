package loglines

import (
	"context"
	"time"
)

// readExisting reads the lines that exist, and sends them in the order of time: the oldest of the
// next lines of all logs, as soon as the next line of each log is known. Changes of the pods are
// only recorded meanwhile.
func (s *stream) readExisting(ctx context.Context, changes <-chan Change) error {
	if err := s.startExisting(ctx); err != nil {
		return err
	}
	for {
		oldest, known := s.oldest()
		var err error
		switch {
		case !known:
			err = s.step(ctx, changes)
		case oldest == nil:
			s.out.positionsAt = time.Time{} // with the last lines
			return s.flush(ctx)
		default:
			err = s.sendNext(ctx, oldest)
		}
		if err != nil {
			return err
		}
	}
}

// startExisting opens all logs that can be read.
func (s *stream) startExisting(ctx context.Context) error {
	count := 0
	for _, log := range s.logs {
		if s.exists(log) {
			count++
		}
	}
	if count > s.options.MaxLogs {
		return &TooManyLogsError{Logs: count, Max: s.options.MaxLogs}
	}
	if err := s.takeFirstSlots(); err != nil {
		return err
	}
	for _, log := range s.logs {
		if err := s.readOrWait(ctx, log); err != nil {
			return err
		}
	}
	return nil
}

// takeFirstSlots takes the slots of the existing logs. If there are too few, a followed stream begins
// with those that it has.
func (s *stream) takeFirstSlots() error {
	for _, log := range s.logs {
		if !s.exists(log) {
			continue
		}
		if err := s.takeSlot(log); err != nil {
			if s.options.Follow && s.slots > 0 {
				return nil
			}
			return err
		}
	}
	return nil
}

// exists reports whether there is a log that is to be read.
func (s *stream) exists(log *containerLog) bool {
	if s.options.Previous {
		return log.state.Previous != nil
	}
	return log.isUnread()
}

func (s *stream) readOrWait(ctx context.Context, log *containerLog) error {
	if s.exists(log) {
		return s.startInSlot(ctx, log)
	}
	log.initial = false // a later log is read from its first line
	if s.options.Previous || log.state.Waiting == nil {
		return nil
	}
	return s.awaitLog(ctx, log, log.state.Waiting.Reason, log.state.Waiting.Message)
}

// oldest returns the log with the oldest next line; nil if all logs have been read. known is false
// while the next line of a log is not known.
func (s *stream) oldest() (oldest *containerLog, known bool) {
	for _, log := range s.logs {
		switch {
		case len(log.queue) == 0 && log.current != nil:
			return nil, false
		case len(log.queue) > 0 && (oldest == nil || log.nextTime().Before(oldest.nextTime())):
			oldest = log
		}
	}
	return oldest, true
}

// sendNext sends the next line of a log.
func (s *stream) sendNext(ctx context.Context, log *containerLog) error {
	s.out.add(log, log.queue[0])
	log.queue = log.queue[1:]
	switch {
	case len(log.queue) > 0:
	case log.ended != nil:
		ended := *log.ended
		log.ended = nil
		if err := s.finish(ctx, log, ended); err != nil {
			return err
		}
	default:
		log.current.more <- struct{}{}
	}
	if s.out.isFull() {
		return s.flush(ctx)
	}
	return nil
}

// enqueue takes the lines of a log that wait for their turn.
func (s *stream) enqueue(ctx context.Context, log *containerLog, next piece) error {
	log.queue = next.lines
	switch {
	case next.ended && len(log.queue) > 0:
		log.ended = &next
	case next.ended:
		return s.finish(ctx, log, next)
	case len(log.queue) == 0:
		log.current.more <- struct{}{}
	}
	return nil
}
