package loglines

import (
	"errors"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

var errNoSlot = errors.New("too many logs are open")

// slots returns an Options.Acquire for what is in free, to which the slots return.
func slots(free chan struct{}) func() (func(), error) {
	return func() (func(), error) {
		select {
		case slot := <-free:
			return func() { free <- slot }, nil
		default:
			return nil, errNoSlot
		}
	}
}

func TestRun_ReadsALogWhenAnotherStreamReleasesASlot(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		node, free := newFakeNode(), make(chan struct{}, 2)
		node.write(b, "1\n")
		free <- struct{}{}
		r := start(t, node, Options{Follow: true, Acquire: slots(free)})
		r.sync(a, b)
		r.want("b/main waits TooManyOpenLogs", "a/main began")
		free <- struct{}{}
		time.Sleep(maxBackoff)
		r.want("b/main began", "b/main: 1")
		r.stop()
		if len(free) != 2 {
			t.Errorf("%d slots are free at the end, want 2", len(free))
		}
	})
}

func TestRun_RejectsLogsWithoutASlot(t *testing.T) {
	for name, test := range map[string]struct {
		follow bool
		free   int
	}{
		"no slot for a followed log":  {true, 0},
		"a slot for one of two logs":  {false, 1},
		"no slot for logs to be read": {false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				free := make(chan struct{}, 2)
				for range test.free {
					free <- struct{}{}
				}
				r := start(t, newFakeNode(), Options{Follow: test.follow, Acquire: slots(free)})
				r.sync(a, b)
				if err := <-r.ended; !errors.Is(err, errNoSlot) || len(free) != test.free {
					t.Errorf("the stream ends with %v and %d free slots, want %d", err, len(free), test.free)
				}
			})
		})
	}
}

// TestRun_ReadsAllRunsInOneSlot reads a container that has restarted, while no other slot is free.
func TestRun_ReadsAllRunsInOneSlot(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		node, free := newFakeNode(), make(chan struct{}, 1)
		node.write(a, "1\n")
		node.restart(a)
		node.write(a, "2\n")
		node.end(a)
		free <- struct{}{}
		r := start(t, node, Options{Follow: true, Acquire: slots(free)})
		r.sync(a)
		r.want("a/main began run 1", "a/main: 2", "a/main ended run 1 Error 1")
		if len(free) != 1 {
			t.Error("the slot of a log that has ended is not released")
		}
		r.stop()
	})
}
