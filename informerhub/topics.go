package informerhub

import (
	"slices"
	"strings"
	"time"
)

// interest is what a watcher must be woken for. It is wider than the watcher's
// selection, and the narrowest of a few kinds that can be looked up: one object, the
// value of one selectable field, of one label, one namespace or some, or everything.
type interest struct {
	kind interestKind
	a, b string
}

type interestKind uint8

const (
	inEverything interestKind = iota
	inNamespace               // a: its name
	inNamespaces              // a: their names, in order
	inObject                  // a: its namespace, b: its name
	inLabel                   // a: its key, b: its value
	inField                   // a: its name, b: its value
)

// topic is one interest that watchers have, and where in the feed the changes are
// that concern it.
type topic struct {
	interest   interest
	namespaces []string // of an interest in some of them
	watchers   int
	since      uint64   // the changes behind this place are in places
	places     []uint64 // ascending
	round      *round   // what its watchers are told, up to here
	pace       pace
}

// topics are the interests that watchers have. The work that a change makes is that
// of looking up what it has (its namespace, its name, its labels, its selectable
// fields), whatever the number of watchers; those whom it does not concern are
// neither woken nor led past it. The API server's indexed watchers are the model.
type topics struct {
	byInterest map[interest]*topic
	watchers   int                            // of all topics
	fields     map[string]*usedField          // those that some interest is about
	bySome     map[string]map[*topic]struct{} // by each of the namespaces that an interest is in
	grown      []*topic                       // since the feed last settled
	spacing    spacing                        // nil: every change is told at once
	release    func(*topic)                   // shows a topic that has been held, later
}

// usedField is a field that interests are about.
type usedField struct {
	reads fieldReader
	users int
}

func newTopics() topics {
	return topics{
		byInterest: make(map[interest]*topic),
		fields:     make(map[string]*usedField),
		bySome:     make(map[string]map[*topic]struct{}),
	}
}

// join adds a watcher whose place is the feed's end, so all up to there is shown. One
// that holds states which the feed does not know is told of all that its selection
// could name.
func (t *topics) join(sel *Selection, unknown bool, end uint64) *topic {
	interest, reads := sel.interest, sel.interestBy
	if unknown {
		interest, reads = sel.scope, fieldReader{}
	}
	joined, ok := t.byInterest[interest]
	if !ok {
		joined = &topic{interest: interest, since: end, round: newRound()}
		t.byInterest[interest] = joined
		if interest.kind == inNamespaces {
			t.joinSome(joined, sel.namespaces)
		}
	}
	joined.watchers++
	t.watchers++
	if joined.pace.held {
		joined.show(time.Now())
	}
	if interest.kind == inField {
		t.useField(interest.a, reads)
	}
	return joined
}

func (t *topics) useField(name string, reads fieldReader) {
	if t.fields[name] == nil {
		t.fields[name] = &usedField{reads: reads}
	}
	t.fields[name].users++
}

func (t *topics) joinSome(joined *topic, namespaces []string) {
	joined.namespaces = namespaces
	for _, namespace := range namespaces {
		if t.bySome[namespace] == nil {
			t.bySome[namespace] = make(map[*topic]struct{})
		}
		t.bySome[namespace][joined] = struct{}{}
	}
}

func (t *topics) leaveSome(left *topic) {
	for _, namespace := range left.namespaces {
		delete(t.bySome[namespace], left)
		if len(t.bySome[namespace]) == 0 {
			delete(t.bySome, namespace)
		}
	}
}

// leave takes a watcher out.
func (t *topics) leave(left *topic) {
	left.watchers--
	t.watchers--
	if left.watchers == 0 {
		delete(t.byInterest, left.interest)
		t.leaveSome(left)
		left.pace.stop()
	}
	if left.interest.kind != inField {
		return
	}
	field := t.fields[left.interest.a]
	if field.users--; field.users == 0 {
		delete(t.fields, left.interest.a)
	}
}

