package validate

import (
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// Key is an object's place within its resource.
type Key struct {
	Namespace, Name string
}

// KeyOf returns the place of an object.
func KeyOf(object *kubeconnectv1.Object) Key {
	return Key{Namespace: object.GetNamespace(), Name: object.GetName()}
}

func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// Model is what a caller of a watch holds after the events it was told. The zero
// value holds nothing. It is not safe for concurrent use.
type Model struct {
	// Objects are those that the caller holds.
	Objects map[Key]*kubeconnectv1.Object
	// Resets counts the snapshots that have begun.
	Resets int
	// Synced tells whether the snapshot is complete.
	Synced bool
	// Version is that of the last SYNCED, or of the last event after it.
	Version string
}

// Apply takes the next event in, right or wrong.
func (m *Model) Apply(event *kubeconnectv1.Event) {
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
	}
}

func (m *Model) reset() {
	m.Objects = nil
	m.Resets++
	m.Synced = false
	m.Version = ""
}

func (m *Model) hold(object *kubeconnectv1.Object) {
	if m.Objects == nil {
		m.Objects = make(map[Key]*kubeconnectv1.Object)
	}
	m.Objects[KeyOf(object)] = object
}
