package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// arrivals records the arrival time of each version.
type arrivals struct {
	mu sync.Mutex
	at map[string]time.Time // guarded by mu
}

func newArrivals() *arrivals { return &arrivals{at: make(map[string]time.Time)} }

func (a *arrivals) note(version string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at[version] = at
}

// noteFirst records a time of arrival unless the version has arrived before.
func (a *arrivals) noteFirst(version string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.at[version]; !ok {
		a.at[version] = at
	}
}

func (a *arrivals) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.at)
}

// compareDelay measures how much later a change arrives through the service than from the API server.
// This process watches the same changes through both, and takes the time of arrival before it decodes
// a message.
func (l *lab) compareDelay(ctx context.Context, results *report) error {
	p50 := row{
		what: "delay added by the hub, p50", against: "a direct watch", unit: "ms", first: "0.5 ms", then: "0.2 ms",
	}
	p99 := row{what: "the same, p99", against: "a direct watch", unit: "ms", first: "5 ms", then: "2 ms"}
	changes, err := l.changer(ctx, func(number int) bool { return number < fanOutPods })
	if err != nil {
		return err
	}
	defer changes.close()
	err = l.withCaller(ctx, func(c *caller) error {
		return l.eachRound(func(int) error {
			added, err := c.delays(ctx, changes)
			if err != nil {
				return err
			}
			p50.ours = append(p50.ours, quantile(added, 0.5))
			p99.ours = append(p99.ours, quantile(added, 0.99))
			return nil
		})
	})
	results.add(p50, p99)
	return err
}

// delays makes changes one after the other and returns how much later each of them arrived through
// the service, in milliseconds.
func (c *caller) delays(ctx context.Context, changes *changer) ([]float64, error) {
	direct, byService := newArrivals(), newArrivals()
	version, err := c.lab.cluster.version(ctx, fanOutNamespace)
	if err != nil {
		return nil, err
	}
	if err := c.follow(version, direct, byService); err != nil {
		return nil, err
	}
	if err := pause(ctx, time.Second); err != nil {
		return nil, err
	}
	written, err := changes.trickle(ctx, pace/2, 2*c.lab.trickle)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(deliveryTimeout); direct.count() < written || byService.count() < written; {
		if err := pause(ctx, 10*time.Millisecond); err != nil || time.Now().After(deadline) {
			return nil, fmt.Errorf("%d and %d of %d changes arrived: %w", direct.count(), byService.count(), written, err)
		}
	}
	return direct.until(byService), nil
}

// follow opens a watch at the API server and one at the service.
func (c *caller) follow(version string, direct, byService *arrivals) error {
	data := eachMessage(kubeHead, func(message []byte, at time.Time) {
		direct.note(versionOfWatchEvent(message), at)
	})
	_, err := c.lab.cluster.watch(c.theirs, fanOutNamespace, version, asStream, data)
	if err != nil {
		return err
	}
	_, err = c.service.watch(c.ours, podsIn(fanOutNamespace, "")(0), eachModified(func(event []byte, at time.Time) {
		byService.note(versionOfEvent(event), at)
	}))
	return err
}

// eachModified calls visit with each MODIFIED event of a Watch and its time of arrival.
func eachModified(visit func(event []byte, at time.Time)) func([]byte) {
	return eachMessage(grpcHead, func(message []byte, at time.Time) {
		eachField(message, func(number protowire.Number, value []byte) {
			if number == watchResponseEvents && eventTypeOf(value) == kubeconnectv1.EventType_EVENT_TYPE_MODIFIED {
				visit(value, at)
			}
		})
	})
}

// eachMessage calls visit with each message and the time at which it was complete.
func eachMessage(head int, visit func(message []byte, at time.Time)) func([]byte) {
	split := &messages{head: head, each: func(message []byte) { visit(message, time.Now()) }}
	return split.add
}

// versionOfEvent returns the resource version of an event of the service.
func versionOfEvent(event []byte) (version string) {
	eachField(event, func(number protowire.Number, value []byte) {
		if number == eventVersion {
			version = string(value)
		}
	})
	return version
}

// versionOfWatchEvent returns the resource version of the pod in a watch event of the API server: a
// pod in a runtime.Unknown in a WatchEvent. It returns "" if the event cannot be decoded.
func versionOfWatchEvent(message []byte) string {
	var event metav1.WatchEvent
	var object runtime.Unknown
	var pod corev1.Pod
	if event.Unmarshal(message) != nil || len(event.Object.Raw) < kubeHead ||
		object.Unmarshal(event.Object.Raw[kubeHead:]) != nil || pod.Unmarshal(object.Raw) != nil {
		return ""
	}
	return pod.ResourceVersion
}

// until returns how much later each version arrived in other, in milliseconds.
func (a *arrivals) until(other *arrivals) (delays []float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	other.mu.Lock()
	defer other.mu.Unlock()
	for version, at := range a.at {
		if later, ok := other.at[version]; ok {
			delays = append(delays, milliseconds(later.Sub(at)))
		}
	}
	return delays
}