// publish tells the topics that a change concerns, and drops from them the places
// that lie before the window. Their watchers see it when the feed settles.
func (t *topics) publish(c change, first uint64) {
	t.tell(interest{kind: inEverything}, c.seq, first)
	object := c.object()
	t.tell(interest{inNamespace, object.namespace, ""}, c.seq, first)
	t.tell(interest{inObject, object.namespace, object.name}, c.seq, first)
	for topic := range t.bySome[object.namespace] {
		t.tellTopic(topic, c.seq, first)
	}
	for _, state := range []*Object{c.before, c.after} {
		if state == nil {
			continue
		}
		for _, label := range state.labels {
			t.tell(interest{inLabel, label.Value().Key, label.Value().Value}, c.seq, first)
		}
		for name, field := range t.fields {
			for _, value := range field.reads.values(state) {
				t.tell(interest{inField, name, value}, c.seq, first)
			}
		}
	}
}

func (t *topics) tell(interest interest, seq, first uint64) {
	if told, ok := t.byInterest[interest]; ok {
		t.tellTopic(told, seq, first)
	}
}

func (t *topics) tellTopic(told *topic, seq, first uint64) {
	if told.add(seq, first) {
		t.grown = append(t.grown, told)
	}
}

// add notes a change; false if it has been noted.
func (t *topic) add(seq, first uint64) bool {
	if n := len(t.places); n > 0 && t.places[n-1] == seq {
		return false // by its state before as well
	}
	dropped := 0
	for dropped < len(t.places) && t.places[dropped] < first {
		dropped++
	}
	if dropped > 0 {
		t.since = t.places[dropped-1]
		t.places = t.places[dropped:]
	}
	t.places = append(t.places, seq)
	return true
}

// between are the places of changes that concern the topic, behind a place and up to
// another one.
func (t *topic) between(place, end uint64) []uint64 {
	first, _ := slices.BinarySearch(t.places, place+1)
	last, _ := slices.BinarySearch(t.places, end+1)
	return t.places[first:max(first, last)]
}

// settle shows what has been published since the feed stood at an earlier end, or holds
// it for a moment where it comes too soon after the last.
func (t *topics) settle(before end, now time.Time) {
	for _, topic := range t.grown {
		t.settleOne(topic, before, now)
	}
	clear(t.grown)
	t.grown = t.grown[:0]
}

func (t *topics) settleOne(topic *topic, before end, now time.Time) {
	if topic.pace.held {
		return
	}
	var wait time.Duration
	if t.spacing != nil {
		wait = t.spacing(topic.watchers) - now.Sub(topic.pace.shown)
	}
	if wait <= 0 {
		topic.show(now)
		return
	}
	topic.pace.hold(before, wait, func() { t.release(topic) })
}

// showAll wakes every watcher.
func (t *topics) showAll(now time.Time) {
	for _, topic := range t.byInterest {
		topic.show(now)
	}
}

// show lets the topic's watchers see all that has been published, and wakes them.
func (t *topic) show(now time.Time) {
	t.pace.release(now)
	close(t.round.over)
	t.round = newRound()
}

// narrowestInterest is the narrowest interest that a selection has, and for one in a field
// how to read that.
func narrowestInterest(s *Selection) (interest, fieldReader) {
	if s.scope.kind == inObject {
		return s.scope, fieldReader{}
	}
	for _, c := range s.conditions {
		if len(c.wants) == 1 && c.equal && c.wants[0] != "" && c.field != "metadata.namespace" {
			return interest{inField, c.field, c.wants[0]}, c.reads
		}
	}
	for _, requirement := range s.requirements {
		if values := requirement.ValuesUnsorted(); namesValues(requirement) && len(values) == 1 {
			return interest{inLabel, requirement.Key(), values[0]}, fieldReader{}
		}
	}
	return s.scope, fieldReader{}
}

// scopeInterest is the narrowest interest that does not depend on what an object is like.
func scopeInterest(s *Selection) interest {
	switch {
	case s.name != "" && (s.namespace != "" || !s.namespaced):
		return interest{inObject, s.namespace, s.name}
	case s.namespace != "":
		return interest{kind: inNamespace, a: s.namespace}
	case s.restricted:
		return interest{kind: inNamespaces, a: strings.Join(s.namespaces, " ")}
	}
	return interest{}
}
