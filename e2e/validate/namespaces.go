package validate

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// In returns what a client received in one namespace. It is for streams over several namespaces that the service caches one by
// one: every guarantee holds in each of them, and their versions have no common order.
//
// A SYNCED or a BOOKMARK is about all namespaces, so that its version is the oldest one. In the namespace, the client must have
// received more: its version in the result is the newest one that must have been reached there, also by the evidence of what was
// written in the namespace before the last contact.
func (r *Recording) In(namespace string, evidence Evidence) *Recording {
	in := *r
	in.Name, in.Selection.Namespace = r.Name+", in "+namespace, namespace
	in.Calls = slices.Clone(r.Calls)
	reader := namespaceReader{recording: &in, evidence: evidence, saved: map[Place]namespaceState{}}
	for _, call := range r.Calls {
		if call.From != nil {
			reader.saved[*call.From] = namespaceState{}
		}
	}
	for i := range in.Calls {
		reader.readCall(i)
	}
	return &in
}

// In returns the evidence for what was received in one namespace.
func (e Evidence) In(namespace string) Evidence {
	e.Writes = e.Writes.in(namespace)
	return e
}

func (w *Writes) in(namespace string) *Writes {
	in := NewWrites(namespace)
	w.mu.Lock()
	defer w.mu.Unlock()
	in.forgotten = maps.Clone(w.forgotten)
	for key, writes := range w.byKey {
		if key.Namespace == namespace {
			in.byKey[key] = slices.Clone(writes)
		}
	}
	return in
}

// namespaceState is the state of a client in a namespace.
type namespaceState struct {
	model   Model
	reached string // by the last SYNCED
}

// namespaceReader replaces the responses of a recording by their parts in its namespace.
type namespaceReader struct {
	recording *Recording
	evidence  Evidence
	now       namespaceState
	saved     map[Place]namespaceState // after the responses that the client goes back to
}

func (r *namespaceReader) readCall(i int) {
	call := &r.recording.Calls[i]
	switch {
	case call.Token == "":
		r.now = namespaceState{}
	case call.From != nil:
		back := r.saved[*call.From]
		r.now = namespaceState{back.model.Clone(), back.reached}
	}
	call.Responses = slices.Clone(call.Responses)
	for k := range call.Responses {
		response := &call.Responses[k]
		var events []*kubeconnectv1.Event
		for _, event := range response.Events {
			if !isAboutObject(event) || event.GetObject().GetNamespace() == r.recording.Selection.Namespace {
				events = append(events, r.read(response, event))
			}
		}
		response.Events = events
		if _, used := r.saved[Place{i, k}]; used {
			r.saved[Place{i, k}] = namespaceState{r.now.model.Clone(), r.now.reached}
		}
	}
}

// read returns an event with its version in the namespace, and applies it to the client's state.
func (r *namespaceReader) read(response *Response, event *kubeconnectv1.Event) *kubeconnectv1.Event {
	version := ""
	switch event.GetType() {
	case kubeconnectv1.EventType_EVENT_TYPE_RESET:
		r.now.reached = ""
	case kubeconnectv1.EventType_EVENT_TYPE_SYNCED:
		r.now.reached = r.impliedBy(newerOf(event.GetResourceVersion(), r.now.model.Newest))
		version = r.now.reached
	case kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK:
		version = newerOf(newerOf(event.GetResourceVersion(), r.now.model.Closed), r.now.reached)
		if contact, ok := response.contact(); ok && r.evidence.Delivery > 0 {
			if write := r.evidence.Writes.newestAcked(contact.Add(-r.evidence.Delivery)); write != nil {
				version = newerOf(version, write.Version)
			}
		}
	}
	if version != "" && event.GetResourceVersion() != "" {
		event = proto.CloneOf(event)
		event.ResourceVersion = version
	}
	r.now.model.Apply(event)
	return event
}

// impliedBy returns the version that a snapshot must have, if it is not older than a version: an object that it lacks, and that
// was selected then, is one that a later write removed from the selection.
func (r *namespaceReader) impliedBy(version string) string {
	for {
		next := version
		for _, key := range r.evidence.Writes.keys() {
			if r.now.model.Objects[key] == nil {
				next = newerOf(next, r.evidence.Writes.removal(key, r.recording.Selection, version))
			}
		}
		if next == version {
			return version
		}
		version = next
	}
}

// removal returns the version at which an object that a selection has at a version leaves the selection; the same version if it
// does not have the object, or the object remains. The version of a deletion is known only if it is exact: otherwise removal
// returns the version of the last state before it, at which the object may be absent already.
func (w *Writes) removal(key Key, selection Selection, version string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	had, last := false, version
	for _, write := range w.byKey[key] {
		switch selected := selection.holds(write); {
		case !isNewer(write.Version, version):
			had = selected
		case !had:
			return version
		case write.Deleted && !write.Exact:
			return last
		case !selected:
			return write.Version
		default:
			last = write.Version
		}
	}
	return version
}
