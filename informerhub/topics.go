package informerhub

import "slices"

// interest is what a watcher must be woken for. It is wider than the watcher's
// selection, and the narrowest of a few kinds that can be looked up: one object, the
// value of one selectable field, of one label, one namespace, or everything.
type interest struct {
	kind interestKind
	a, b string
}

type interestKind uint8

const (
	inEverything interestKind = iota
	inNamespace               // a: its name
	inObject                  // a: its namespace, b: its name
	inLabel                   // a: its key, b: its value
	inField                   // a: its name, b: its value
)

// topic is one interest that watchers have, and where in the feed the changes are
// that concern it.
type topic struct {
	interest interest
	watchers int
	since    uint64   // the changes behind this place are in places
	places   []uint64 // ascending
	grown    chan struct{}
}

// topics are the interests that watchers have. The work that a change makes is that
// of looking up what it has (its namespace, its name, its labels, its selectable
// fields), whatever the number of watchers; those whom it does not concern are
// neither woken nor led past it. The API server's indexed watchers are the model.
type topics struct {
	byInterest map[interest]*topic
	fields     map[string]*fieldReader // those that some interest is about
}

type fieldReader struct {
	read  func(*Object) string
	users int
}

func newTopics() topics {
	return topics{byInterest: make(map[interest]*topic), fields: make(map[string]*fieldReader)}
}

// join adds a watcher whose place is the feed's end. One that holds states which the
// feed does not know is told of all that its selection could name.
func (t *topics) join(sel *Selection, unknown bool, end uint64) *topic {
	interest, read := sel.interest()
	if unknown {
		interest, read = sel.scope(), nil
	}
	joined, ok := t.byInterest[interest]
	if !ok {
		joined = &topic{interest: interest, since: end, grown: make(chan struct{})}
		t.byInterest[interest] = joined
	}
	joined.watchers++
	if interest.kind == inField {
		t.useField(interest.a, read)
	}
	return joined
}

func (t *topics) useField(name string, read func(*Object) string) {
	if t.fields[name] == nil {
		t.fields[name] = &fieldReader{read: read}
	}
	t.fields[name].users++
}

// leave takes a watcher out.
func (t *topics) leave(left *topic) {
	left.watchers--
	if left.watchers == 0 {
		delete(t.byInterest, left.interest)
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
// that lie before the window.
func (t *topics) publish(c change, first uint64) {
	t.tell(interest{kind: inEverything}, c.seq, first)
	object := c.object()
	t.tell(interest{inNamespace, object.namespace, ""}, c.seq, first)
	t.tell(interest{inObject, object.namespace, object.name}, c.seq, first)
	for _, state := range []*Object{c.before, c.after} {
		if state == nil {
			continue
		}
		for _, label := range state.labels {
			t.tell(interest{inLabel, label.Value().Key, label.Value().Value}, c.seq, first)
		}
		for name, field := range t.fields {
			t.tell(interest{inField, name, field.read(state)}, c.seq, first)
		}
	}
}

func (t *topics) tell(interest interest, seq, first uint64) {
	if told, ok := t.byInterest[interest]; ok {
		told.add(seq, first)
	}
}

func (t *topic) add(seq, first uint64) {
	if n := len(t.places); n > 0 && t.places[n-1] == seq {
		return // by its state before as well
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
	t.wake()
}

// after are the places of changes that concern the topic, behind a place.
func (t *topic) after(place uint64) []uint64 {
	later, _ := slices.BinarySearch(t.places, place+1)
	return t.places[later:]
}

// wakeAll wakes every watcher.
func (t *topics) wakeAll() {
	for _, topic := range t.byInterest {
		topic.wake()
	}
}

func (t *topic) wake() {
	close(t.grown)
	t.grown = make(chan struct{})
}

// interest is the narrowest interest that a selection has, and for one in a field
// how to read that.
func (s *Selection) interest() (interest, func(*Object) string) {
	if s.name != "" && (s.namespace != "" || !s.namespaced) {
		return s.scope(), nil
	}
	for _, c := range s.conditions {
		if c.equal && c.want != "" && c.field != "metadata.namespace" {
			return interest{inField, c.field, c.want}, c.value
		}
	}
	for _, requirement := range s.requirements {
		if values := requirement.ValuesUnsorted(); namesValues(requirement) && len(values) == 1 {
			return interest{inLabel, requirement.Key(), values[0]}, nil
		}
	}
	return s.scope(), nil
}

// scope is the narrowest interest that does not depend on what an object is like.
func (s *Selection) scope() interest {
	switch {
	case s.name != "" && (s.namespace != "" || !s.namespaced):
		return interest{inObject, s.namespace, s.name}
	case s.namespace != "":
		return interest{kind: inNamespace, a: s.namespace}
	}
	return interest{}
}
