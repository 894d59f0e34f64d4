package auth

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// announcedAt runs changes for a time, notes changes at some times, and returns when they are announced.
func announcedAt(t *testing.T, noted ...time.Duration) (announced []time.Duration) {
	faketime.Test(t, func(t *testing.T) {
		changes := newChangeNotifier()
		running(t, changes.run)
		began := time.Now()
		for _, at := range noted {
			time.AfterFunc(at, func() { changes.note() })
		}
		end := time.After(time.Minute)
		for {
			select {
			case <-changes.next():
				announced = append(announced, time.Since(began))
			case <-end:
				return
			}
		}
	})
	return announced
}

func TestChangeNotifier_AnnouncesAtOnceAndTwiceLater(t *testing.T) {
	const ms = time.Millisecond
	for name, test := range map[string]struct{ noted, announced []time.Duration }{
		"none":                 {nil, nil},
		"one":                  {[]time.Duration{1000 * ms}, []time.Duration{1000 * ms, 2000 * ms, 6000 * ms}},
		"two at once":          {[]time.Duration{1000 * ms, 1001 * ms}, []time.Duration{1000 * ms, 1500 * ms, 2001 * ms, 6001 * ms}},
		"one while it settles": {[]time.Duration{1000 * ms, 3000 * ms}, []time.Duration{1000 * ms, 2000 * ms, 3000 * ms, 4000 * ms, 8000 * ms}},
		"two far apart":        {[]time.Duration{100 * ms, 20000 * ms}, []time.Duration{100 * ms, 1100 * ms, 5100 * ms, 20000 * ms, 21000 * ms, 25000 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			if announced := announcedAt(t, test.noted...); !slices.Equal(announced, test.announced) {
				t.Errorf("announced at %v, want %v", announced, test.announced)
			}
		})
	}
}

func TestChangeNotifier_AnnouncesAtMostTwiceASecond(t *testing.T) {
	var noted []time.Duration
	for i := range 1000 {
		noted = append(noted, time.Duration(1+i)*10*time.Millisecond) // ten seconds
	}
	if announced := announcedAt(t, noted...); len(announced) > 24 || announced[0] != noted[0] {
		t.Errorf("announced %d times, at %v", len(announced), announced)
	}
}

func TestChangeNotifier_ChangeAffectsItsSubjectsOnly(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		changes := newChangeNotifier()
		user, group := subject{name: "x"}, subject{group: true, name: "x"}
		time.Sleep(time.Second)
		changes.note(group)
		if !changes.lastOf([]subject{user}).IsZero() || !changes.lastOf([]subject{user, group}).Equal(time.Now()) {
			t.Error("a group matches a user of the same name")
		}
		time.Sleep(time.Second)
		for i := range maxSubjects {
			changes.note(subject{name: fmt.Sprint(i)})
		}
		if !changes.lastOf([]subject{user}).Equal(time.Now()) || len(changes.bySubject) > maxSubjects {
			t.Error("there is no bound, or a change above it is missed")
		}
	})
}
