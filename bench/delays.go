package main

import (
	"bytes"
	"context"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kubeconnect/kubeconnect/bench/simulate"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// delayed records how long simulated changes took to a client. Its methods are safe for concurrent
// use.
type delayed struct {
	mu    sync.Mutex
	since time.Time // earlier changes are not recorded; guarded by mu
	each  []float64 // milliseconds; guarded by mu
}

// restart forgets what was recorded, and ignores changes before a time.
func (d *delayed) restart(since time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.since, d.each = since, nil
}

func (d *delayed) take() []float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	taken := d.each
	d.each = nil
	return taken
}

func (d *delayed) note(changed, received time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.since.IsZero() && changed.After(d.since) {
		d.each = append(d.each, milliseconds(received.Sub(changed)))
	}
}

// receive records the delay of each event in a Watch's response. Deletions are left out: their pods
// have the time of the change before.
func (d *delayed) receive(message []byte, at time.Time) {
	eachField(message, func(number protowire.Number, value []byte) {
		if number != watchResponseEvents {
			return
		}
		switch eventTypeOf(value) {
		case kubeconnectv1.EventType_EVENT_TYPE_ADDED, kubeconnectv1.EventType_EVENT_TYPE_MODIFIED:
			if changed, ok := changedAt(value, at); ok {
				d.note(changed, at)
			}
		}
	})
}

// changedKey is the beginning of the annotation's entry in a pod, up to its value.
var changedKey = func() []byte {
	entry := protowire.AppendTag(nil, 1, protowire.BytesType)
	entry = protowire.AppendString(entry, simulate.ChangedAnnotation)
	entry = protowire.AppendTag(entry, 2, protowire.BytesType)
	return protowire.AppendVarint(entry, simulate.ChangedDigits)
}()

// changedAt returns the time of the last change of a simulated pod, as protobuf. It is false for a
// pod that has not changed. The annotation has only the last digits of the time.
func changedAt(pod []byte, now time.Time) (time.Time, bool) {
	_, after, found := bytes.Cut(pod, changedKey)
	if !found || len(after) < simulate.ChangedDigits {
		return time.Time{}, false
	}
	micros, err := strconv.ParseInt(string(after[:simulate.ChangedDigits]), 10, 64)
	if err != nil || micros == 0 {
		return time.Time{}, false
	}
	const cycle = 1_000_000_000_000 // ten to the power of ChangedDigits
	return time.UnixMicro(now.UnixMicro()/cycle*cycle + micros), true
}

// watchedWithDelays is watchedBy that records the delays of a service's events too.
func (s *service) watchedWithDelays(request func(number int) *kubeconnectv1.WatchRequest, d *delayed) server {
	return server{dial: s.dial, watch: func(on *connection, number int, t *tally) (*stream, error) {
		return s.watch(on, request(number), t.counting(&messages{head: grpcHead, each: func(message []byte) {
			t.countWatchResponse(message)
			d.receive(message, time.Now())
		}}))
	}}
}

// measure records the delays of the changes that are made in the given time, and returns them in
// milliseconds.
func (d *delayed) measure(ctx context.Context, during time.Duration) ([]float64, error) {
	d.restart(time.Now())
	err := pause(ctx, during)
	return d.take(), err
}
