package counts

import (
	"container/list"
	"context"
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/tally"
)

const (
	// maxGroups and maxMessageBytes bound the groups of a state, because a response has all of them.
	maxGroups, maxMessageBytes = 10_000, 3 << 20
	// maxBytes bounds the memory of a state.
	maxBytes = 64 << 20
	// maxRemoved and maxRemovedBytes bound the removed groups that a state remembers. A reader that
	// has missed an older one has to read all groups.
	maxRemoved, maxRemovedBytes = 10_000, 8 << 20
)

// State is the counts of the objects of a selection, while these change.
//
//	groups    a b c d e f        by key, in the counter
//	live      b(3) a(7) e(7)     with objects, by the generation of their last change
//	removed   d(2) c(6) f(8)     without objects, by the generation in which they lost the last one
//
// The groups that have changed after generation 6 are those at the ends of both lists: a, e and f.
type State struct {
	counter    *Counter
	maxRemoved int       // maxRemoved, or less in tests; set once
	live       list.List // of *group
	removed    list.List // of *group

	messageBytes int    // estimated bytes of the groups in live in a message
	removedBytes int    // estimated memory of the groups in removed, without aggregates
	forgotten    uint64 // removed groups up to this generation may be missing in removed
	changed      uint64 // the generation of the last change that was counted

	slots int   // number of slots in use or free
	free  []int // slots of groups that were dropped

	touched []*group // by the change that is being made
}

// NewState returns the counts of no objects. During a change it calls grown with the bytes of the groups, and ends
// the change with its error: one object can be in thousands of groups.
func NewState(plan *Plan, grown func(bytes int) error) *State {
	fits := func(_, bytes int) error {
		if bytes > maxBytes {
			return tooLarge("the groups need more than %d MiB", maxBytes>>20)
		}
		return grown(bytes)
	}
	return &State{counter: newCounter(plan, fits, tally.NewLive), maxRemoved: maxRemoved}
}

func tooLarge(format string, args ...any) error {
	return apierror.Failure(metav1.StatusReasonRequestEntityTooLarge, "group_by: "+format+": select fewer objects, or give fewer paths", args...)
}

// Change implements follow.State.
func (s *State) Change(before, after *informerhub.Object, generation uint64) error {
	if before != nil && after != nil && s.countsSame(before, after) {
		return nil
	}
	defer s.release()
	s.changed = generation
	if before != nil {
		if err := s.apply(before, (*group).remove); err != nil {
			return err
		}
	}
	if after != nil {
		if err := s.apply(after, (*group).add); err != nil {
			return err
		}
	}
	for _, g := range s.touched {
		s.settle(g, generation)
	}
	s.forget()
	return s.check()
}

// countsSame reports whether a change certainly does not touch what is counted.
func (s *State) countsSame(before, after *informerhub.Object) bool {
	return s.counter.plan.CountsOnly() || s.counter.reading.reader.ReadsSame(before, after)
}

// release drops the groups that the change has touched, and a large buffer.
func (s *State) release() {
	clear(s.touched) // a group may be dropped
	s.touched = s.touched[:0]
	if cap(s.touched)*pointerBytes > maxBuffer {
		s.touched = nil
	}
}

const pointerBytes = 8

func (s *State) apply(object *informerhub.Object, change func(*group, []tally.Summary)) error {
	defer s.counter.release()
	if err := s.counter.reading.read(object); err != nil {
		return err
	}
	return s.counter.eachGroup(context.Background(), func(g *group) {
		change(g, s.counter.reading.columns)
		if g != s.counter.total {
			s.touched = append(s.touched, g)
		}
	})
}

// settle moves a group that was changed to its place.
func (s *State) settle(g *group, generation uint64) {
	isNew := g.place == nil
	s.takeOut(g)
	g.changed = generation
	switch {
	case isNew:
		g.created, g.slot = generation, s.takeSlot()
	case g.count == 0 && g.created == generation: // no reader has seen it
		s.drop(g)
		return
	}
	if g.count == 0 {
		s.removedBytes += g.fixedBytes()
		g.place = s.removed.PushBack(g)
		return
	}
	g.size = s.counter.plan.encodedBytes(g)
	s.messageBytes += g.size
	g.place = s.live.PushBack(g)
}

