package validate

import "time"

// Right is that of a caller to some objects, for a time.
type Right struct {
	// Namespace and Name: empty is any.
	Namespace, Name string
	// From is a moment before it was granted, and Until one after it was revoked; zero if
	// it was not.
	From, Until time.Time
}

// Rights are all that a caller had at some time, in no order.
type Rights []Right

// covers tells whether a right is one to an object.
func (r Right) covers(key Key) bool {
	return (r.Namespace == "" || r.Namespace == key.Namespace) && (r.Name == "" || r.Name == key.Name)
}

// within tells whether there was a right to an object at some time of a span.
func (r Rights) within(key Key, from, to time.Time) bool {
	for _, right := range r {
		if right.covers(key) && !right.From.After(to) && (right.Until.IsZero() || right.Until.After(from)) {
			return true
		}
	}
	return false
}

// throughout tells whether there was one right to an object all through a span, and so
// much before and after it that everybody must have noticed.
func (r Rights) throughout(key Key, from, to time.Time, noticed time.Duration) bool {
	for _, right := range r {
		if right.covers(key) && right.From.Before(from.Add(-noticed)) && (right.Until.IsZero() || right.Until.After(to.Add(noticed))) {
			return true
		}
	}
	return false
}
