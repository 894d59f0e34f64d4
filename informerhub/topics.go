package informerhub

import (
	"slices"
	"strings"
	"time"
)

// interest is the index key under which a watcher is registered. It is wider than the watcher's
// selection, and the narrowest key that can be looked up: one object, the value of one selectable
// field, the value of one label, one namespace, a set of namespaces, or everything.
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

// topic is the group of watchers with the same index key, with the sequence numbers of the changes
// that concern them.
type topic struct {
	interest   interest
	namespaces []string // of a key of several namespaces
	watchers   int
	since      uint64   // places has all changes after this sequence number
	places     []uint64 // sequence numbers, ascending
	round      *round   // the batches since the last wake-up
	pace       pace
}

// topics are the watcher groups by index key. A change costs the lookup of its namespace, name,
// labels and selectable fields, whatever the number of watchers. Watchers that it does not concern
// are not woken and do not examine it. The API server's indexed watchers are the model.
type topics struct {
	byInterest map[interest]*topic
	watchers   int                            // in all topics
	fields     map[string]*usedField          // fields that some index key uses
	bySome     map[string]map[*topic]struct{} // by each namespace of a key of several namespaces
	grown      []*topic                       // topics with new changes since the feed last settled
	spacing    spacing                        // nil: every change wakes at once
	release    func(*topic)                   // shows a held topic later
}

// usedField is a selectable field that index keys use.
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

// join adds a watcher whose cursor is the feed's end, so the topic shows all changes up to there.
// If unknown is set, the caller may hold states that the feed does not know. The watcher is then
// registered by scope only, so it sees every object that its selection could contain.
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

// leave removes a watcher.
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

// publish adds a change to the topics that it concerns, and drops sequence numbers older than the
// window from them. Watchers see the change when the feed settles.
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

// add records a change; false if it is recorded already.
func (t *topic) add(seq, first uint64) bool {
	if n := len(t.places); n > 0 && t.places[n-1] == seq {
		return false // already recorded, by its state before
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

// between returns the sequence numbers of the topic's changes after place, up to end.
func (t *topic) between(place, end uint64) []uint64 {
	first, _ := slices.BinarySearch(t.places, place+1)
	last, _ := slices.BinarySearch(t.places, end+1)
	return t.places[first:max(first, last)]
}

// settle shows what has been published since an earlier end, or holds it back for a moment if the
// last wake-up was too recent.
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

// show makes all published changes visible to the topic's watchers, and wakes them.
func (t *topic) show(now time.Time) {
	t.pace.release(now)
	close(t.round.over)
	t.round = newRound()
}

// narrowestInterest returns the narrowest index key of a selection and, for a key of a field, how
// to read that field.
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

// scopeInterest returns the narrowest index key that does not depend on an object's content.
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
