package loglines

import "context"

// startInSlot opens a log in a slot. If there is none, it reports that the log waits.
func (s *stream) startInSlot(ctx context.Context, log *containerLog) error {
	if log.slot != nil {
		return s.start(ctx, log)
	}
	if s.slots >= s.options.MaxLogs {
		return s.awaitLog(ctx, log, tooManyLogs, "max_logs are being read: the log is read when another one ends")
	}
	if err := s.takeSlot(log); err != nil {
		log.retry() // the slots of other streams are released without notice
		return s.awaitLog(ctx, log, noSlot, err.Error())
	}
	return s.start(ctx, log)
}

// takeSlot counts a log as open.
func (s *stream) takeSlot(log *containerLog) (err error) {
	log.slot = func() {}
	if s.options.Acquire != nil {
		if log.slot, err = s.options.Acquire(); err != nil {
			log.slot = nil
			return err
		}
	}
	s.slots++
	return nil
}

// release releases the slot of a log.
func (s *stream) release(log *containerLog) {
	if log.slot == nil {
		return
	}
	log.slot()
	log.slot, s.freed = nil, true
	s.slots--
}

// releaseAll releases the slots of all logs, after the last one was closed.
func (s *stream) releaseAll() {
	for _, log := range s.logs {
		s.release(log)
	}
}
