package informerhub

import (
	"sync"

	"k8s.io/apimachinery/pkg/watch"
)

// endingWatch is a watch that calls a function as soon as it ends, also by Stop. The Reflector
// opens the next watch only after a pause, and until then the cache follows nothing. The watch ends
// at the first event that passes rejects; a nil passes rejects none. Its goroutine ends with the
// watch.
type endingWatch struct {
	watch.Interface
	events chan watch.Event
	stop   func()
}

func newEndingWatch(inner watch.Interface, ended func(), passes func(watch.Event) bool) watch.Interface {
	stopped := make(chan struct{})
	w := &endingWatch{Interface: inner, events: make(chan watch.Event)}
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

// ResultChan implements watch.Interface.
func (w *endingWatch) ResultChan() <-chan watch.Event { return w.events }

// Stop implements watch.Interface.
func (w *endingWatch) Stop() {
	w.stop()
	w.Interface.Stop()
}
