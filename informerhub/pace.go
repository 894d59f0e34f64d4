package informerhub

import "time"

// pace spaces what a topic's watchers are told. The first change after a quiet time
// is shown at once; those that follow in quick succession are held and shown together,
// so that each watcher is woken once for all of them, and all watchers read the same.
// Waking a watcher and sending it a message costs many times what an event in
// the message does.
type pace struct {
	shown time.Time   // when changes were last shown
	held  bool        // changes are held
	end   end         // if so: as far as the watchers may read
	timer *time.Timer // if so: shows them
}

// end is where a feed ended at some time.
type end struct {
	place   uint64
	version string
	closed  string // see feed
}

// spacing is how far apart a topic with so many watchers is shown to them.
type spacing func(watchers int) time.Duration

const (
	// minSpacing is short enough for nobody to notice, and many changes of a burst
	// fall into it.
	minSpacing = 2 * time.Millisecond
	// maxSpacing bounds what the hub adds to the delay of an event.
	maxSpacing = 100 * time.Millisecond
	// spacingEach is a few times the CPU time that sending to one watcher takes: a
	// burst keeps the service busy for a part of the time only, however many watch.
	spacingEach = 100 * time.Microsecond
)

func spaceByWatchers(watchers int) time.Duration {
	return min(max(minSpacing, time.Duration(watchers)*spacingEach), maxSpacing)
}

// hold lets watchers read no further than an end, until show is called after a while.
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
