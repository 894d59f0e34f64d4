package loglines

import "time"

// The bounds of the time after which a log is opened again.
const (
	minBackoff = 250 * time.Millisecond
	maxBackoff = 10 * time.Second
)

// containerLog is the log of one container, over all runs. It is owned by the stream, except for
// the filter while the log is open.
type containerLog struct {
	LogName
	uid    string
	state  Container
	filter logFilter

	initial  bool     // Options.Tail applies
	position Position // of the last line that was read
	reported Position // of the last line that was sent, or the last position
	lastRun  int      // the run of the last line that was read
	run      int      // the run that is read, or is to be read next
	began    bool     // Began has been sent for this run
	sawEnd   bool     // the log of this run has been read to an end, which may be that of a connection
	// remainder is the incomplete line at that end; nil if there is none. It remains while the log is
	// opened again, which fails if the pod has been deleted.
	remainder *Line

	// detour reports that the rest of the run is read as that of the previous one, because the
	// current one is later than the pod's status says. unverified reports that the next reading need
	// not contain the last line, because no run does.
	detour, unverified bool

	current    *reading  // nil if the log is not open
	slot       func()    // releases what it holds of Options.Acquire; nil if it does not count for Options.MaxLogs
	finished   bool      // it must not be opened again
	gone       string    // why the pod is not selected any more; empty if it is
	drainUntil time.Time // when the log of a pod that is gone is closed
	retryAt    time.Time // when it may be opened again; zero for at once
	backoff    time.Duration
	waiting    string    // the reason of the last WaitingForLog, unless it began since
	sortTime   time.Time // the latest time of its lines so far

	// queue has the lines that wait for their turn, while existing logs are read. ended is the end
	// of the log after them; nil if it has not ended.
	queue []Line
	ended *piece
}

// retry schedules the next attempt to open the log.
func (l *containerLog) retry() {
	l.backoff = min(max(2*l.backoff, minBackoff), maxBackoff)
	l.retryAt = time.Now().Add(l.backoff)
}

// due returns when the log must be looked at although nothing has happened; zero for never.
func (l *containerLog) due() time.Time {
	if l.current != nil {
		return l.drainUntil
	}
	return l.retryAt
}

// isUnread reports whether there is a run to be read.
func (l *containerLog) isUnread() bool { return l.state.isReadable() && l.run <= l.state.Run }

// nextTime returns the time by which the next line in the queue is sorted.
func (l *containerLog) nextTime() time.Time {
	if next := l.queue[0].Time; next.After(l.sortTime) {
		return next
	}
	return l.sortTime
}

// update sets the state of the container. If it has changed, the log need not wait any longer.
func (l *containerLog) update(state Container) {
	before := l.state
	if before.Run != state.Run || before.Running != state.Running {
		l.retryAt, l.backoff = time.Time{}, 0
	}
	l.state = state
}

// resumeAt continues the log after a position. If the container has been started since, the rest of
// the previous run is read first.
func (l *containerLog) resumeAt(position Position) {
	l.position, l.reported, l.initial = position, position, false
	if l.state.Previous != nil && !l.state.Started.Before(position.Time.Truncate(time.Second)) {
		l.run = l.state.Run - 1
	}
	l.lastRun, l.unverified = l.run, l.state.Started.IsZero()
}

// close closes the log if it is open. Nothing that it has read and not passed is sent.
func (l *containerLog) close() {
	if l.current != nil {
		l.current.cancel()
		l.current = nil
	}
	l.queue, l.ended, l.retryAt = nil, nil, time.Time{}
}

func (l *containerLog) event(kind EventType, reason, message string) Event {
	return Event{Type: kind, LogName: l.LogName, UID: l.uid, Run: l.run, Reason: reason, Message: message}
}
