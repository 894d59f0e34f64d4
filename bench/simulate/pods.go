package simulate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Namespaces is the number of namespaces, which have the same number of pods.
	Namespaces = 100
	// MaxPods is the maximum number of pods.
	MaxPods = 10_000_000

	podsOfApp  = 20
	podsOfNode = 30

	// firstVersion is the version of the pods before any change. All versions have ten digits.
	firstVersion = 1_000_000_000
	// historyLength is the number of changes that watches and pages can reach back to.
	historyLength = 1 << 18
	// replacedEach is the number of changes of which one is a replacement: the pod is deleted, and
	// another one is created.
	replacedEach = 50
	// step is the distance between the pods of two changes. It is prime, so that all pods change.
	step = 7_919_977
)

// state is what differs between the versions of a pod.
type state struct {
	version     uint64
	changed     int64 // microseconds, see ChangedAnnotation
	incarnation uint32
	phase       uint8
}

// event is a change of a pod.
type event struct {
	kind   string
	number int
	before state
	after  state // for a deletion: the last state, with the version of the deletion
}

// Pods are the simulated pods, with the history of their changes. The methods are safe for
// concurrent use.
type Pods struct {
	mu      sync.RWMutex // guards the fields below
	states  []state
	version uint64
	history []event // a ring: the change with sequence number n is at n modulo historyLength
	last    uint64  // the sequence number of the last event
	changes uint64  // that were made
	next    int     // the pod that changes next
	changed chan struct{}
}

// ErrExpired is the error of a version that the history does not reach back to.
var ErrExpired = errors.New("the version is too old")

// NewPods returns pods that have not changed yet.
func NewPods(count int) (*Pods, error) {
	if count < Namespaces || count > MaxPods {
		return nil, fmt.Errorf("%d pods cannot be simulated: use %d to %d", count, Namespaces, MaxPods)
	}
	p := &Pods{
		states: make([]state, count), version: firstVersion + uint64(count),
		history: make([]event, historyLength), changed: make(chan struct{}),
	}
	for i := range p.states {
		p.states[i].version = firstVersion + uint64(i) + 1
	}
	return p, nil
}

func (p *Pods) count() int { return len(p.states) }

func (p *Pods) nodes() int { return max(1, p.count()/podsOfNode) }

// namespaceOf returns the number of a pod's namespace.
func (p *Pods) namespaceOf(number int) int { return number * Namespaces / p.count() }

// NamespaceName returns the name of a namespace.
func NamespaceName(number int) string { return fmt.Sprintf("team-%03d", number) }

// span is a sequence of pods: those from a number up to, without, another.
type span struct{ from, to int }

func (s span) has(number int) bool { return s.from <= number && number < s.to }

// spanOf returns the pods of a namespace, or all if the name is empty.
func (p *Pods) spanOf(namespace string) span {
	if namespace == "" {
		return span{0, p.count()}
	}
	for number := range Namespaces {
		if NamespaceName(number) == namespace {
			return span{p.firstOf(number), p.firstOf(number + 1)}
		}
	}
	return span{}
}

// firstOf returns the first pod of a namespace.
func (p *Pods) firstOf(namespace int) int { return (namespace*p.count() + Namespaces - 1) / Namespaces }

// pace is the interval at which changes are made.
const pace = 2 * time.Millisecond

// ChangeAt makes changes at a rate, in changes a second, until the context ends. The rate can change
// at any time.
func (p *Pods) ChangeAt(ctx context.Context, rate *atomic.Int64) {
	ticks := time.NewTicker(pace)
	defer ticks.Stop()
	due, before := 0.0, time.Now()
	for {
		select {
		case now := <-ticks.C:
			due += now.Sub(before).Seconds() * float64(rate.Load())
			before = now
		case <-ctx.Done():
			return
		}
		whole, rest := math.Modf(due)
		due = rest
		p.change(int(whole))
	}
}

// change makes a number of changes as one step.
func (p *Pods) change(count int) {
	if count == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for range count {
		p.changes++
		p.next = (p.next + step) % p.count()
		if p.changes%replacedEach == 0 {
			p.replaceLocked(p.next)
		} else {
			p.modifyLocked(p.next)
		}
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Pods) modifyLocked(number int) {
	after := p.states[number]
	after.phase = 1 - after.phase
	p.appendLocked(eventModified, number, after)
}

func (p *Pods) replaceLocked(number int) {
	deleted := p.states[number]
	p.appendLocked(eventDeleted, number, deleted)
	p.appendLocked(eventAdded, number, state{incarnation: deleted.incarnation + 1, changed: deleted.changed})
}

// appendLocked makes a change at the next version.
func (p *Pods) appendLocked(kind string, number int, after state) {
	p.version++
	after.version = p.version
	if kind != eventDeleted {
		after.changed = time.Now().UnixMicro()
	}
	p.last++
	p.history[p.last%historyLength] = event{kind, number, p.states[number], after}
	p.states[number] = after
}

// snapshot returns the states of some pods at a version, and the sequence number of the last event
// up to it. The version 0 is the current one.
func (p *Pods) snapshot(selected span, version uint64) (states []state, at uint64, sequence uint64, err error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if version == 0 {
		version = p.version
	}
	sequence, err = p.locateLocked(version)
	if err != nil {
		return nil, 0, 0, err
	}
	states = append(states, p.states[selected.from:selected.to]...)
	for undone := p.last; undone > sequence; undone-- {
		if e := p.history[undone%historyLength]; selected.has(e.number) {
			states[e.number-selected.from] = e.before
		}
	}
	return states, version, sequence, nil
}

// locate returns the sequence number of the last event up to a version.
func (p *Pods) locate(version uint64) (uint64, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.locateLocked(version)
}

// locateLocked is locate with the lock held. Each event has a version of its own.
func (p *Pods) locateLocked(version uint64) (uint64, error) {
	newer := p.version - min(version, p.version)
	if newer > p.last || newer >= historyLength {
		return 0, ErrExpired
	}
	return p.last - newer, nil
}

// after returns events of some pods after a sequence number, at most limit, and the sequence number
// of the last event that was examined. The channel is closed at the next event.
func (p *Pods) after(sequence uint64, selected span, limit int) (events []event, last uint64, next <-chan struct{}, err error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.last-sequence >= historyLength {
		return nil, 0, nil, ErrExpired
	}
	for ; sequence < p.last && len(events) < limit; sequence++ {
		if e := p.history[(sequence+1)%historyLength]; selected.has(e.number) {
			events = append(events, e)
		}
	}
	return events, sequence, p.changed, nil
}

// versionAt returns the version at a sequence number.
func (p *Pods) versionAt(sequence uint64) uint64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.version - (p.last - sequence)
}

// await blocks until the pods have reached a version, or for at most a time. It reports whether they
// have.
func (p *Pods) await(ctx context.Context, version uint64, atMost time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	for {
		p.mu.RLock()
		reached, changed := p.version >= version, p.changed
		p.mu.RUnlock()
		if reached {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}
