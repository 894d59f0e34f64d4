package informerhub

import (
	"slices"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/listkey"
)

// indexKey is the index key under which a watcher is registered. It is wider than the watcher's
// selection, and the narrowest key that can be looked up: one object, the value of one selectable
// field, the value of one label, one namespace, a set of namespaces, or everything.
type indexKey struct {
	kind       indexKeyKind
	a, b       string
	namespaces listkey.Key[string]
}

type indexKeyKind uint8

const (
	keyEverything indexKeyKind = iota
	keyNamespace               // a: its name
	keyNamespaces              // namespaces: their names, in order
	keyObject                  // a: its namespace, b: its name
	keyLabel                   // a: its key, b: its value
	keyField                   // a: its name, b: its value
)

// watcherGroup is the group of watchers with the same index key, with the sequence numbers of the
// changes that concern them.
type watcherGroup struct {
	key        indexKey
	namespaces []string // of a key of several namespaces
	watchers   int
	since      uint64      // seqs has all changes after this sequence number
	seqs       []uint64    // sequence numbers, ascending
	batches    *batchCache // the batches since the last wake-up
	throttle   throttle
}

// watcherIndex has the watcher groups by index key. A change costs the lookup of its namespace,
// name, labels and selectable fields, whatever the number of watchers. Watchers that it does not
// concern are not woken and do not examine it. The API server's indexed watchers are the model.
type watcherIndex struct {
	groups       map[indexKey]*watcherGroup
	watchers     int                                   // in all groups
	fields       map[string]*usedField                 // fields that some index key uses
	byNamespace  map[string]map[*watcherGroup]struct{} // by each namespace of a key of several namespaces
	dirty        []*watcherGroup                       // groups with new changes since the feed last settled
	wakeInterval wakeInterval                          // nil: every change wakes at once
	flush        func(*watcherGroup)                   // wakes a throttled group later
}

// usedField is a selectable field that index keys use.
type usedField struct {
	reader object.FieldReader
	users  int
}

func newWatcherIndex() watcherIndex {
	return watcherIndex{
		groups:      make(map[indexKey]*watcherGroup),
		fields:      make(map[string]*usedField),
		byNamespace: make(map[string]map[*watcherGroup]struct{}),
	}
}

// join adds a watcher whose cursor is the feed's end, so the group shows all changes up to there.
// If broad is set, the caller may hold states that the feed does not know. The watcher is then
// registered by scope only, so it sees every object that its selection could contain.
func (t *watcherIndex) join(sel *Selection, broad bool, end uint64) *watcherGroup {
	key, reader := sel.indexKey, sel.indexReader
	if broad {
		key, reader = sel.scopeKey, object.FieldReader{}
	}
	group, ok := t.groups[key]
	if !ok {
		group = &watcherGroup{key: key, since: end, batches: newBatchCache()}
		t.groups[key] = group
		if key.kind == keyNamespaces {
			t.joinNamespaces(group, sel.namespaces)
		}
	}
	group.watchers++
	t.watchers++
	if group.throttle.active {
		group.wake(time.Now())
	}
	if key.kind == keyField {
		t.useField(key.a, reader)
	}
	return group
}

func (t *watcherIndex) useField(name string, reader object.FieldReader) {
	if t.fields[name] == nil {
		t.fields[name] = &usedField{reader: reader}
	}
	t.fields[name].users++
}

func (t *watcherIndex) joinNamespaces(group *watcherGroup, namespaces []string) {
	group.namespaces = namespaces
	for _, namespace := range namespaces {
		if t.byNamespace[namespace] == nil {
			t.byNamespace[namespace] = make(map[*watcherGroup]struct{})
		}
		t.byNamespace[namespace][group] = struct{}{}
	}
}

func (t *watcherIndex) leaveNamespaces(group *watcherGroup) {
	for _, namespace := range group.namespaces {
		delete(t.byNamespace[namespace], group)
		if len(t.byNamespace[namespace]) == 0 {
			delete(t.byNamespace, namespace)
		}
	}
}

