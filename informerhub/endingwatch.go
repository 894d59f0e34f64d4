package informerhub

import (
	"sync"

	"k8s.io/apimachinery/pkg/watch"
)

// endingWatch is a watch that calls a function as soon as it ends, be it by Stop. The
// Reflector opens another one only after a pause, and until then nothing is followed. It ends
// at the first event that another function does not pass; nil passes all. Its goroutine ends
// with the watch.
type endingWatch struct {
	watch.Interface
	events chan watch.Event
	stop   func()
}

func newEndingWatch(of watch.Interface, ended func(), passes func(watch.Event) bool) watch.Interface {
	stopped := make(chan struct{})
	w := &endingWatch{Interface: of, events: make(chan watch.Event)}
	w.stop = sync.OnceFunc(func() { close(stopped) })
	go func() {
		defer close(w.events)
		defer ended()
		for event := range of.ResultChan() {
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
