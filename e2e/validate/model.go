package validate

import (
	"maps"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// Key identifies an object within its resource.
type Key struct {
	Namespace, Name string
}

// KeyOf returns the key of an object.
func KeyOf(object *kubeconnectv1.Object) Key {
	return Key{Namespace: object.GetNamespace(), Name: object.GetName()}
}

func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// Model is the state of a client of a watch after the events that it received. The zero value has
// no objects. It is not safe for concurrent use.
type Model struct {
	// Objects holds the client's objects.
	Objects map[Key]*kubeconnectv1.Object
	// Resets is the number of snapshots that have begun.
	Resets int
	// Synced reports whether the snapshot is complete.
	Synced bool
	// Version is that of the last SYNCED, or of the last event after it.
	Version string
	// Newest is the newest version of an event since the last RESET.
	Newest string
	// Closed is the newest version up to which everything has been delivered, as far as the events
	// since SYNCED show: each BOOKMARK closes its version, and so does each change, because changes
	// are delivered in order. A DELETED closes only older versions, because several objects may be
	// deleted at one version; and so does SYNCED, which may have the version of a deletion. Empty
	// if not known.
	Closed string
	// SyncedAt is the version of the last SYNCED.
	SyncedAt string
	// Bookmarked is the version of the last BOOKMARK or SYNCED. No further event has this version
	// or an older one.
	Bookmarked string
}

// Apply applies the next event, whether or not it violates a rule.
func (m *Model) Apply(event *kubeconnectv1.Event) {
	if isWaiting(event) {
		return
	}
	switch event.GetType() {
	case kubeconnectv1.EventType_EVENT_TYPE_RESET:
		m.reset()
	case kubeconnectv1.EventType_EVENT_TYPE_ADDED, kubeconnectv1.EventType_EVENT_TYPE_MODIFIED:
		m.hold(event.GetObject())
	case kubeconnectv1.EventType_EVENT_TYPE_DELETED:
		delete(m.Objects, KeyOf(event.GetObject()))
	case kubeconnectv1.EventType_EVENT_TYPE_SYNCED:
		m.Synced = true
	}
	if m.Synced {
		m.Version = event.GetResourceVersion()
		m.close(event)
	}
	m.Newest = newerOf(m.Newest, event.GetResourceVersion())
}

// close updates the versions up to which everything has been delivered.
func (m *Model) close(event *kubeconnectv1.Event) {
	version := event.GetResourceVersion()
	switch event.GetType() {
	case kubeconnectv1.EventType_EVENT_TYPE_SYNCED, kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK:
		m.Bookmarked = version
		if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED {
			m.SyncedAt, m.Closed = version, ""
			return
		}
		m.Closed = newerOf(m.Closed, version)
	default:
		if isNewer(version, m.Newest) {
			m.Closed = newerOf(m.Closed, m.Newest)
		}
		if event.GetType() != kubeconnectv1.EventType_EVENT_TYPE_DELETED && version == event.GetObject().GetResourceVersion() {
			m.Closed = newerOf(m.Closed, version)
		}
	}
}

// isClosed reports whether everything up to a version is known to have been delivered.
func (m *Model) isClosed(version string) bool {
	return m.Closed != "" && !isNewer(version, m.Closed)
}

// reset clears everything except the number of resets.
func (m *Model) reset() { *m = Model{Resets: m.Resets + 1} }

// Clone returns a copy that later events do not change.
func (m *Model) Clone() Model {
	clone := *m
	clone.Objects = maps.Clone(m.Objects)
	return clone
}

// newerOf returns the newer of two versions, of which the first may be empty.
func newerOf(a, b string) string {
	if a == "" || isNewer(b, a) {
		return b
	}
	return a
}

func (m *Model) hold(object *kubeconnectv1.Object) {
	if m.Objects == nil {
		m.Objects = make(map[Key]*kubeconnectv1.Object)
	}
	m.Objects[KeyOf(object)] = object
}
