package validate

import "time"

// Right is that of a caller to some objects, for a time.
type Right struct {
	// Namespace and Name: empty is any.
	Namespace, Name string
	// From and Until are when it was granted and revoked; Until is zero if it was not.
	From, Until time.Time
}

// Rights are all that a caller had at some time, in no order.
type Rights []Right

// within tells whether there was a right to an object at some time of a span.
func (r Rights) within(key Key, from, to time.Time) bool {
	for _, right := range r {
		covers := (right.Namespace == "" || right.Namespace == key.Namespace) && (right.Name == "" || right.Name == key.Name)
		if covers && !right.From.After(to) && (right.Until.IsZero() || right.Until.After(from)) {
			return true
		}
	}
	return false
}
