package object

import "unique"

// Label is one label of an object.
type Label struct{ Key, Value string }

// Labels are the labels of an object. Equal labels of all objects share their memory. Labels
// implements the Labels interface of apimachinery's selectors.
type Labels []unique.Handle[Label]

// Lookup returns the value of a label.
func (l Labels) Lookup(key string) (value string, exists bool) {
	for _, handle := range l {
		if label := handle.Value(); label.Key == key {
			return label.Value, true
		}
	}
	return "", false
}

// Has reports whether there is a label with the key.
func (l Labels) Has(key string) bool {
	_, exists := l.Lookup(key)
	return exists
}

// Get returns the value of a label; empty if there is none.
func (l Labels) Get(key string) string {
	value, _ := l.Lookup(key)
	return value
}