// leave removes a watcher.
func (t *watcherIndex) leave(group *watcherGroup) {
	group.watchers--
	t.watchers--
	if group.watchers == 0 {
		delete(t.groups, group.key)
		t.leaveNamespaces(group)
		group.throttle.stop()
	}
	if group.key.kind != keyField {
		return
	}
	field := t.fields[group.key.a]
	if field.users--; field.users == 0 {
		delete(t.fields, group.key.a)
	}
}

// publish adds a change to the groups that it concerns, and drops sequence numbers older than the
// window from them. Watchers see the change when the feed settles.
func (t *watcherIndex) publish(c change, first uint64) {
	t.notify(indexKey{kind: keyEverything}, c.seq, first)
	object := c.object()
	t.notify(indexKey{kind: keyNamespace, a: object.Namespace()}, c.seq, first)
	t.notify(indexKey{kind: keyObject, a: object.Namespace(), b: object.Name()}, c.seq, first)
	for group := range t.byNamespace[object.Namespace()] {
		t.notifyGroup(group, c.seq, first)
	}
	for _, state := range []*Object{c.before, c.after} {
		if state == nil {
			continue
		}
		for _, label := range state.Labels() {
			t.notify(indexKey{kind: keyLabel, a: label.Value().Key, b: label.Value().Value}, c.seq, first)
		}
		for name, field := range t.fields {
			for _, value := range field.reader.Values(state) {
				t.notify(indexKey{kind: keyField, a: name, b: value}, c.seq, first)
			}
		}
	}
}

func (t *watcherIndex) notify(key indexKey, seq, first uint64) {
	if group, ok := t.groups[key]; ok {
		t.notifyGroup(group, seq, first)
	}
}

func (t *watcherIndex) notifyGroup(group *watcherGroup, seq, first uint64) {
	if group.add(seq, first) {
		t.dirty = append(t.dirty, group)
	}
}

// add records a change; false if it is recorded already.
func (t *watcherGroup) add(seq, first uint64) bool {
	if n := len(t.seqs); n > 0 && t.seqs[n-1] == seq {
		return false // already recorded, by its state before
	}
	dropped := 0
	for dropped < len(t.seqs) && t.seqs[dropped] < first {
		dropped++
	}
	if dropped > 0 {
		t.since = t.seqs[dropped-1]
		t.seqs = t.seqs[dropped:]
	}
	t.seqs = append(t.seqs, seq)
	return true
}

// between returns the sequence numbers of the group's changes after seq, up to end.
func (t *watcherGroup) between(seq, end uint64) []uint64 {
	first, _ := slices.BinarySearch(t.seqs, seq+1)
	last, _ := slices.BinarySearch(t.seqs, end+1)
	return t.seqs[first:max(first, last)]
}

// settle shows what has been published since an earlier end, or holds it back for a moment if the
// last wake-up was too recent.
func (t *watcherIndex) settle(before feedEnd, now time.Time) {
	for _, group := range t.dirty {
		t.settleOne(group, before, now)
	}
	clear(t.dirty)
	t.dirty = t.dirty[:0]
}

func (t *watcherIndex) settleOne(group *watcherGroup, before feedEnd, now time.Time) {
	if group.throttle.active {
		return
	}
	var wait time.Duration
	if t.wakeInterval != nil {
		wait = group.throttle.wait(t.wakeInterval(group.watchers), now)
	}
	if wait <= 0 {
		group.wake(now)
		return
	}
	group.throttle.delay(before, wait, func() { t.flush(group) })
}

// wakeAll wakes every watcher.
func (t *watcherIndex) wakeAll(now time.Time) {
	for _, group := range t.groups {
		group.wake(now)
	}
}

// wake makes all published changes visible to the group's watchers, and wakes them.
func (t *watcherGroup) wake(now time.Time) {
	t.throttle.release(now)
	close(t.batches.done)
	t.batches = newBatchCache()
}

