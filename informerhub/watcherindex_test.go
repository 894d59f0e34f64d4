package informerhub

import (
	"testing"
	"time"
)

// TestThrottle_HoldsLongerWithinABurst wakes a group as often as it may within a burst.
func TestThrottle_HoldsLongerWithinABurst(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name     string
		interval time.Duration
		want     []time.Duration
	}{
		{"few watchers", 2 * ms, []time.Duration{2 * ms, 4 * ms, 6 * ms, 8 * ms, 10 * ms, 10 * ms}},
		{"many watchers", 30 * ms, []time.Duration{30 * ms, 30 * ms, 30 * ms}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p throttle
			now := time.Now()
			p.release(now)
			for i, want := range test.want {
				got := p.wait(test.interval, now)
				if got != want {
					t.Errorf("hold %d lasts %v, want %v", i, got, want)
				}
				p.delay(feedEnd{}, time.Hour, func() {})
				now = now.Add(got)
				p.release(now)
			}
			p.release(now) // a change after a quiet time
			if got := p.wait(test.interval, now); got != test.want[0] {
				t.Errorf("after the burst a hold lasts %v, want %v", got, test.want[0])
			}
		})
	}
}

// TestWatcherIndex_SkipsObjectsOfOtherOwners shows why an owner is an index key.
func TestWatcherIndex_SkipsObjectsOfOtherOwners(t *testing.T) {
	c := podCache(1 << 20)
	must(t, c.Replace(nil, "1"))
	watch := newReader(t, c, Query{Related: Related{Owner: "u1"}})
	watch.drain(t)
	must(t, c.Update(podObject(t, traits{Namespace: "ns", Name: "a", UID: "u", Version: "2", Owners: []string{"u2"}})))
	if places := watch.watcher.group.seqs; len(places) != 0 {
		t.Errorf("the pending sequence numbers are %v", places)
	}
}