// takeOut removes a group from its list.
func (s *State) takeOut(g *group) {
	switch {
	case g.place == nil:
	case g.size > 0:
		s.live.Remove(g.place)
		s.messageBytes -= g.size
		g.size = 0
	default:
		s.removed.Remove(g.place)
		s.removedBytes -= g.fixedBytes()
	}
	g.place = nil
}

// takeSlot returns a slot for a new group. No reader has a group of a free slot: its removal is older
// than what the reader has read, or the reader is sent all groups.
func (s *State) takeSlot() int {
	if last := len(s.free) - 1; last >= 0 {
		slot := s.free[last]
		s.free = s.free[:last]
		return slot
	}
	s.slots++
	return s.slots - 1
}

func (s *State) drop(g *group) {
	s.free = append(s.free, g.slot)
	delete(s.counter.groups, g.key)
	s.counter.bytes -= g.bytes()
}

// forget drops the oldest removed groups, if there are too many.
func (s *State) forget() {
	for s.removed.Len() > s.maxRemoved || s.removedBytes > maxRemovedBytes {
		oldest := s.removed.Front().Value.(*group)
		s.forgotten = oldest.changed
		s.takeOut(oldest)
		s.drop(oldest)
	}
}

func (s *State) check() error {
	switch {
	case s.live.Len() > maxGroups:
		return tooLarge("there are more than %d groups", maxGroups)
	case s.messageBytes+s.counter.plan.encodedBytes(s.counter.total) > maxMessageBytes:
		return tooLarge("the groups need more than %d MiB in a response", maxMessageBytes>>20)
	}
	return nil
}

// Bytes implements follow.State.
func (s *State) Bytes() int {
	return s.counter.bytes + s.counter.bufferBytes() + (cap(s.touched)+cap(s.free))*pointerBytes
}

// Difference is what a reader needs to follow a state.
type Difference struct {
	// Reset reports that Groups are all groups. Otherwise they are the ones that were changed.
	Reset  bool
	Groups []Group
	Total  Group

	slots int // of the state
}

// All returns all groups.
func (s *State) All() Difference {
	all := Difference{Reset: true, Total: s.counter.Total(), slots: s.slots, Groups: make([]Group, 0, s.live.Len())}
	for place := s.live.Front(); place != nil; place = place.Next() {
		all.Groups = append(all.Groups, place.Value.(*group).copied())
	}
	return all
}

// Since returns the groups that were changed after a generation of the same state; all groups if
// these are no longer known. A reader may have some of them as they are now: see [Held].
func (s *State) Since(generation uint64) Difference {
	if generation < s.forgotten {
		return s.All()
	}
	changed := Difference{Total: s.counter.Total(), slots: s.slots}
	for g := range s.changedSince(generation) {
		changed.Groups = append(changed.Groups, g.copied())
	}
	return changed
}

// ChangedSince reports whether the counts have changed after a generation.
func (s *State) ChangedSince(generation uint64) bool { return s.changed > generation }

// BytesSince estimates the bytes of what Since returns, or All if all is set, in a message.
func (s *State) BytesSince(generation uint64, all bool) int {
	size := s.counter.plan.encodedBytes(s.counter.total)
	if all || generation < s.forgotten {
		return size + s.messageBytes
	}
	for g := range s.changedSince(generation) {
		size += max(g.size, g.fixedBytes())
	}
	return size
}

// changedSince returns the groups that have changed after a generation.
func (s *State) changedSince(generation uint64) iter.Seq[*group] {
	return func(yield func(*group) bool) {
		for _, groups := range []*list.List{&s.live, &s.removed} {
			for place := groups.Back(); place != nil && place.Value.(*group).changed > generation; place = place.Prev() {
				if !yield(place.Value.(*group)) {
					return
				}
			}
		}
	}
}