// narrowestKey returns the narrowest index key of a selection and, for a key of a field, how
// to read that field.
func narrowestKey(s *Selection) (indexKey, object.FieldReader) {
	if s.scopeKey.kind == keyObject {
		return s.scopeKey, object.FieldReader{}
	}
	for _, c := range s.conditions {
		if len(c.Values) == 1 && c.Equal && c.Values[0] != "" && c.Field != "metadata.namespace" {
			return indexKey{kind: keyField, a: c.Field, b: c.Values[0]}, c.Reader
		}
	}
	for _, requirement := range s.requirements {
		if values := requirement.ValuesUnsorted(); namesValues(requirement) && len(values) == 1 {
			return indexKey{kind: keyLabel, a: requirement.Key(), b: values[0]}, object.FieldReader{}
		}
	}
	return s.scopeKey, object.FieldReader{}
}

// scopeKey returns the narrowest index key that does not depend on an object's content.
func scopeKey(s *Selection) indexKey {
	switch {
	case s.name != "" && (s.namespace != "" || !s.namespaced):
		return indexKey{kind: keyObject, a: s.namespace, b: s.name}
	case s.namespace != "":
		return indexKey{kind: keyNamespace, a: s.namespace}
	case s.limited:
		return indexKey{kind: keyNamespaces, namespaces: listkey.Of(s.namespaces)}
	}
	return indexKey{}
}

// throttle rate-limits the wake-ups of a watcher group. The first change after a quiet period is
// shown at once. Changes that follow in quick succession are held back and shown together, so that
// each watcher is woken once for all of them, and all watchers read the same batch. Waking a
// watcher and sending it a message costs many times as much as one more event in the message: in
// the service, and even more in some clients. The longer a burst lasts, the more changes are shown
// together.
type throttle struct {
	lastWake time.Time   // when changes were last shown
	held     int         // number of holds before that, each of which followed another in a burst
	active   bool        // changes are held back
	end      feedEnd     // while held: the end up to which watchers may read
	timer    *time.Timer // while held: shows the changes
}

// wakeInterval returns the minimum time between two wake-ups of a watcher group, given its number
// of watchers.
type wakeInterval func(watchers int) time.Duration

const (
	// minWakeInterval is too short to be noticed, and long enough for some changes of a burst. It
	// grows with each wake-up within a burst, to burstWakeInterval.
	minWakeInterval   = 2 * time.Millisecond
	burstWakeInterval = 10 * time.Millisecond
	// maxWakeInterval bounds the delay that the hub adds to an event.
	maxWakeInterval = 100 * time.Millisecond
	// wakeIntervalPerWatcher is a few times the CPU time of sending to one watcher: a burst keeps
	// the service busy for only a part of the time, whatever the number of watchers.
	wakeIntervalPerWatcher = 100 * time.Microsecond
)

func wakeIntervalFor(watchers int) time.Duration {
	return min(max(minWakeInterval, time.Duration(watchers)*wakeIntervalPerWatcher), maxWakeInterval)
}

// delay limits watchers to an end, until wake is called after wait.
func (p *throttle) delay(end feedEnd, wait time.Duration, wake func()) {
	p.active, p.end = true, end
	p.timer = time.AfterFunc(wait, wake)
}

// wait returns the time until the next wake-up, given the interval at the beginning of a burst. It
// is not positive if watchers can be woken at once.
func (p *throttle) wait(interval time.Duration, now time.Time) time.Duration {
	longer := min(time.Duration(p.held+1)*interval, max(interval, burstWakeInterval))
	return longer - now.Sub(p.lastWake)
}

// release ends a hold, if there is one.
func (p *throttle) release(now time.Time) {
	p.stop()
	held := 0
	if p.active {
		held = p.held + 1
	}
	*p = throttle{lastWake: now, held: held}
}

func (p *throttle) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}
