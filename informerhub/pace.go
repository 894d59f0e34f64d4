package informerhub

import "time"

// pace rate-limits the wake-ups of a topic's watchers. The first change after a quiet period is
// shown at once. Changes that follow in quick succession are held back and shown together, so that
// each watcher is woken once for all of them, and all watchers read the same batch. Waking a
// watcher and sending it a message costs many times as much as one more event in the message.
type pace struct {
	shown time.Time   // when changes were last shown
	held  bool        // changes are held back
	end   end         // while held: the end up to which watchers may read
	timer *time.Timer // while held: shows the changes
}

// end is the end of a feed at some time.
type end struct {
	place   uint64
	version string
	closed  string // see feed
}

// spacing returns the minimum time between two wake-ups of a topic, given its number of watchers.
type spacing func(watchers int) time.Duration

const (
	// minSpacing is too short to be noticed, and long enough for many changes of a burst.
	minSpacing = 2 * time.Millisecond
	// maxSpacing bounds the delay that the hub adds to an event.
	maxSpacing = 100 * time.Millisecond
	// spacingEach is a few times the CPU time of sending to one watcher: a burst keeps the service
	// busy for only a part of the time, whatever the number of watchers.
	spacingEach = 100 * time.Microsecond
)

func spaceByWatchers(watchers int) time.Duration {
	return min(max(minSpacing, time.Duration(watchers)*spacingEach), maxSpacing)
}

// hold limits watchers to an end, until show is called after wait.
func (p *pace) hold(at end, wait time.Duration, show func()) {
	p.held, p.end = true, at
	p.timer = time.AfterFunc(wait, show)
}

// release ends a hold, if there is one.
func (p *pace) release(now time.Time) {
	p.stop()
	*p = pace{shown: now}
}

func (p *pace) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}
