package informerhub

import "time"

// throttle rate-limits the wake-ups of a watcher group. The first change after a quiet period is
// shown at once. Changes that follow in quick succession are held back and shown together, so that
// each watcher is woken once for all of them, and all watchers read the same batch. Waking a
// watcher and sending it a message costs many times as much as one more event in the message: in
// the service, and even more in some clients. The longer a burst lasts, the more changes are shown
// together.
type throttle struct {
	lastWake time.Time   // when changes were last shown
	held     int         // number of holds before that, each of which followed another in a burst
	active   bool        // changes are held back
	end      feedEnd     // while held: the end up to which watchers may read
	timer    *time.Timer // while held: shows the changes
}

// wakeInterval returns the minimum time between two wake-ups of a watcher group, given its number
// of watchers.
type wakeInterval func(watchers int) time.Duration

const (
	// minWakeInterval is too short to be noticed, and long enough for some changes of a burst. It
	// grows with each wake-up within a burst, to burstWakeInterval.
	minWakeInterval   = 2 * time.Millisecond
	burstWakeInterval = 10 * time.Millisecond
	// maxWakeInterval bounds the delay that the hub adds to an event.
	maxWakeInterval = 100 * time.Millisecond
	// wakeIntervalPerWatcher is a few times the CPU time of sending to one watcher: a burst keeps
	// the service busy for only a part of the time, whatever the number of watchers.
	wakeIntervalPerWatcher = 100 * time.Microsecond
)

func wakeIntervalFor(watchers int) time.Duration {
	return min(max(minWakeInterval, time.Duration(watchers)*wakeIntervalPerWatcher), maxWakeInterval)
}

// delay limits watchers to an end, until wake is called after wait.
func (p *throttle) delay(end feedEnd, wait time.Duration, wake func()) {
	p.active, p.end = true, end
	p.timer = time.AfterFunc(wait, wake)
}

// wait returns the time until the next wake-up, given the interval at the beginning of a burst. It
// is not positive if watchers can be woken at once.
func (p *throttle) wait(interval time.Duration, now time.Time) time.Duration {
	longer := min(time.Duration(p.held+1)*interval, max(interval, burstWakeInterval))
	return longer - now.Sub(p.lastWake)
}

// release ends a hold, if there is one.
func (p *throttle) release(now time.Time) {
	p.stop()
	held := 0
	if p.active {
		held = p.held + 1
	}
	*p = throttle{lastWake: now, held: held}
}

func (p *throttle) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}
