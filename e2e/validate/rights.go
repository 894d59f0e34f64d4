package validate

import "time"

// Right is a caller's permission to read some objects, for a time.
type Right struct {
	// Namespace and Name select the objects; empty selects any.
	Namespace, Name string
	// From is a moment before the permission was granted, and Until a moment after it was revoked;
	// zero if it was not revoked.
	From, Until time.Time
}

// Rights holds all permissions that a caller had at some time, in no order.
type Rights []Right

// covers reports whether a permission includes an object.
func (r Right) covers(key Key) bool {
	return (r.Namespace == "" || r.Namespace == key.Namespace) && (r.Name == "" || r.Name == key.Name)
}

// within reports whether there was a permission to read an object at some moment of a span.
func (r Rights) within(key Key, from, to time.Time) bool {
	for _, right := range r {
		if right.covers(key) && !right.From.After(to) && (right.Until.IsZero() || right.Until.After(from)) {
			return true
		}
	}
	return false
}

// throughout reports whether one permission to read an object lasted for a span, and for noticed
// before and after it, so that every component must have noticed it.
func (r Rights) throughout(key Key, from, to time.Time, noticed time.Duration) bool {
	for _, right := range r {
		if right.covers(key) && right.From.Before(from.Add(-noticed)) && (right.Until.IsZero() || right.Until.After(to.Add(noticed))) {
			return true
		}
	}
	return false
}
