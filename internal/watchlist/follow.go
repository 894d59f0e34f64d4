package watchlist

import (
	"sync"

	"k8s.io/apimachinery/pkg/watch"
)

// Follow returns a watch that calls ended as soon as it ends, also by Stop. The watch ends at the first event that passes
// rejects; a nil passes rejects none. Its goroutine ends with the watch.
func Follow(inner watch.Interface, ended func(), passes func(watch.Event) bool) watch.Interface {
	stopped := make(chan struct{})
	w := &followed{Interface: inner, events: make(chan watch.Event)}
	w.stop = sync.OnceFunc(func() { close(stopped) })
	go func() {
		defer close(w.events)
		defer ended()
		for event := range inner.ResultChan() {
			if passes != nil && !passes(event) {
				return
			}
			select {
			case w.events <- event:
			case <-stopped:
				return
			}
		}
	}()
	return w
}

// followed is a watch whose events and end are noticed.
type followed struct {
	watch.Interface
	events chan watch.Event
	stop   func()
}

// ResultChan implements watch.Interface.
func (w *followed) ResultChan() <-chan watch.Event { return w.events }

// Stop implements watch.Interface.
func (w *followed) Stop() {
	w.stop()
	w.Interface.Stop()
}
